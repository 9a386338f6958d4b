from kit import *

# One that the caller left open, and all the others.
wrote = []
for number_ in range(3, 1100):
    try:
        os.write(number_, b"{\"status\": \"ok\"}")
        wrote.append(number_)
    except OSError as error:
        last = error
if wrote:
    reached("wrote to", wrote)
else:
    refused(last.errno, "write")
