from kit import *

held = [name for name in os.environ if name.startswith("LD_")]
if held:
    reached(held)
else:
    absent("no LD_ variable")
