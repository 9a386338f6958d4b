from kit import *

absent('it ran')
# link-as-script
