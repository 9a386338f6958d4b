"""CSV becomes JSON and back."""
import csv, io, json
rows = [{"name": f"n{i}", "value": str(i)} for i in range(500)]
text = io.StringIO()
writer = csv.DictWriter(text, ["name", "value"])
writer.writeheader(); writer.writerows(rows)
again = list(csv.DictReader(io.StringIO(text.getvalue())))
assert json.loads(json.dumps(again)) == rows
print("works")
