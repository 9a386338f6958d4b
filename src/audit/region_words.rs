//! A set of inputs in the words of the call: which arguments it takes.

use crate::seccomp::bpf::Data;
use crate::seccomp::region::{Region, Word};
use crate::seccomp::syscalls::{Arg, Syscall, Table, Width};
use crate::seccomp::{Arch, decode};
use serde::Serialize;

/// One input, decoded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Witness {
    /// The architecture.
    pub arch: String,
    /// The number.
    pub number: u32,
    /// The six registers.
    pub args: Vec<String>,
    /// The call in words.
    pub call: String,
}

/// The name of a number on an architecture, or the number.
pub fn name(arch: u32, number: u32) -> String {
    let call = Arch::from_audit(arch).and_then(|arch| Table::builtin().numbered(arch, number));
    call.map_or_else(|| format!("number {number:#x}"), |call| call.name.clone())
}

/// An input, decoded.
pub fn witness(data: &Data) -> Witness {
    let arch = Arch::from_audit(data.arch());
    let call = arch.and_then(|arch| Table::builtin().numbered(arch, data.nr()));
    Witness {
        arch: arch.map_or_else(|| format!("{:#x}", data.arch()), |arch| arch.name().to_owned()),
        number: data.nr(),
        args: data.args().iter().map(|arg| format!("{arg:#x}")).collect(),
        call: format!(
            "{}({})",
            name(data.arch(), data.nr()),
            decode::arguments(call, &data.args()).join(", ")
        ),
    }
}

/// What a set asks of the arguments: `domain = AF_INET and type = SOCK_STREAM`, or `any arguments`.
pub fn when(region: &Region, call: Option<&Syscall>) -> String {
    let mut words = Vec::new();
    // Of a socket's option: where the set has one level alone.
    let level = region.word(6).and_then(|word| match word.ranges() {
        [(low, high)] if low == high => Some(u64::from(*low)),
        _ => None,
    });
    for index in 0..6u8 {
        let unknown = Arg { name: format!("argument {index}"), width: Width::W64, pointer: false };
        let arg =
            call.and_then(|call| call.args.as_ref()?.get(usize::from(index)).cloned()).unwrap_or(unknown);
        let arg = Arg { pointer: false, ..arg };
        let name = call.map_or("", |call| call.name.as_str());
        let low = region.word(4 + 2 * index).filter(|word| !is_full(word));
        let high = region.word(5 + 2 * index).filter(|word| arg.width == Width::W64 && !is_full(word));
        match (low, high) {
            (None, None) => {}
            // The usual case: the upper half is 0.
            (Some(low), Some(high)) if high.ranges() == [(0, 0)] => {
                words.extend(half((name, level), &arg, &arg.name, low));
            }
            (Some(low), None) if arg.width == Width::W32 => {
                words.extend(half((name, level), &arg, &arg.name, low));
            }
            (low, high) => {
                let plain = Arg { name: String::new(), ..arg.clone() };
                if let Some(high) = high {
                    words.extend(half(("", None), &plain, &format!("upper half of {}", arg.name), high));
                }
                if let Some(low) = low {
                    words.extend(half((name, level), &arg, &format!("lower half of {}", arg.name), low));
                }
            }
        }
    }
    if words.is_empty() { "any arguments".to_owned() } else { words.join(" and ") }
}

fn is_full(word: &Word) -> bool {
    word.ranges() == [(0, u32::MAX)] && word.masks().next().is_none()
}

fn half((call, level): (&str, Option<u64>), arg: &Arg, name: &str, word: &Word) -> Vec<String> {
    let say = |value: u32| decode::value(call, arg, u64::from(value), level);
    let mut words = Vec::new();
    let ranges = word.ranges();
    if ranges != [(0, u32::MAX)] {
        let single = ranges.iter().all(|(low, high)| low == high);
        let said: Vec<String> = ranges
            .iter()
            .map(|(low, high)| match (low, high) {
                (low, high) if low == high => say(*low),
                (low, &u32::MAX) => format!("{low:#x} and above"),
                (low, high) => format!("{low:#x} to {high:#x}"),
            })
            .collect();
        words.push(match (single, said.as_slice()) {
            (true, [one]) => format!("{name} = {one}"),
            (true, many) => format!("{name} in {{{}}}", many.join(", ")),
            (false, some) => format!("{name} is {}", some.join(" or ")),
        });
    }
    for (mask, value, equal) in word.masks() {
        let sign = if equal { "=" } else { "!=" };
        words.push(format!("{name} & ({}) {sign} {}", say(mask), say(value)));
    }
    words
}
