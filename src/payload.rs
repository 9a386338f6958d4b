//! What is executed: argv, environment, the descriptor. No PATH is searched and no shell is asked.

use crate::layer::{ApplyError, Sealed};
use crate::sys;
use crate::sys::execveat::CVector;
use serde::Serialize;
use std::ffi::CString;
use std::io;

/// A variable of the payload's environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Why it is there.
    pub reason: String,
}

/// What is executed and with what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The executed file inside the jail, for people: what runs is the descriptor that was checked.
    pub program: String,
    /// The arguments, the first of them the program's name for itself.
    pub argv: Vec<String>,
    /// The environment, without what the skill's own `.skillenv` adds (literals and secrets are never shown).
    pub environment: Vec<Variable>,
    /// The working directory.
    pub cwd: String,
}

/// argv and environment laid out for the kernel.
#[derive(Debug)]
pub struct Prepared {
    argv: CVector,
    envp: Vec<CString>,
}

impl Prepared {
    /// `literals` are the skill's declared values, which the plan does not show.
    pub fn new(plan: &Plan, literals: &[(String, String)]) -> Result<Self, ApplyError> {
        let c = |text: &str| {
            CString::new(text).map_err(|_| ApplyError {
                layer: "payload",
                step: "an argument or variable with a NUL",
                errno: libc::EINVAL,
            })
        };
        let argv = plan.argv.iter().map(|word| c(word)).collect::<Result<Vec<_>, _>>()?;
        let mut envp = Vec::new();
        for variable in &plan.environment {
            envp.push(c(&format!("{}={}", variable.name, variable.value))?);
        }
        for (name, value) in literals {
            envp.push(c(&format!("{name}={value}"))?);
        }
        Ok(Self { argv: CVector::new(argv), envp })
    }

    /// The environment with the secrets, `NAME=VALUE` each, that came by the pipe; called in the payload's process.
    pub fn environment(self, secrets: &[u8]) -> (CVector, CVector) {
        let mut envp = self.envp;
        envp.extend(
            secrets.split(|byte| *byte == 0).filter(|s| !s.is_empty()).filter_map(|s| CString::new(s).ok()),
        );
        (self.argv, CVector::new(envp))
    }
}

/// Executes the checked descriptor. Returns only when that failed.
pub fn exec(_proof: &Sealed, argv: &CVector, envp: &CVector) -> io::Error {
    sys::execveat::exec(argv, envp)
}
