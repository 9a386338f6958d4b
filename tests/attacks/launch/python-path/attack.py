from kit import *

held = [name for name in os.environ if name.startswith("PYTHON") and name in ("PYTHONPATH", "PYTHONSTARTUP", "PYTHONINSPECT", "PYTHONWARNINGS")]
if held or any(path.startswith("/planted") for path in sys.path):
    reached(held, sys.path)
else:
    absent(sys.path)
