"""A tree of files is walked, moved and removed."""
import os, pathlib, shutil
root = pathlib.Path("tree")
for a in range(10):
    for b in range(10):
        folder = root / str(a) / str(b); folder.mkdir(parents=True); (folder / "f").write_text("x")
assert sum(len(files) for _, _, files in os.walk(root)) == 100
shutil.move(root / "0", "moved"); shutil.copytree(root / "1", "copied"); shutil.rmtree(root)
assert len(list(pathlib.Path("copied").rglob("f"))) == 10
print("works")
