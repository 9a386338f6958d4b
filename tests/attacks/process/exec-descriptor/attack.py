from kit import *

program = os.open(sys.executable, os.O_RDONLY)
words = (ctypes.c_char_p * 5)(sys.executable.encode(), b"-S", b"-c", f"print('{target('PROOF')}')".encode(), None)
for number_ in (program, 255, 256, 1000, 1023, 1024):
    with attempt(f"execveat {number_}"):
        if number_ != program:
            try:
                os.dup2(program, number_)
            except OSError:
                pass
        call("execveat", number_, b"", words, 0, 0x1000)
