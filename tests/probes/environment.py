"""The declared environment is there."""
import getpass, os, pathlib
assert os.environ["HOME"] == "/workdir" == os.getcwd() and pathlib.Path.home() == pathlib.Path("/workdir")
assert getpass.getuser() and os.environ["TFROBOT_SKILL_DIR"] == "/skill"
print("works")
