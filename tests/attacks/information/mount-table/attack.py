from kit import *

with attempt("/proc/self/mountinfo"):
    reached(open("/proc/self/mountinfo").read()[:200])
