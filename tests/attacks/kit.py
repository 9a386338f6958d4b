"""What the attacks share. An attack tells what came of it in lines of JSON; what counts is what happened outside."""
import ctypes, errno, fcntl, json, mmap, os, platform, signal, socket, struct, sys, threading, time
from numbers_of_calls import NUMBERS

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
X86 = platform.machine() == "x86_64"
CANARY = os.environ.get("CANARY_DIR", "/nowhere")


def target(name):
    """What the harness set out: PORT, UDP, ABSTRACT, PROCESS, SEGMENT, KEY, SHARED, PROOF."""
    return os.environ.get("CANARY_" + name, "")


def outside(name):
    """The path of a file of the host's."""
    return f"{CANARY}/{name}"


def say(**words):
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def reached(what="", *more):
    """The attack got what no jail may give. What it says must hold the proof, which nothing else prints."""
    say(reached=str(what), more=[str(m) for m in more], proof=target("PROOF"))


def refused(number, step=""):
    say(refused=errno.errorcode.get(number, str(number)), step=step)


def absent(what=""):
    """The call said that all is well and gave nothing, or what was sought is not there."""
    say(absent=str(what))


class attempt:
    """One try: an OSError in it is a refusal, anything else a fault of the attack's own."""

    def __init__(self, step=""):
        self.step = step

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if error is None:
            return False
        if isinstance(error, OSError) and error.errno:
            refused(error.errno, self.step or str(error.filename or error.strerror))
            return True
        if isinstance(error, MemoryError):
            refused(errno.ENOMEM, self.step)
            return True
        say(fault=f"{kind.__name__}: {error}", step=self.step)
        return True


def number(name):
    if name not in NUMBERS:
        raise OSError(errno.ENOSYS, name)
    return NUMBERS[name]


def raw(nr, *args):
    """A system call by number; what is no integer is passed as bytes or a ctypes object."""
    words = []
    for arg in args:
        if isinstance(arg, str):
            arg = arg.encode()
        words.append(ctypes.c_long(arg) if isinstance(arg, int) else arg)
    result = libc.syscall(ctypes.c_long(nr), *words)
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def call(name, *args):
    return raw(number(name), *args)


def room(size):
    return ctypes.create_string_buffer(size)


def pause(seconds):
    time.sleep(seconds)


def child(run):
    """A process of one's own, which runs a function and ends."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            run()
            code = 0
        finally:
            os._exit(code)
    return pid


def machine_code(code):
    """Runs bytes as a function without arguments."""
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return ctypes.CFUNCTYPE(ctypes.c_long)(address)()
