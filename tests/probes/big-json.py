"""Ten megabytes of JSON."""
import json
text = json.dumps([{"id": n, "text": "x" * 90} for n in range(80000)])
assert len(text) > 8 << 20 and len(json.loads(text)) == 80000
print("works")
