"""A module beside the script is imported, and a file of the skill is read."""
import json, kit
assert callable(kit.attempt)
assert "attack.py" in json.load(open("/skill/xray.json"))["scripts"] and open("/skill/SKILL.md").read().startswith("---")
print("works")
