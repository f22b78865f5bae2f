select {member}
from {nodes} as n
