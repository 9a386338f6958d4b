//! # Past escapes
//!
//! How jails of this kind were escaped, what stops it here, and the attack of the [battery](super::battery) that shows it.
//!
//! | escape | root cause | what stops it here | attack |
//! |---|---|---|---|
//! | CVE-2019-5736 (runc), firejail#2401 | the program of the container runtime is overwritten through `/proc/self/exe` | no /proc in the jail; the interpreter is executed by a descriptor of a read-only mount | `process/exec-descriptor`, `information/own-memory-file` |
//! | CVE-2024-21626 (runc) | a directory of the host's stays open; its number is a working directory | every descriptor but 0 to 2 is closed before anything else | `launch/open-folder`, `launch/open-many`, `filesystem/magic-link` |
//! | CVE-2025-31133, -52565, -52881 (runc) | mounts and writes of the set-up follow links that the container planted | the root is made anew on a tmpfs; sources are opened before it is entered; no /proc is mounted | `mounts/mount-proc`, `artifacts/swap-folder` |
//! | CVE-2026-87766 (bubblewrap) | directories are made through a link in the new root, on the host | a package has no links; its bytes are copied | `package/link-to-folder`, `filesystem/mkdir-out` |
//! | CVE-2020-5291, CVE-2016-8659, CVE-2026-41163 (bubblewrap) | a set-user-ID helper is traced or its namespaces are joined | not set-user-ID, and refuses to be; init is not dumpable; ptrace is not allowed | `process/ptrace`, `process/setns` |
//! | CVE-2017-5226, CVE-2019-7303, CVE-2019-10063 | input is put into the caller's terminal by ioctl, also with high bits set | a session of its own without a terminal; ioctl by list, compared as the kernel reads it | `launch/session` |
//! | CVE-2026-97029 (flatpak) | `kill(0)` reaches the caller's process group across pid and user namespaces | setsid | `process/kill-group`, `launch/session` |
//! | CVE-2026-34078, CVE-2024-42472, CVE-2026-96807 (flatpak) | links in directories of the application become mounts of the host | links are refused, nothing of a package is mounted | `package/relative-link`, `filesystem/symlink-out`, `artifacts/link-to-folder` |
//! | CVE-2024-28185, CVE-2024-28189 (Judge0) | the host writes or changes owners through links in the box | the collector opens beneath one directory, follows nothing, takes regular files of one name | `artifacts/link`, `artifacts/second-name`, `package/hard-link` |
//! | isolate 2.4 to 2.6 | keyctl, vsock, flock, leases, a shared /dev/shm, io_uring, i386 calls | not in the filter's list; /dev/shm is the jail's own and noexec | `ipc/read-key`, `network/vsock`, `covert-channels/file-lock`, `process/map-shared-code`, `network/io-uring` |
//! | CVE-2022-0185, CVE-2022-0492, CVE-2023-32233, CVE-2024-1086 | a nested user namespace gives capabilities, these reach old code | no namespace can be made: by the filter, and by max_user_namespaces where it can be set | `process/unshare-user`, `process/clone-namespace`, `mounts/fsopen`, `network/netfilter`, `mounts/mount-cgroup` |
//! | CVE-2020-14386, CVE-2017-7308, CVE-2021-43267, CVE-2019-8912 | bugs in socket families that nobody needs | no socket at all, or two families with the egress profile | `network/packet-socket`, `network/every-family`, `network/alg` |
//! | CVE-2021-26708 | vsock reaches the hypervisor past every network namespace | as above | `network/vsock` |
//! | CVE-2025-66479 (sandbox-runtime) | an empty allow-list allowed everything | an empty list allows nothing | `network/tcp-connect` |
//! | CVE-2020-15257 (containerd) | abstract sockets of the host are in the container's network namespace | a network namespace of its own | `network/abstract-connect`, `network/datagram-by-pair` |
//! | CVE-2025-59532 (codex) | what the model said widened the writable root | nothing that a script or its input says is a path of the host | `filesystem/write-file` |
//! | CVE-2022-0847 (Dirty Pipe) | spliced pages of a read-only file are written | splice, tee and vmsplice are not in the list | `kernel-surface/splice`, `kernel-surface/tee` |
//! | CVE-2023-0386, CVE-2021-3493 | overlayfs in a user namespace | no mount | `mounts/mount-overlay` |
//! | CVE-2021-3490, CVE-2023-2163 | the verifier of eBPF | bpf is not in the list | `kernel-surface/bpf` |
//! | CVE-2019-5489, cachestat | the page cache tells what others read | mincore and cachestat are not in the list | `covert-channels/resident-pages`, `covert-channels/page-cache` |
//! | CVE-2023-4911 (Looney Tunables) | the environment of the caller changes the loader | nothing of the caller's environment is handed on | `launch/tunables`, `launch/preload` |
//! | CVE-2017-1000364 (Stack Clash) | a stack without a bound meets other memory | RLIMIT_STACK | `launch/stack-limit` |
//! | openedx/codejail#9 | bytecode or site files run before the script | Python ignores its environment, user site and cwd; the tree is read-only | `launch/python-path`, `filesystem/plant-bytecode` |
//! | kafel#19, firejail#87 | x32 numbers pass a filter that compares native ones | killed, whatever the number | `kernel-surface/x32-call` |
//! | birdcage#32, moby#46762 | io_uring opens and connects behind the filter | no ring | `network/io-uring` |
