from kit import *

say(read=open('/skill/linked/secret').read())
# link-to-folder
