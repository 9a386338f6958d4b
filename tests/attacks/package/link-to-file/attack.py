from kit import *

say(read=open('/skill/assets/data').read())
# link-to-file
