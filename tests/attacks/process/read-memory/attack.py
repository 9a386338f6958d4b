from kit import *

# Nothing but the wall is asked: an address that is not mapped there says EFAULT once one may look.
local = room(16)
ours = struct.pack("PN", ctypes.addressof(local), 16)
theirs = struct.pack("PN", 0x10000, 16)
try:
    reached("bytes", call("process_vm_readv", int(target("PROCESS")), ours, 1, theirs, 1, 0))
except OSError as error:
    if error.errno == errno.EFAULT:
        reached("its address space was looked at")
    else:
        refused(error.errno, "process_vm_readv")
