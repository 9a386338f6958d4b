"""Patterns over a long text."""
import re
text = " ".join(f"mail{n}@example.org" for n in range(5000))
assert len(re.findall(r"\b[\w.]+@[\w.]+\b", text)) == 5000
print("works")
