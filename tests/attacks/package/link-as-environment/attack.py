from kit import *

say(read=open('/skill/assets/.skillenv').read())
# link-as-environment
