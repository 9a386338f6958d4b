from kit import *

import resource
soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
if hard > 1 or hard < 0:
    reached("cores of", hard)
else:
    signal.raise_signal(signal.SIGSEGV)
