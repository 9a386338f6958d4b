"""Runs a program on a terminal of its own, types what comes on stdin, and says in JSON what it showed and how it ended."""

import json
import os
import pty
import select
import sys


def main():
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.argv[1], sys.argv[1:])
    shown, keyboard = b"", True
    while True:
        ready, _, _ = select.select([terminal] + ([0] if keyboard else []), [], [])
        if 0 in ready:
            typed = os.read(0, 4096)
            keyboard = bool(typed)
            if typed:
                os.write(terminal, typed)
        if terminal in ready:
            try:
                chunk = os.read(terminal, 4096)
            except OSError:
                # EIO: the last process on it is gone.
                break
            if not chunk:
                break
            shown += chunk
    _, status = os.waitpid(pid, 0)
    print(json.dumps({"shown": shown.decode("latin-1"), "code": os.waitstatus_to_exitcode(status)}))


main()
