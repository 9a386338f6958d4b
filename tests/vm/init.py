#!/usr/bin/python3.11 -I
"""PID 1 of the test machine: mounts what a host has, runs each case, prints one line a case, powers off.

Its kernel and its cgroup v2 are its own, so that limits which only a delegated cgroup can keep are reached for real.
"""
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
import traceback

libc = ctypes.CDLL(None, use_errno=True)
MS_BIND, MS_MOVE = 4096, 8192
CGROUP = "/sys/fs/cgroup"


def mount(source, target, kind=None, flags=0):
    encode = lambda text: text.encode() if text is not None else None
    if libc.mount(encode(source), encode(target), encode(kind), flags, None) != 0:
        raise OSError(ctypes.get_errno(), f"mount {target}")


def real_root():
    """The initial RAM file system cannot be pivoted away from: a bind of it can."""
    os.makedirs("/newroot", exist_ok=True)
    mount("/", "/newroot", flags=MS_BIND)
    os.chdir("/newroot")
    mount(".", "/", flags=MS_MOVE)
    os.chroot(".")
    os.chdir("/")


def host():
    for kind, target in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("cgroup2", CGROUP)]:
        mount(kind, target, kind)
    with open(f"{CGROUP}/cgroup.subtree_control", "w") as control:
        control.write("+memory +pids")
    os.mkdir(f"{CGROUP}/jails")


def skill(name, script):
    folder = f"/tmp/{name}/probe"
    os.makedirs(f"{folder}/scripts")
    with open(f"{folder}/SKILL.md", "w") as out:
        out.write("---\nname: probe\ndescription: A probe.\nruntime: cubesandbox::python\n---\nProbe.\n")
    with open(f"{folder}/xray.json", "w") as out:
        json.dump({"scripts": {"main.py": {"description": "Runs.", "parameters": {
            "type": "object", "properties": {}}}}}, out)
    with open(f"{folder}/scripts/main.py", "w") as out:
        out.write(script)
    return folder


def command(folder, *words, cgroup=f"{CGROUP}/jails"):
    words = list(words) + (["--cgroup", cgroup] if cgroup else [])
    return ["/skilljail", "run", "--json", "--runtime", "/runtime", folder, "main.py", *words]


def run(folder, *words, **more):
    cgroup = more.pop("cgroup", f"{CGROUP}/jails")
    done = subprocess.run(command(folder, *words, cgroup=cgroup), input=b"{}", capture_output=True, **more)
    return {"code": done.returncode, "report": json.loads(done.stdout), "stderr": done.stderr.decode()}


def leaves(folder=f"{CGROUP}/jails"):
    return sorted(name for name in os.listdir(folder) if os.path.isdir(f"{folder}/{name}"))


def relaxed(policy, **changes):
    """A shipped policy with a Landlock floor that this kernel has, written to a file of its own."""
    with open(f"/policies/{policy}.json") as source:
        data = json.load(source)
    data["landlock"]["require_abi"] = 2
    for name, value in changes.items():
        data["limits"][name]["value"] = value
    path = f"/tmp/{policy}-{len(changes)}.json"
    with open(path, "w") as out:
        json.dump(data, out)
    return path


def case_ok():
    return run(skill("ok", "print('{}')")) | {"leaves": leaves()}


def case_memory():
    script = "blocks = []\nwhile True:\n    blocks.append(bytearray(b'x') * (8 << 20))\n"
    return run(skill("memory", script), "--policy", relaxed("default", memory="64 MiB", workdir="8 MiB", shm="0 B")) | {"leaves": leaves()}


def case_threads():
    script = (
        "import threading, time\n"
        "started = 0\n"
        "try:\n"
        "    while True:\n"
        "        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "        started += 1\n"
        "except RuntimeError:\n"
        "    print(started, flush=True)\n"
        "    raise SystemExit(1)\n"
    )
    return run(skill("threads", script)) | {"leaves": leaves()}


def case_strict_here():
    return run(skill("strict", "print('{}')"), "--policy", "strict") | {"leaves": leaves()}


def case_strict_relaxed():
    return run(skill("relaxed", "print('{}')"), "--policy", relaxed("strict")) | {"leaves": leaves()}


def case_sweep():
    folder = skill("sweep", "import time\ntime.sleep(60)\n")
    victim = subprocess.Popen(command(folder), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    victim.stdin.write(b"{}")
    victim.stdin.close()
    deadline = time.monotonic() + 30
    while not leaves() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    left = leaves()
    return run(skill("after", "print('{}')")) | {"left_by_the_killed": left, "leaves": leaves()}


def case_user():
    """As systemd delegates: the supervisor in one leaf of the user's subtree, the jails in another."""
    top = f"{CGROUP}/user"
    os.mkdir(top)
    with open(f"{top}/cgroup.subtree_control", "w") as control:
        control.write("+memory +pids")
    for name in ("supervisor", "jails"):
        os.mkdir(f"{top}/{name}")
    for folder in (top, f"{top}/supervisor", f"{top}/jails"):
        for name in ("", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"):
            os.chown(f"{folder}/{name}", 1000, 1000)
    folder = skill("user", "print('{}')")

    def become():
        with open(f"{top}/supervisor/cgroup.procs", "w") as procs:
            procs.write(str(os.getpid()))
        os.setgroups([])
        os.setresgid(1000, 1000, 1000)
        os.setresuid(1000, 1000, 1000)

    return run(folder, cgroup=f"{top}/jails", preexec_fn=become) | {"leaves": leaves(f"{top}/jails")}


def case_not_a_cgroup():
    return run(skill("nocg", "print('{}')"), cgroup="/tmp")


def main():
    real_root()
    host()
    for name, case in sorted(globals().items()):
        if name.startswith("case_"):
            try:
                result = case()
            except Exception:
                result = {"exception": traceback.format_exc()}
            # One write, so that no message of the kernel's falls into the line.
            os.write(1, f"@@{name[5:]} {json.dumps(result)}\n".encode())
    os.write(1, b"@@end {}\n")


try:
    main()
finally:
    sys.stdout.flush()
    os.sync()
    with open("/proc/sysrq-trigger", "w") as trigger:
        trigger.write("o")
    time.sleep(30)
