/* The floor: every layer of the jail and nothing else. No policy is read, no skill, nothing is written down; descriptors,
 * order and kernel calls are those of a run. What the product takes beyond this is its own doing.
 *
 *   floor FILTER PROGRAM BIND...      FILTER: the bytes of the BPF program; BIND: directories, same path inside
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#define OUTER 1879048192u
#define RO 1ul
#define NOSUID 2ul
#define NODEV 4ul
#define NOEXEC 8ul

struct args { uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup; };
struct attr { uint64_t set, clr, propagation, userns; };

static void must(long ret, const char *what) {
    if (ret < 0) { perror(what); _exit(125); }
}
static int pidfd_fork(uint64_t flags, int *pidfd) {
    struct args a = { .flags = flags | 0x1000 /* PIDFD */, .pidfd = (uint64_t)(uintptr_t)pidfd, .exit_signal = SIGCHLD };
    return (int)syscall(SYS_clone3, &a, sizeof a);
}
static void put(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    must(fd, path);
    must(write(fd, text, strlen(text)), path);
    close(fd);
}
static void file(const char *path, const char *text, mode_t mode) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    must(fd, path);
    if (*text) must(write(fd, text, strlen(text)), path);
    close(fd);
}
static int tmpfs(const char *size, const char *inodes, unsigned long flags) {
    int fs = (int)syscall(SYS_fsopen, "tmpfs", 1);
    must(fs, "fsopen");
    must(syscall(SYS_fsconfig, fs, 1, "size", size, 0), "size");
    must(syscall(SYS_fsconfig, fs, 1, "nr_inodes", inodes, 0), "nr_inodes");
    must(syscall(SYS_fsconfig, fs, 1, "mode", "0755", 0), "mode");
    must(syscall(SYS_fsconfig, fs, 6, NULL, NULL, 0), "create");
    int m = (int)syscall(SYS_fsmount, fs, 1, flags);
    must(m, "fsmount");
    close(fs);
    return m;
}
static int tree(const char *path) {
    int fd = (int)syscall(SYS_open_tree, AT_FDCWD, path, 1 | O_CLOEXEC | 0x8000 /* RECURSIVE */);
    must(fd, path);
    return fd;
}
static void attach(int mount, const char *path, unsigned long flags) {
    if (flags) {
        struct attr a = { .set = flags };
        must(syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH | 0x8000, &a, sizeof a), "mount_setattr");
    }
    must(syscall(SYS_move_mount, mount, "", AT_FDCWD, path, 4), path);
    close(mount);
}
static void limit(int what, rlim_t value) {
    struct rlimit r;
    must(getrlimit(what, &r), "getrlimit");
    if (value > r.rlim_max) value = r.rlim_max;
    r.rlim_cur = r.rlim_max = value;
    must(setrlimit(what, &r), "setrlimit");
}
static void rule(int set, const char *path, uint64_t rights) {
    struct landlock_path_beneath_attr a = { .allowed_access = rights, .parent_fd = open(path, O_PATH | O_CLOEXEC) };
    must(a.parent_fd, path);
    must(syscall(SYS_landlock_add_rule, set, 1, &a, 0), path);
    close(a.parent_fd);
}
static const char *DEVICES[] = { "dev/null", "dev/zero", "dev/full", "dev/random", "dev/urandom" };

