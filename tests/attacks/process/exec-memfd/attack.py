from kit import *

with attempt("memfd_create and execveat"):
    descriptor = call("memfd_create", b"own", 0)
    os.write(descriptor, f"#!{sys.executable} -S\nprint('{target('PROOF')}')\n".encode())
    words = (ctypes.c_char_p * 2)(b"own", None)
    # A script needs a path: without /proc the loader cannot open it, the program itself can be one.
    os.lseek(descriptor, 0, 0)
    with open(sys.executable, "rb") as program:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, program.read())
    words = (ctypes.c_char_p * 5)(sys.executable.encode(), b"-S", b"-c", f"print('{target('PROOF')}')".encode(), None)
    call("execveat", descriptor, b"", words, 0, 0x1000)
