"""Tries one thing and says what came of it: {"did": ...} or {"refused": ERRNO}."""
import ctypes, errno, json, mmap, os, platform, signal, socket, sys

sys.argv = ["probe"]
libc = ctypes.CDLL(None, use_errno=True)
PROCESS, PORT, SHM_KEY = (int(os.environ["LAB_" + name]) for name in ("PROCESS", "PORT", "SHM_KEY"))
SOCKET, KEY = os.environ["LAB_SOCKET"], os.environ["LAB_KEY"]
X86 = platform.machine() == "x86_64"


def call(name, *args):
    function = getattr(libc, name)
    # What the C library declares: as a long, the -1 of an int can look like a big number.
    function.restype = ctypes.c_long if name == "syscall" else ctypes.c_int
    result = function(*args)
    if result == -1:
        raise OSError(ctypes.get_errno(), name)
    return result


def connect(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as stream:
        stream.connect(address)
        stream.sendall(b"reached")


def start(run):
    pid = os.fork()
    if pid == 0:
        # What it holds open must not keep anybody waiting.
        os.closerange(0, 3)
        run()
        os._exit(0)
    return pid


def execute():
    with open("/workdir/own", "x") as own:
        own.write(f"#!{sys.executable} -S\nprint('{{\"did\": \"executed\"}}')\n")
    os.chmod("/workdir/own", 0o700)
    os.execv("/workdir/own", ["own"])


def write_segment(text):
    number = call("shmget", SHM_KEY, 0, 0)
    libc.shmat.restype = ctypes.c_void_p
    place = libc.shmat(number, None, 0)
    if place == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "shmat")
    ctypes.memmove(place, text, len(text))


def read_key(description):
    keyctl = 250 if X86 else 219
    search, read, session = 10, 11, -3
    key = call("syscall", keyctl, search, session, b"user", description.encode(), 0)
    room = ctypes.create_string_buffer(64)
    length = call("syscall", keyctl, read, key, room, len(room))
    return room.raw[:length].decode()


def machine_code():
    code = b"\xb8\x2a\x00\x00\x00\xc3" if X86 else b"\x40\x05\x80\x52\xc0\x03\x5f\xd6"
    try:
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except PermissionError as error:
        raise OSError(error.errno, "mmap")
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    # No callback is made by this: a plain call of an address.
    return ctypes.CFUNCTYPE(ctypes.c_int)(address)()


def say(**words):
    print(json.dumps(words), flush=True)


try:
    say(did=eval(THING))
except OSError as error:
    say(refused=errno.errorcode[error.errno])
