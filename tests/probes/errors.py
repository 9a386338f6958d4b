"""An error of the script's own is caught and told."""
import logging, traceback
logging.basicConfig()
try:
    {}["missing"]
except KeyError:
    text = traceback.format_exc()
logging.warning("told")
assert "KeyError: 'missing'" in text
print("works")
