from kit import *

say(read=open('/skill/assets/data').read())
# relative-link
