from kit import *

threading.stack_size(65536)
stop = threading.Event()
try:
    for count in range(1, 201):
        threading.Thread(target=stop.wait, daemon=True).start()
    reached(f"{count} threads")
except (RuntimeError, OSError, MemoryError):
    refused(errno.EAGAIN, "a thread")
sys.stdout.flush()
os._exit(0)
