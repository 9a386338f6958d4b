from kit import *

descriptor = os.open("/workdir/file", os.O_CREAT | os.O_RDWR, 0o600)
flags = ctypes.c_int(0x80)
with attempt("FS_IOC_SETFLAGS"):
    call("ioctl", descriptor, 0x40086602, ctypes.byref(flags))
    reached("inode flags were set")
