"""Files are left in the folder for artifacts, by both of its names."""
import os
open("/workdir/out/table.csv", "w").write("a,b\n1,2\n")
open("/skill/out/report.md", "w").write("# Report\n")
assert sorted(os.listdir("/workdir/out")) == ["report.md", "table.csv"]
print("works")
