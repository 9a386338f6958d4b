from kit import *

absent('it ran')
# sparse-file
