from kit import *

absent('it ran')
# socket
