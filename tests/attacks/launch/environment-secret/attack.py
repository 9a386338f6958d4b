from kit import *

if "SECRET" in os.environ:
    reached(os.environ["SECRET"])
else:
    absent(sorted(os.environ))
