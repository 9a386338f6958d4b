//! Every exit code of the program, in one place.
//!
//! The codes from 120 on are part of the contract with callers; a script may exit with one of these numbers
//! itself, so the result document, not the code, is the truth.

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: done; for `run`, the script exited 0.
    Success,
    /// The script's own exit code, passed on.
    Script(u8),
    /// 128+s: the script was ended by signal s, which the jail did not send.
    Signal(u8),
    /// 1: findings, drift or differences were reported; the command itself worked.
    Findings,
    /// 2: the command line cannot be understood (also clap's own code).
    Usage,
    /// 3: the command could not do its work: a file that cannot be read, a build that failed.
    Failed,
    /// 4: `read` refused a path.
    ReadRefused,
    /// 10: `policy diff` found the new policy wider.
    Wider,
    /// 120
    InputRejected,
    /// 121: package, contract, manifest drift, admission.
    SkillRejected,
    /// 122
    PolicyRejected,
    /// 123
    OutputLimit,
    /// 124: wall or cpu time.
    Timeout,
    /// 125: nothing of the script ran.
    SetupFailed,
    /// 126: the filter's kill action, or too many denied attempts.
    KilledByPolicy,
    /// 127: memory, disk or process limit.
    ResourceLimit,
    /// 130: the supervisor got SIGINT.
    Interrupted,
    /// 143: the supervisor got SIGTERM.
    Terminated,
}

impl Exit {
    /// The number that the operating system sees.
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Script(code) => code,
            Self::Signal(signal) => 128u8.wrapping_add(signal),
            Self::Findings => 1,
            Self::Usage => 2,
            Self::Failed => 3,
            Self::ReadRefused => 4,
            Self::Wider => 10,
            Self::InputRejected => 120,
            Self::SkillRejected => 121,
            Self::PolicyRejected => 122,
            Self::OutputLimit => 123,
            Self::Timeout => 124,
            Self::SetupFailed => 125,
            Self::KilledByPolicy => 126,
            Self::ResourceLimit => 127,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn codes_are_the_documented_ones() {
        let table = [
            (Exit::Success, 0),
            (Exit::Script(7), 7),
            (Exit::Signal(9), 137),
            (Exit::Findings, 1),
            (Exit::Usage, 2),
            (Exit::Failed, 3),
            (Exit::ReadRefused, 4),
            (Exit::Wider, 10),
            (Exit::InputRejected, 120),
            (Exit::SkillRejected, 121),
            (Exit::PolicyRejected, 122),
            (Exit::OutputLimit, 123),
            (Exit::Timeout, 124),
            (Exit::SetupFailed, 125),
            (Exit::KilledByPolicy, 126),
            (Exit::ResourceLimit, 127),
            (Exit::Interrupted, 130),
            (Exit::Terminated, 143),
        ];
        for (exit, code) in table {
            assert_eq!(exit.code(), code, "{exit:?}");
        }
    }
}
