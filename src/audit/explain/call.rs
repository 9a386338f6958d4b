//! A call as a reviewer writes it: a name, and as many arguments as are of interest.

use crate::seccomp::json::values::expression;
use crate::seccomp::region::{Region, TooComplex};
use crate::seccomp::syscalls::{Arg, Syscall, Table, Width};
use crate::seccomp::{Arch, decode};

/// The words are no call. The caller's fault.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CallError {
    /// No such call.
    #[error("there is no system call {name:?}{}", hint(.near))]
    Name {
        /// What was written.
        name: String,
        /// What looks like it.
        near: Vec<String>,
    },
    /// Not `name` or `name(argument, …)`.
    #[error(
        "{text:?} is not a call\nhint: write `clone3`, `socket(AF_INET, SOCK_STREAM)`, `openat(\"/etc/passwd\", O_RDONLY)`"
    )]
    Shape {
        /// What was written.
        text: String,
    },
    /// More arguments than the call has.
    #[error("{name} has {has} arguments, and {given} are given\nhint: its arguments are: {list}")]
    Many {
        /// The call.
        name: String,
        /// How many it has.
        has: usize,
        /// How many are given.
        given: usize,
        /// Their names.
        list: String,
    },
    /// An argument that is not understood.
    #[error("{name}: argument {arg}: {what}{}", .hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default())]
    Argument {
        /// The call.
        name: String,
        /// The argument.
        arg: String,
        /// What is wrong.
        what: String,
        /// What to do.
        hint: Option<String>,
    },
}

fn hint(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("\nhint: did you mean {}?", near.join(", ")) }
}

/// An argument.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    /// Left open.
    Any,
    /// A number.
    Number(u64),
    /// A path, at an address that is not told.
    Path(String),
    /// Where to: an address and a port, at an address that is not told.
    Address(String),
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    syscall: &'static Syscall,
    values: Vec<Value>,
}

impl Call {
    /// Reads one.
    pub(super) fn parse(text: &str) -> Result<Self, CallError> {
        let shape = || CallError::Shape { text: text.to_owned() };
        let text = text.trim();
        let (name, list) = match text.split_once('(') {
            None => (text, None),
            Some((name, rest)) => (name.trim(), Some(rest.strip_suffix(')').ok_or_else(shape)?)),
        };
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(shape());
        }
        let syscall = find(name)?;
        let words: Vec<&str> = match list.map(str::trim) {
            None | Some("") => Vec::new(),
            Some(list) => split(list).ok_or_else(shape)?,
        };
        let args = syscall.args.as_deref().unwrap_or_default();
        let mut values = vec![Value::Any; 6];
        let mut at = 0;
        for word in &words {
            let word = word.trim();
            let (index, word) = match word.split_once('=') {
                Some((name, value)) if !word.starts_with('"') => (named(syscall, name.trim())?, value.trim()),
                _ => {
                    at = shorthand(syscall, args, at, word);
                    (at, word)
                }
            };
            let Some(arg) = args.get(index) else {
                return Err(CallError::Many {
                    name: name.to_owned(),
                    has: args.len(),
                    given: words.len(),
                    list: args.iter().map(|arg| arg.name.as_str()).collect::<Vec<_>>().join(", "),
                });
            };
            if let Some(slot) = values.get_mut(index) {
                *slot = value(syscall, arg, word)?;
            }
            at = index + 1;
        }
        Ok(Self { syscall, values })
    }

    /// The call.
    pub(super) fn syscall(&self) -> &'static Syscall {
        self.syscall
    }

    /// The numbers that were given: place and value.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (u8, u64)> + '_ {
        (0u8..).zip(&self.values).filter_map(|(i, value)| match value {
            Value::Number(number) => Some((i, *number)),
            _ => None,
        })
    }

    /// The number of an argument, by name.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        let index = self.syscall.args.as_ref()?.iter().position(|arg| arg.name == name)?;
        match self.values.get(index)? {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The paths that were given, in order.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> + '_ {
        self.values
            .iter()
            .filter_map(|value| if let Value::Path(path) = value { Some(path.as_str()) } else { None })
    }

    /// Where to, if that was given.
    pub(super) fn address(&self) -> Option<&str> {
        self.values
            .iter()
            .find_map(|value| if let Value::Address(address) = value { Some(address.as_str()) } else { None })
    }

    /// Every input that the words fit.
    pub(super) fn region(&self, arch: Arch) -> Result<Region, TooComplex> {
        let everything = Region::everything();
        let mut region = everything.listed(1, &[arch.audit()], true)?.unwrap_or(everything);
        if let Some(number) = self.syscall.number(arch) {
            region = region.listed(0, &[number], true)?.unwrap_or(region);
        }
        for (index, number) in self.numbers() {
            let wide = self
                .syscall
                .args
                .as_ref()
                .and_then(|args| args.get(usize::from(index)))
                .is_none_or(|arg| arg.width == Width::W64);
            let (low, high) = ((number & 0xffff_ffff) as u32, (number >> 32) as u32);
            region = region.listed(4 + 2 * index, &[low], true)?.unwrap_or(region);
            if wide {
                region = region.listed(5 + 2 * index, &[high], true)?.unwrap_or(region);
            }
        }
        Ok(region)
    }
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let args = self.syscall.args.as_deref().unwrap_or_default();
        let level = match self.values.get(1) {
            Some(Value::Number(level)) => Some(*level),
            _ => None,
        };
        let words: Vec<String> = args
            .iter()
            .zip(&self.values)
            .map(|(arg, value)| {
                let value = match value {
                    Value::Any => "any".to_owned(),
                    Value::Number(number) => decode::value(&self.syscall.name, arg, *number, level),
                    Value::Path(path) => format!("{path:?}"),
                    Value::Address(address) => address.clone(),
                };
                format!("{}={value}", arg.name)
            })
            .collect();
        write!(f, "{}({})", self.syscall.name, words.join(", "))
    }
}

