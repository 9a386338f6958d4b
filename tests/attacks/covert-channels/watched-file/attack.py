from kit import *

sending = target("ROLE") == "sender"
end = time.monotonic() + 1.6

if sending:
    while time.monotonic() < end:
        open(os.__file__).read(1)
        time.sleep(0.02)
else:
    with attempt("inotify"):
        watch = call("inotify_init1", 0o4000)
        call("inotify_add_watch", watch, os.__file__.encode(), 0x21)
        while time.monotonic() < end:
            try:
                reached(len(os.read(watch, 4096)))
                break
            except BlockingIOError:
                time.sleep(0.02)
