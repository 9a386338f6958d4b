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


def program(text):
    """Runs a program that the fuzzer found: its text form, the threads one after the other, native calls only."""
    data, scratch = ctypes.create_string_buffer(512 << 10), mmap.mmap(-1, 128 << 10)
    places = {"@": ctypes.addressof(data), "s": ctypes.addressof(ctypes.c_char.from_buffer(scratch))}
    pairs = socket.socketpair()
    held = [os.open("/workdir", os.O_RDONLY), os.open("/workdir/f", os.O_CREAT | os.O_RDWR, 0o600), *os.pipe(), *(s.fileno() for s in pairs)]

    def word(text):
        if text == "p":
            return os.getpid()
        if text[0] == "#":
            return held[int(text[1:], 16) % len(held)]
        if text[0] in places:
            return places[text[0]] + int(text[1:], 16)
        return int(text, 16)

    for line in text.split("\n"):
        parts = line.split(" ")
        if parts[0] == "=":
            content = bytes.fromhex(parts[2])
            ctypes.memmove(places["@"] + int(parts[1], 16), content, len(content))
        elif parts[0][:1] == "n" and len(parts) == 7:
            with attempt(line):
                result = raw(int(parts[0][1:], 16), *(word(p) for p in parts[1:]))
                if 2 < result < 1024:
                    held.append(result)
    absent("the program ran")
