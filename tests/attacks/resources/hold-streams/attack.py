from kit import *

os.close(0)
keep = os.dup(1)
os.close(1)
time.sleep(3)
os.write(2, target("PROOF").encode())