/// By name or by number of this machine's architecture.
fn find(name: &str) -> Result<&'static Syscall, CallError> {
    let table = Table::builtin();
    if let Some(call) = name.parse().ok().and_then(|number| table.numbered(Arch::NATIVE, number)) {
        return Ok(call);
    }
    table.named(name).ok_or_else(|| CallError::Name {
        name: name.to_owned(),
        near: table.near(name).into_iter().map(str::to_owned).collect(),
    })
}

fn named(syscall: &'static Syscall, name: &str) -> Result<usize, CallError> {
    crate::seccomp::json::values::argument(syscall, name).map(|(index, _)| usize::from(index)).map_err(
        |(what, hint)| CallError::Argument { name: syscall.name.clone(), arg: name.to_owned(), what, hint },
    )
}

/// Splits at commas outside quotes and brackets.
fn split(list: &str) -> Option<Vec<&str>> {
    let (mut quoted, mut escaped, mut depth) = (false, false, 0i32);
    let words = list
        .split(|c| {
            if quoted {
                quoted = escaped || c != '"';
                escaped = !escaped && c == '\\';
                return false;
            }
            match c {
                '"' => quoted = true,
                '(' | '{' | '[' => depth += 1,
                ')' | '}' | ']' => depth -= 1,
                _ => {}
            }
            c == ',' && depth == 0
        })
        .collect();
    (!quoted && depth == 0).then_some(words)
}

/// A path before its directory was named, and an address before its socket: `openat("/x")` means the path, as everybody writes it.
fn shorthand(syscall: &Syscall, args: &[Arg], at: usize, word: &str) -> usize {
    let here = args.get(at);
    let wants = |arg: &Arg| {
        if word.starts_with('"') {
            arg.pointer
        } else {
            is_address(word) && arg.pointer && ["addr", "dest_addr"].contains(&arg.name.as_str())
        }
    };
    if !(word.starts_with('"') || is_address(word)) || here.is_some_and(wants) || syscall.args.is_none() {
        return at;
    }
    args.iter().enumerate().skip(at).find(|(_, arg)| wants(arg)).map_or(at, |(index, _)| index)
}

/// What the parameters are called in which a call takes a path.
const PATHS: [&str; 7] = ["path", "name", "filename", "target", "library", "root", "put_old"];

fn is_address(word: &str) -> bool {
    word.parse::<std::net::SocketAddr>().is_ok() || word.parse::<std::net::IpAddr>().is_ok()
}

