from kit import *

import _ctypes
with open(_ctypes.__file__, "rb") as source, open("/workdir/own.so", "wb") as copy:
    copy.write(source.read())
try:
    ctypes.CDLL("/workdir/own.so")
    reached("a library")
except OSError as error:
    refused(errno.EPERM if "not permitted" in str(error) or "failed to map" in str(error) else errno.EACCES, str(error))
