from kit import *

got = []
def hammer():
    for _ in range(60):
        try:
            got.append(call("unshare", 0x4000000))
        except OSError as error:
            last.append(error.errno)
last = []
threads = [threading.Thread(target=hammer) for _ in range(12)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if got:
    reached(f"{len(got)} namespaces")
else:
    refused(last[0], f"{len(last)} times")