static void root(int binds, char **bind) {
    struct attr private = { .propagation = MS_PRIVATE };
    must(syscall(SYS_mount_setattr, AT_FDCWD, "/", 0x8000, &private, sizeof private), "private");
    int devices[5], trees[16];
    char path[64];
    for (int i = 0; i < 5; i++) { snprintf(path, sizeof path, "/%s", DEVICES[i]); devices[i] = tree(path); }
    for (int i = 0; i < binds; i++) {
        char *real = realpath(bind[i], NULL);
        trees[i] = tree(real);
        free(real);
    }
    int top = tmpfs("1048576", "128", NOSUID | NODEV | NOEXEC);
    int keep = dup(top);
    attach(top, "/proc", 0);
    must(fchdir(keep), "fchdir");
    umask(0);
    must(mkdir("etc", 0555), "etc");
    file("etc/passwd", "skilljail:x:1000:1000::/workdir:/nonexistent\n", 0444);
    file("etc/group", "skilljail:x:1000:\n", 0444);
    file("etc/hosts", "127.0.0.1 localhost skilljail\n::1 localhost skilljail\n", 0444);
    file("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n", 0444);
    must(mkdir("dev", 0555), "dev");
    for (int i = 0; i < 5; i++) { file(DEVICES[i], "", 0644); attach(devices[i], DEVICES[i], RO | NOSUID | NOEXEC); }
    must(mkdir("dev/shm", 0700), "shm");
    attach(tmpfs("16777216", "256", NOSUID | NODEV | NOEXEC), "dev/shm", 0);
    for (int i = 0; i < binds; i++) { must(mkdir(bind[i] + 1, 0755), bind[i]); attach(trees[i], bind[i] + 1, RO | NOSUID | NODEV); }
    must(mkdir("workdir", 0755), "workdir");
    must(mkdir("workdir/in", 0555), "in");
    must(mkdir("tmp", 0700), "tmp");
    int in = tree("workdir/in");
    attach(tmpfs("134217728", "4096", NOSUID | NODEV | NOEXEC), "workdir", 0);
    must(mkdir("workdir/in", 0555), "in");
    must(mkdir("workdir/out", 0700), "out");
    must(mkdir("workdir/tmp", 0700), "tmp");
    attach(in, "workdir/in", RO | NOSUID | NODEV | NOEXEC);
    attach(tree("workdir/tmp"), "tmp", 0);
    umask(077);
    struct attr ro = { .set = RO | NOSUID | NODEV | NOEXEC };
    must(syscall(SYS_mount_setattr, keep, "", AT_EMPTY_PATH, &ro, sizeof ro), "ro");
    must(syscall(SYS_pivot_root, ".", "."), "pivot_root");
    must(umount2(".", MNT_DETACH), "umount2");
    must(chdir("/workdir"), "chdir");
    close(keep);
}

static void privileges(void) {
    syscall(SYS_keyctl, 1, NULL);
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
    must(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "ambient");
    must(prctl(PR_SET_SECUREBITS, 0xef, 0, 0, 0), "securebits");
    for (int cap = 0; cap < 64 && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++) {}
    uint32_t header[2] = { 0x20080522, 0 }, none[6] = { 0 };
    must(syscall(SYS_capset, header, none), "capset");
}

