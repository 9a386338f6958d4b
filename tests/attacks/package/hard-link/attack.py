from kit import *

with attempt('write'):
    open('/skill/assets/data', 'r+').write('reached')
    absent('a copy was written')
# hard-link
