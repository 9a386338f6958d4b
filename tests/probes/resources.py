"""One's own limits and usage are read."""
import os, resource, threading
assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= 64 and resource.getrusage(resource.RUSAGE_SELF).ru_utime >= 0
assert os.cpu_count() >= 1 and threading.active_count() == 1
print("works")