fn value(syscall: &Syscall, arg: &Arg, word: &str) -> Result<Value, CallError> {
    let wrong = |what: String, hint: Option<String>| CallError::Argument {
        name: syscall.name.clone(),
        arg: arg.name.clone(),
        what,
        hint,
    };
    if matches!(word, "_" | "?" | "…" | "..." | "any") {
        return Ok(Value::Any);
    }
    if let Some(text) = word.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        if !arg.pointer {
            return Err(wrong("is a number, not a string".to_owned(), None));
        }
        if is_address(text) && arg.name == "addr" {
            return Ok(Value::Address(text.to_owned()));
        }
        // What a buffer holds no wall looks at: it must not be judged as if it were a file.
        if !PATHS.iter().any(|word| arg.name.contains(word)) {
            let hint = "write _ for what is left open".to_owned();
            return Err(wrong(format!("is an address of memory, and no path: {word}"), Some(hint)));
        }
        return Ok(Value::Path(text.to_owned()));
    }
    if is_address(word) {
        if !arg.pointer {
            return Err(wrong("is a number, not an address".to_owned(), None));
        }
        return Ok(Value::Address(word.to_owned()));
    }
    if let Some(number) = word.strip_prefix('-').and_then(|digits| digits.parse::<i64>().ok()) {
        let value = number.wrapping_neg().cast_unsigned() & arg.width.mask();
        return Ok(Value::Number(value));
    }
    // As C and Rust write permission bits; `0644` read as a decimal number would be another mode.
    let octal = word.strip_prefix("0o").or_else(|| word.strip_prefix('0').filter(|rest| !rest.is_empty()));
    if let Some(number) = octal.and_then(|digits| u64::from_str_radix(digits, 8).ok()) {
        return Ok(Value::Number(number & arg.width.mask()));
    }
    expression(arg.width, word).map(Value::Number).map_err(|(what, hint)| wrong(what, hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reviewer_writes_is_understood() {
        for (words, said) in [
            ("clone3", "clone3(cl_args=any, size=any)"),
            ("socket(AF_INET, SOCK_STREAM)", "socket(domain=AF_INET, type=SOCK_STREAM, protocol=any)"),
            (
                "openat(\"/etc/passwd\", O_RDONLY)",
                "openat(dirfd=any, pathname=\"/etc/passwd\", flags=O_RDONLY, mode=any)",
            ),
            (
                "openat(AT_FDCWD, \"a, b\", O_WRONLY|O_CREAT, 0666)",
                "openat(dirfd=AT_FDCWD, pathname=\"a, b\", flags=O_WRONLY|O_CREAT, mode=0o666)",
            ),
            ("kill(-1, sig=9)", "kill(pid=0xffffffff, sig=SIGKILL)"),
            ("connect(93.184.216.34:443)", "connect(sockfd=any, addr=93.184.216.34:443, addrlen=any)"),
            ("connect(_, [::1]:80)", "connect(sockfd=any, addr=[::1]:80, addrlen=any)"),
            (
                "mmap(prot=PROT_EXEC)",
                "mmap(addr=any, length=any, prot=PROT_EXEC, flags=any, fd=any, offset=any)",
            ),
        ] {
            assert_eq!(Call::parse(words).map(|call| call.to_string()), Ok(said.to_owned()), "{words}");
        }
        let number = Table::builtin().named("socket").and_then(|call| call.number(Arch::NATIVE)).unwrap();
        assert_eq!(Call::parse(&format!("{number}(2)")).unwrap().syscall().name, "socket");
    }

    #[test]
    fn what_is_not_known_gets_near_misses() {
        for (words, said) in [
            ("sokcet(AF_INET)", "did you mean socket"),
            ("socket(AF_INTE)", "did you mean AF_INET"),
            ("socket(1, 2, 3, 4)", "has 3 arguments"),
            ("socket(domian=1)", "did you mean domain"),
            ("socket(\"x\")", "is a number"),
            ("socket(1", "is not a call"),
            ("openat(\"x)", "is not a call"),
            ("", "is not a call"),
            ("99999", "no system call"),
        ] {
            let error = Call::parse(words).unwrap_err().to_string();
            assert!(error.contains(said), "{words}: {error}");
        }
    }
}
