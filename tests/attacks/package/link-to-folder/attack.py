from kit import *

say(read=open('/skill/work/secret').read())
# link-to-folder
