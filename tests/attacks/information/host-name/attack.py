from kit import *

if os.uname().nodename == target("HOST"):
    reached(os.uname().nodename)
else:
    absent("another name")
