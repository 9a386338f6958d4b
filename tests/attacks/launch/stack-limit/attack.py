from kit import *

import resource
soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
if hard == resource.RLIM_INFINITY:
    reached(soft, hard)
else:
    absent((soft, hard))
