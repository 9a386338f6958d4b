"""Zip and tar archives are written and unpacked."""
import os, tarfile, zipfile
open("a.txt", "w").write("hello" * 1000)
with zipfile.ZipFile("a.zip", "w", zipfile.ZIP_DEFLATED) as z: z.write("a.txt")
with tarfile.open("a.tar.gz", "w:gz") as t: t.add("a.txt")
os.mkdir("u"); zipfile.ZipFile("a.zip").extractall("u")
assert open("u/a.txt").read() == "hello" * 1000
os.remove("u/a.txt"); tarfile.open("a.tar.gz").extractall("u")
assert os.stat("u/a.txt").st_size == 5000
print("works")
