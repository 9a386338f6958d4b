"""Temporary files and directories come and go."""
import os, tempfile
with tempfile.TemporaryDirectory() as place:
    with tempfile.NamedTemporaryFile(dir=place) as file:
        file.write(b"x" * 100000); file.flush()
        assert os.stat(file.name).st_size == 100000
    assert os.listdir(place) == []
assert not os.path.exists(place)
print("works")
