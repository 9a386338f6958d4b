from kit import *

with attempt("/proc/locks"):
    open("/proc/locks").read()
    reached("the table of locks")
