from kit import *

time.sleep(3)
reached("three seconds")
