from kit import *

absent('it ran')
# own-place
