//! Numbers back to names: what an argument of a call says to a reader.

use super::constants;
use super::filter::{Condition, Test};
use super::syscalls::{Arg, Syscall};

/// How the values of an argument are named.
enum Names {
    /// One of the constants that begin so.
    One(&'static [&'static str]),
    /// Bits of the constants that begin so.
    Bits(&'static [&'static str]),
    /// Permission bits, in octal.
    Octal,
    /// A value of the low bits, and bits above them: `SOCK_STREAM|SOCK_CLOEXEC`.
    Both(&'static str, u64),
}

/// Which names fit an argument. Only where one list is right: a wrong name would be worse than a number.
/// `level` is the option's, where it is known: options of different levels have the same numbers.
fn names_of(call: &str, arg: &str, level: Option<u64>) -> Option<Names> {
    use Names::{Bits, Both, Octal, One};
    Some(match (call, arg) {
        ("socket" | "socketpair", "domain") => One(&["AF_"]),
        ("socket" | "socketpair", "type") => Both("SOCK_", 0xf),
        ("setsockopt" | "getsockopt", "level") => One(&["SOL_", "IPPROTO_IP", "IPPROTO_TCP"]),
        ("setsockopt" | "getsockopt", "optname") => {
            let level = level.and_then(|level| one(&["SOL_", "IPPROTO_IP", "IPPROTO_TCP"], level));
            One(match level? {
                "SOL_SOCKET" => &["SO_"],
                "IPPROTO_IP" => &["IP_"],
                "IPPROTO_IPV6" => &["IPV6_"],
                "IPPROTO_TCP" => &["TCP_"],
                _ => return None,
            })
        }
        ("open" | "openat", "flags") => Both("O_", 3),
        (
            "openat" | "execveat" | "newfstatat" | "unlinkat" | "mkdirat" | "fchmodat" | "faccessat",
            "dirfd",
        )
        | ("openat", "dfd") => One(&["AT_FDCWD", "EXEC_FD"]),
        ("execveat" | "unlinkat" | "newfstatat" | "linkat" | "statx", "flags") => Bits(&["AT_"]),
        ("mmap" | "mprotect" | "pkey_mprotect", "prot") => Bits(&["PROT_"]),
        ("mmap", "flags") => {
            Bits(&["MAP_SHARED", "MAP_PRIVATE", "MAP_FIXED", "MAP_ANON", "MAP_GROWSDOWN", "MAP_HUGETLB"])
        }
        ("mremap", "flags") => Bits(&["MREMAP_"]),
        ("madvise" | "process_madvise", "advice") => One(&["MADV_"]),
        ("clone" | "unshare", "flags" | "unshare_flags") => Bits(&["CLONE_"]),
        ("fcntl", "cmd") => One(&["F_"]),
        ("ioctl", "cmd") => One(&["TC", "TIOC", "FIO", "FICLONE"]),
        ("prctl", "option") => One(&["PR_"]),
        ("arch_prctl", "code" | "option") => One(&["ARCH_"]),
        ("kill" | "tkill" | "tgkill" | "rt_sigqueueinfo" | "rt_tgsigqueueinfo", "sig") => One(&["SIG"]),
        ("close_range", "flags") => Bits(&["CLOSE_RANGE_"]),
        ("preadv2" | "pwritev2", "flags") => Bits(&["RWF_"]),
        (_, "mode" | "mask") => Octal,
        ("fadvise64", "advice") => One(&["POSIX_FADV_"]),
        _ => return None,
    })
}

fn fits(name: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| name.starts_with(beginning))
}

fn one(beginnings: &[&str], value: u64) -> Option<&'static str> {
    constants::names()
        .filter(|name| fits(name, beginnings) && !name.ends_with("_MASK") && *name != "O_ACCMODE")
        .find(|name| constants::value(name) == Some(value))
}

/// Names of single bits joined by `|`, the rest as a number.
fn bits(beginnings: &[&str], value: u64) -> String {
    let (mut left, mut words) = (value, Vec::new());
    for name in constants::names().filter(|name| fits(name, beginnings)) {
        let bit = constants::value(name).unwrap_or(0);
        if bit.is_power_of_two() && left & bit != 0 {
            left &= !bit;
            words.push(name.to_owned());
        }
    }
    if left != 0 || words.is_empty() {
        words.push(if left == 0 { "0".to_owned() } else { format!("{left:#x}") });
    }
    words.join("|")
}

