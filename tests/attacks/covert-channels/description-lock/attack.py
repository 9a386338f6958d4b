from kit import *

sending = target("ROLE") == "sender"
end = time.monotonic() + 1.6

file = os.open(os.__file__, os.O_RDONLY)
place = int(target("PROOF")[7:17], 16)
with attempt("F_OFD"):
    if sending:
        fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, place, 1, 0))
        time.sleep(1.6)
    else:
        while time.monotonic() < end:
            answer = fcntl.fcntl(file, 36, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, place, 1, 0))
            if struct.unpack("hhqqi4x", answer)[0] != fcntl.F_UNLCK:
                reached("the other run holds a lock")
                break
            time.sleep(0.02)
