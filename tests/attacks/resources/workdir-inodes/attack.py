from kit import *

with attempt("create"):
    for number_ in range(70000):
        os.close(os.open(f"/workdir/tmp/{number_}", os.O_CREAT | os.O_WRONLY))
        if number_ == 5000:
            reached("5,000 files")
            break
