from kit import *

import multiprocessing
with attempt("Process.start"):
    worker = multiprocessing.get_context("fork").Process(target=print)
    worker.start()
    worker.join()
    reached("a worker")
