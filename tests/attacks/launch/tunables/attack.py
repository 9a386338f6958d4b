from kit import *

held = [name for name in ("GLIBC_TUNABLES", "MALLOC_PERTURB_", "GCONV_PATH", "LOCPATH", "NLSPATH", "HOSTALIASES") if name in os.environ]
if held:
    reached(held)
else:
    absent("none")
