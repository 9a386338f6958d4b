from kit import *

found = []
for number_ in range(3, 64):
    try:
        os.fstat(number_)
        found.append(number_)
    except OSError as error:
        last = error
if found:
    reached(found)
else:
    refused(last.errno, "fstat")
