from kit import *

with attempt("mq_open"):
    reached("queue", call("mq_open", b"skilljail-attack", 0o102, 0o600, None))
