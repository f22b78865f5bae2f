SELECT {member} FROM {nodes} AS n
