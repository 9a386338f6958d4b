from kit import *

sending = target("ROLE") == "sender"
end = time.monotonic() + 1.6

with attempt("add_key"):
    if sending:
        call("add_key", b"user", b"skilljail-attack-pair", b"word", 4, -4)
        time.sleep(1.6)
    else:
        while time.monotonic() < end:
            try:
                reached("key", call("keyctl", 10, -4, b"user", b"skilljail-attack-pair", 0))
                break
            except OSError as error:
                if error.errno not in (126, 2):
                    raise
            time.sleep(0.02)
