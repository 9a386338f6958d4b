//! A program of system calls as text: one call a line, so that a finding can be read and cut.

use crate::sys::raw_call::Entry;
use std::fmt;

/// An argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arg {
    /// A number.
    Word(u64),
    /// The address of an offset into the pages that hold paths, addresses and structures.
    Data(u64),
    /// The address of an offset into pages that may be unmapped and protected.
    Scratch(u64),
    /// One of the descriptors that the interpreter opened or calls gave, by a number that wraps around.
    Fd(u64),
    /// The process's own number.
    Own,
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// By which entry.
    pub entry: Entry,
    /// Its number.
    pub nr: u32,
    /// Its arguments.
    pub args: [Arg; 6],
}

/// A program: what each thread does, and the one call at the end that ends the process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    /// The threads.
    pub threads: Vec<Vec<Call>>,
    /// Calls by an entry that is always killed.
    pub last: Vec<Call>,
    /// What the pages hold: offset and bytes.
    pub data: Vec<(usize, Vec<u8>)>,
}

/// A line of a program's text is none: the fuzzer's own fault.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("no line of a program: {0:?}")]
pub struct NoLine(String);

impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(n) => write!(f, "{n:x}"),
            Self::Data(n) => write!(f, "@{n:x}"),
            Self::Scratch(n) => write!(f, "s{n:x}"),
            Self::Fd(n) => write!(f, "#{n:x}"),
            Self::Own => f.write_str("p"),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = match self.entry {
            Entry::Native => 'n',
            Entry::X32 => 'x',
            Entry::Int80 => 'i',
        };
        write!(f, "{entry}{:x}", self.nr)?;
        self.args.iter().try_for_each(|arg| write!(f, " {arg}"))
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (offset, bytes) in &self.data {
            writeln!(f, "= {offset:x} {}", crate::digest::hex(bytes))?;
        }
        for thread in &self.threads {
            writeln!(f, "-")?;
            thread.iter().try_for_each(|call| writeln!(f, "{call}"))?;
        }
        if !self.last.is_empty() {
            writeln!(f, "!")?;
            self.last.iter().try_for_each(|call| writeln!(f, "{call}"))?;
        }
        Ok(())
    }
}

fn arg(word: &str) -> Option<Arg> {
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    match word.split_at_checked(1)? {
        ("p", "") => Some(Arg::Own),
        ("s", rest) => number(rest).map(Arg::Scratch),
        ("@", rest) => number(rest).map(Arg::Data),
        ("#", rest) => number(rest).map(Arg::Fd),
        _ => number(word).map(Arg::Word),
    }
}

fn call(line: &str) -> Option<Call> {
    let mut words = line.split(' ');
    let (entry, nr) = words.next()?.split_at_checked(1)?;
    let entry = match entry {
        "n" => Entry::Native,
        "x" => Entry::X32,
        "i" => Entry::Int80,
        _ => return None,
    };
    let args: Vec<Arg> = words.map(arg).collect::<Option<_>>()?;
    Some(Call { entry, nr: u32::from_str_radix(nr, 16).ok()?, args: args.try_into().ok()? })
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

impl std::str::FromStr for Program {
    type Err = NoLine;

    fn from_str(text: &str) -> Result<Self, NoLine> {
        let mut program = Self::default();
        let mut ending = false;
        for line in text.lines() {
            let none = || NoLine(line.to_owned());
            if let Some(rest) = line.strip_prefix("= ") {
                let (offset, hex) = rest.split_once(' ').ok_or_else(none)?;
                let offset = usize::from_str_radix(offset, 16).map_err(|_| none())?;
                program.data.push((offset, bytes(hex).ok_or_else(none)?));
            } else if line == "-" {
                program.threads.push(Vec::new());
            } else if line == "!" {
                ending = true;
            } else if ending {
                program.last.push(call(line).ok_or_else(none)?);
            } else {
                let thread = program.threads.last_mut().ok_or_else(none)?;
                thread.push(call(line).ok_or_else(none)?);
            }
        }
        Ok(program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::grammar::{Targets, program};

    #[test]
    fn text_and_back_is_the_same_program() {
        for batch in 0..4 {
            let one = program(7, batch, &Targets::default());
            assert_eq!(one.to_string().parse::<Program>().unwrap(), one);
        }
    }

    #[test]
    fn a_line_that_is_none_is_refused() {
        for bad in ["n0 0 0 0 0 0 0", "-\nn0 0", "-\nq0 0 0 0 0 0 0", "-\nn0 0 0 0 0 0 z", "= x 00", "= 0 0g"]
        {
            assert!(bad.parse::<Program>().is_err(), "{bad:?}");
        }
    }
}
