from kit import *

with attempt("/proc"):
    found = [e for e in os.listdir("/proc") if e.isdigit()]
    reached(f"{len(found)} processes", open(f"/proc/{found[0]}/cmdline").read())