static void landlock(const char *program, int binds, char **bind) {
    uint64_t read = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
    uint64_t work = read | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                    LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_SYM;
    struct { uint64_t fs; } attr = { (1ull << 13) - 1 };
    int set = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    must(set, "ruleset");
    rule(set, "/", LANDLOCK_ACCESS_FS_READ_DIR);
    rule(set, "/workdir", work);
    rule(set, "/tmp", work);
    rule(set, "/etc", read);
    char path[64];
    for (int i = 0; i < 5; i++) { snprintf(path, sizeof path, "/%s", DEVICES[i]); rule(set, path, LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE); }
    rule(set, "/dev/shm", work);
    for (int i = 0; i < binds; i++) rule(set, bind[i], read);
    rule(set, program, LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE);
    rule(set, "/lib64/ld-linux-x86-64.so.2", LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE);
    must(syscall(SYS_landlock_restrict_self, set, 0), "restrict_self");
    close(set);
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    static struct sock_filter code[4096];
    int filter = open(argv[1], O_RDONLY | O_CLOEXEC), program = open(argv[2], O_RDONLY | O_CLOEXEC);
    must(filter, argv[1]);
    must(program, argv[2]);
    ssize_t size = read(filter, code, sizeof code);
    close(filter);
    struct sock_fprog fprog = { (unsigned short)(size / 8), code };
    int is_root = geteuid() == 0, channel[2], out[2], err[2], in[2], pidfd, byte = 0;
    unsigned outer = is_root ? OUTER : geteuid(), outer_gid = is_root ? OUTER : getegid();
    must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel), "socketpair");
    must(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC) | pipe2(err, O_CLOEXEC), "pipe2");
    must(fcntl(program, F_DUPFD_CLOEXEC, 1024), "dup");
    int pid = pidfd_fork(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP, &pidfd);
    must(pid, "clone3");
    if (pid == 0) {
        struct { void *handler; unsigned long flags; void *restorer; uint64_t mask; } dfl = { 0 };
        for (int s = 1; s <= 64; s++) if (s != SIGKILL && s != SIGSTOP) syscall(SYS_rt_sigaction, s, &dfl, NULL, 8);
        dup3(1024, 1023, O_CLOEXEC); dup2(in[0], 0); dup2(out[1], 1); dup2(err[1], 2); dup3(channel[1], 3, O_CLOEXEC);
        syscall(SYS_close_range, 4, 1022, 0); syscall(SYS_close_range, 1024, ~0u, 0);
        must(read(3, &byte, 1) == 1 ? 0 : -1, "go");
        setsid();
        int ns = open("/proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC);
        if (ns >= 0) { if (write(ns, "0", 1) < 0) {} close(ns); }
        if (is_root) {
            must(syscall(SYS_setgroups, 0, NULL), "setgroups");
            must(syscall(SYS_setresgid, 1000, 1000, 1000), "setresgid");
            must(syscall(SYS_setresuid, 1000, 1000, 1000), "setresuid");
        }
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        root(argc - 3, argv + 3);
        must(sethostname("skilljail", 9), "sethostname");
        int limits[][2] = { { RLIMIT_CPU, 38 }, { RLIMIT_FSIZE, 64 << 20 }, { RLIMIT_NPROC, 65 }, { RLIMIT_CORE, 1 }, { RLIMIT_MEMLOCK, 65536 },
            { RLIMIT_MSGQUEUE, 0 }, { RLIMIT_SIGPENDING, 256 }, { RLIMIT_STACK, 8 << 20 }, { RLIMIT_NICE, 0 }, { RLIMIT_RTPRIO, 0 },
            { RLIMIT_AS, 512 << 20 }, { RLIMIT_NOFILE, 256 } };
        for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++) limit(limits[i][0], (rlim_t)limits[i][1]);
        privileges();
        landlock(argv[2], argc - 3, argv + 3);
        int workdir = open("/workdir", O_RDONLY | O_DIRECTORY | O_CLOEXEC), second;
        int two = pidfd_fork(0, &second);
        must(two, "init");
        if (two) {
            union { char space[CMSG_SPACE(2 * sizeof(int))]; struct cmsghdr align; } control = { 0 };
            struct iovec iov = { &byte, 1 };
            struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space };
            struct cmsghdr *header = CMSG_FIRSTHDR(&message);
            header->cmsg_level = SOL_SOCKET; header->cmsg_type = SCM_RIGHTS; header->cmsg_len = CMSG_LEN(2 * sizeof(int));
            int fds[2] = { second, workdir };
            memcpy(CMSG_DATA(header), fds, sizeof fds);
            must(sendmsg(3, &message, 0), "born");
            prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
            close(0); close(1); close(2);
            syscall(SYS_close_range, 4, ~0u, 0);
            struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
            struct sock_fprog own = { 1, all };
            must(syscall(SYS_seccomp, 1, 0, &own), "seccomp init");
            int status = 0;
            while (wait4(-1, &status, __WALL, NULL) != two) {}
            must(write(3, &status, sizeof status), "ended");
            _exit(0);
        }
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        must((long)syscall(SYS_mmap, 0x80000, 4096, 1, 0x100022, -1, 0), "mmap");
        int listener = (int)syscall(SYS_seccomp, 1, 8, &fprog);
        must(listener, "seccomp");
        must(write(3, &listener, sizeof listener), "sealed");
        must(read(3, &byte, 1) == 1 ? 0 : -1, "go");
        char *child[] = { argv[2], NULL }, *env[] = { "HOME=/workdir", "LANG=C.UTF-8", NULL };
        syscall(SYS_execveat, 1023, (char *)0x80000, child, env, AT_EMPTY_PATH);
        _exit(126);
    }
    char path[64], map[64];
    close(in[0]); close(out[1]); close(err[1]); close(channel[1]); close(in[1]);
    snprintf(path, sizeof path, "/proc/%d/setgroups", pid);
    if (!is_root) put(path, "deny");
    snprintf(path, sizeof path, "/proc/%d/uid_map", pid);
    snprintf(map, sizeof map, "1000 %u 1", outer);
    put(path, map);
    snprintf(path, sizeof path, "/proc/%d/gid_map", pid);
    snprintf(map, sizeof map, "1000 %u 1", outer_gid);
    put(path, map);
    must(write(channel[0], &byte, 1), "go");
    int payload = -1, listener = -1, status = 0, said = 0;
    while (payload < 0 || listener < 0) {
        union { char space[CMSG_SPACE(2 * sizeof(int))]; struct cmsghdr align; } control;
        struct iovec iov = { &said, sizeof said };
        struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space };
        ssize_t got = recvmsg(channel[0], &message, MSG_CMSG_CLOEXEC);
        must(got > 0 ? 0 : -1, "the child is gone");
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        if (header) memcpy(&payload, CMSG_DATA(header), sizeof payload);
        else listener = said;
    }
    listener = (int)syscall(SYS_pidfd_getfd, payload, listener, 0);
    must(listener, "pidfd_getfd");
    must(write(channel[0], &byte, 1), "go");
    char chunk[8192];
    ssize_t got;
    while ((got = read(out[0], chunk, sizeof chunk)) > 0) if (write(1, chunk, (size_t)got) < 0) return 1;
    while ((got = read(err[0], chunk, sizeof chunk)) > 0) if (write(2, chunk, (size_t)got) < 0) return 1;
    must(read(channel[0], &status, sizeof status), "ended");
    wait4(pid, NULL, __WALL, NULL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
