from kit import *

end = time.monotonic() + 3
while time.monotonic() < end:
    pass
reached("three seconds")
