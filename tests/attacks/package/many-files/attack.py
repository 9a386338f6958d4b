from kit import *

absent('it ran')
# many-files
