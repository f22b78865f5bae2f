select name, incarnation, term, machine, pid, labels, version, capacity, leads, agents, leaving, joined_at, revision
from {nodes}
