"""The start-up module of this pinned Python: the import path, and a collector that stays out of the way."""

import atexit
import gc
import sys
from _collections import _count_elements

sys.path[:] = [
    "/STDLIB",
    "/STDLIB/lib-dynload",
    "/STDLIB/site-packages",
    "/skill/scripts",
]

# The usual 700 means a collection for every few functions that are imported: a tenth of the time that it takes.
gc.set_threshold(10_000, 10, 10)


def _spare_the_last_collections():
    """Registered first, called last: hides all objects from the collections that end the interpreter.

    They find what the process is about to lose in any case. Not if an object that is still there has something to do at
    its end, such as a file that buffers: then the interpreter ends as it always does. What is reachable by counting
    references alone ends as always too, and so does an object that the exit code hangs on.
    """
    kinds = {}
    _count_elements(kinds, map(type, gc.get_objects()))
    for kind, count in kinds.items():
        if hasattr(kind, "__del__") and kind is not _generator and count > _of_streams.get(kind, 0):
            return
    gc.freeze()


_generator = type(_ for _ in ())
_streams = [stream for stream in (sys.stdin, sys.stdout, sys.stderr) if stream is not None]
_of_streams = {}
_count_elements(_of_streams, map(type, _streams))
_buffers = [stream.buffer for stream in _streams]
_count_elements(_of_streams, map(type, _buffers))
_count_elements(_of_streams, (type(buffer.raw) for buffer in _buffers if hasattr(buffer, "raw")))
atexit.register(_spare_the_last_collections)
