from kit import *

# With a /proc this is a way out of the root: every process of this user has one.
for entry in ["1", str(os.getppid()), "self"] + [e for e in (os.listdir("/proc") if os.path.isdir("/proc") else []) if e.isdigit()]:
    try:
        if os.path.isdir(f"/proc/{entry}/root/") and entry != "self":
            reached(f"/proc/{entry}/root", os.listdir(f"/proc/{entry}/root/")[:3])
            break
    except OSError as error:
        last = error
else:
    with attempt("open /proc/1/root"):
        os.listdir("/proc/1/root")
