from kit import *

absent('it ran')
# fifo
