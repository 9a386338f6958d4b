from kit import *

with attempt('write'):
    open('/skill/assets/data', 'r+').write('reached')
    reached('the second name')
# hard-link