/// `level`: see [`level`]; only the options of sockets ask for it. A value in the words of the argument it is for: a name, names joined by `|`, a small number as it is, others in
/// hexadecimal; an address only as one.
pub fn value(call: &str, arg: &Arg, register: u64, level: Option<u64>) -> String {
    let value = register & arg.width.mask();
    if arg.pointer {
        return if value == 0 { "NULL".to_owned() } else { format!("{value:#x}") };
    }
    let named = match names_of(call, &arg.name, level) {
        Some(Names::One(beginnings)) => one(beginnings, value).map(str::to_owned),
        Some(Names::Bits(beginnings)) => Some(bits(beginnings, value)),
        Some(Names::Both(beginning, low)) => one(&[beginning], value & low).map(|name| match value & !low {
            0 => name.to_owned(),
            high => format!("{name}|{}", bits(&[beginning], high)),
        }),
        Some(Names::Octal) if value > 0 => Some(format!("{value:#o}")),
        Some(Names::Octal) | None => None,
    };
    named.unwrap_or_else(|| if value < 4096 { value.to_string() } else { format!("{value:#x}") })
}

/// A value as a filter's file takes it: by name where it has one, or else as a number.
pub fn literal(call: &str, arg: &Arg, register: u64, level: Option<u64>) -> serde_json::Value {
    let said = value(call, arg, register, level);
    if said.starts_with(|c: char| c.is_ascii_uppercase()) && !arg.pointer {
        said.into()
    } else {
        (register & arg.width.mask()).into()
    }
}

/// The level of a socket option, if the call has one: its second argument.
pub fn level(args: &[u64; 6]) -> Option<u64> {
    args.get(1).copied().map(|level| level & u64::from(u32::MAX))
}

/// The same of a rule: where it asks for one level alone.
pub fn level_of(conditions: &[Condition]) -> Option<u64> {
    conditions.iter().find(|condition| condition.index() == 1).and_then(|condition| match condition.test() {
        Test::In { values, .. } => values.first().copied().filter(|_| values.len() == 1),
        _ => None,
    })
}

/// The six registers as `name=value`, as many as the call has; all six in hexadecimal where the table knows no arguments.
pub fn arguments(call: Option<&Syscall>, args: &[u64; 6]) -> Vec<String> {
    match call.and_then(|call| call.args.as_ref().map(|list| (call, list))) {
        Some((call, list)) => list
            .iter()
            .zip(args)
            .map(|(arg, register)| format!("{}={}", arg.name, value(&call.name, arg, *register, level(args))))
            .collect(),
        None => args.iter().map(|register| format!("{register:#x}")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::syscalls::Table;
    use super::*;

    fn said(name: &str, args: [u64; 6]) -> String {
        arguments(Table::builtin().named(name), &args).join(", ")
    }

    #[test]
    fn an_option_has_the_name_of_its_level() {
        let option = |level, name| said("setsockopt", [3, level, name, 0, 0, 0]);
        assert!(option(1, 26).contains("level=SOL_SOCKET, optname=SO_ATTACH_FILTER"), "{}", option(1, 26));
        assert!(option(41, 26).contains("level=IPPROTO_IPV6, optname=IPV6_V6ONLY"), "{}", option(41, 26));
        assert!(option(6, 1).contains("level=IPPROTO_TCP, optname=TCP_NODELAY"), "{}", option(6, 1));
        assert!(option(0, 11).contains("level=IPPROTO_IP, optname=IP_RECVERR"), "{}", option(0, 11));
        assert!(option(99, 11).contains("level=99, optname=11"), "{}", option(99, 11));
    }

    #[test]
    fn what_has_a_name_is_named() {
        assert_eq!(
            said("socket", [2, 0o2_000_001, 6, 0, 0, 0]),
            "domain=AF_INET, type=SOCK_STREAM|SOCK_CLOEXEC, protocol=6"
        );
        assert_eq!(said("socket", [99, 1, 0, 0, 0, 0]), "domain=99, type=SOCK_STREAM, protocol=0");
        assert!(said("clone", [0x1000_0011, 0, 0, 0, 0, 0]).starts_with("flags=CLONE_NEWUSER|0x11"));
        assert!(
            said("mmap", [0, 4096, 6, 0x22, u64::MAX, 0])
                .contains("prot=PROT_WRITE|PROT_EXEC, flags=MAP_PRIVATE|MAP_ANONYMOUS")
        );
        assert!(said("ioctl", [0, 0x5412, 0, 0, 0, 0]).contains("cmd=TIOCSTI"));
        assert!(
            said("openat", [0xffff_ff9c, 0x7f00_0000, 0o101, 0, 0, 0]).contains("=AT_FDCWD"),
            "{}",
            said("openat", [0xffff_ff9c, 0x7f00_0000, 0o101, 0, 0, 0])
        );
        assert!(said("openat", [0xffff_ff9c, 1, 0o101, 0, 0, 0]).contains("flags=O_WRONLY|O_CREAT"));
    }

    #[test]
    fn an_int_is_read_by_its_lower_half_alone() {
        assert!(said("kill", [1, 0xdead_0000_0000_0009, 0, 0, 0, 0]).ends_with("sig=SIGKILL"));
    }

    #[test]
    fn what_the_table_does_not_know_stays_six_numbers() {
        assert_eq!(arguments(None, &[1, 2, 3, 4, 5, 0x10]), ["0x1", "0x2", "0x3", "0x4", "0x5", "0x10"]);
    }
}
