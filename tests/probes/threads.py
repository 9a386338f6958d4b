"""Threads add up numbers under a lock."""
import threading
total, lock = 0, threading.Lock()
def add():
    global total
    for _ in range(1000):
        with lock:
            total += 1
threads = [threading.Thread(target=add) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert total == 8000
print("works")
