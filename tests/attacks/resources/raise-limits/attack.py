from kit import *

import resource
with attempt("setrlimit"):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Up to the hard limit nobody needs a capability.
    call("prlimit64", 0, resource.RLIMIT_NOFILE, struct.pack("QQ", hard, hard), None)
    reached(resource.getrlimit(resource.RLIMIT_NOFILE))
