from kit import *

with attempt("write"):
    with open("/dev/shm/file", "wb", buffering=0) as file:
        for _ in range(40):
            if file.write(b"\0" * (1 << 20)) != 1 << 20:
                raise OSError(errno.ENOSPC, "short write")
    reached("40 MiB")
