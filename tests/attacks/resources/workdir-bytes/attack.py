from kit import *

written = 0
with attempt("write"):
    for name in range(6):
        with open(f"/workdir/{name}", "wb", buffering=0) as file:
            for _ in range(48):
                written += file.write(b"\0" * (1 << 20))
    reached(f"{written >> 20} MiB")
