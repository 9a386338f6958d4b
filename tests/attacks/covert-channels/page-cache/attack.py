from kit import *

sending = target("ROLE") == "sender"
end = time.monotonic() + 1.6

if sending:
    time.sleep(1)
else:
    # Of a file of one's own: newer kernels refuse others.
    file = os.open("/workdir/file", os.O_CREAT | os.O_RDWR, 0o600)
    statistics = room(40)
    with attempt("cachestat"):
        call("cachestat", file, struct.pack("QQ", 0, 0), statistics, 0)
        reached(struct.unpack("QQQQQ", statistics.raw))
