from kit import *

sending = target("ROLE") == "sender"
end = time.monotonic() + 1.6

with attempt("shmget"):
    if sending:
        call("shmget", 0x5afe, 4096, 0o1666)
        time.sleep(1.6)
    else:
        while time.monotonic() < end:
            try:
                reached("segment", call("shmget", 0x5afe, 0, 0))
                break
            except OSError as error:
                if error.errno != errno.ENOENT:
                    raise
            time.sleep(0.02)
