"""Text in many scripts, in files and in names of files."""
import os, unicodedata
text = "Grüße, 世界, мир, 🌍, عالم"
with open("/workdir/世界.txt", "w") as file:
    file.write(text)
assert os.listdir("/workdir").count("世界.txt") == 1
assert open("/workdir/世界.txt").read() == text and unicodedata.normalize("NFC", "u\u0308") == "ü"
print(text)
print("works")
