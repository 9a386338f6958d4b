from kit import *

sending = target("ROLE") == "sender"
end = time.monotonic() + 1.6

file = os.open(os.__file__, os.O_RDONLY)
# A place in the file that only these two runs know: others may be at the same game.
place = int(target("PROOF")[7:17], 16)
lock = struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, place, 1, 0)
with attempt("fcntl"):
    if sending:
        fcntl.fcntl(file, fcntl.F_SETLK, lock)
        time.sleep(1.6)
    else:
        while time.monotonic() < end:
            answer = fcntl.fcntl(file, fcntl.F_GETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, place, 1, 0))
            if struct.unpack("hhqqi4x", answer)[0] != fcntl.F_UNLCK:
                reached("the other run holds a lock")
                break
            time.sleep(0.02)
        else:
            absent("no lock is seen")
