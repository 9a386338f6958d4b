from kit import *

sending = target("ROLE") == "sender"
end = time.monotonic() + 1.6

if sending:
    signal.signal(signal.SIGUSR2, lambda *_: None)
    time.sleep(1.8)
else:
    time.sleep(0.5)
    own = {os.getpid(), os.getppid(), 0}
    seen = []
    for pid in range(1, 400):
        if pid not in own:
            try:
                os.kill(pid, 0)
                seen.append(pid)
            except OSError:
                pass
    if seen:
        reached(seen)
    else:
        absent("no other process")
