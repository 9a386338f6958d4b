from kit import *

with attempt("fsopen"):
    reached("a context", call("fsopen", b"tmpfs", 0))
