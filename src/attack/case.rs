//! An attack as a folder: `tests/attacks/CLASS/NAME/` with `attack.py` and `case.json`, compiled into the binary.

use serde::{Deserialize, Serialize};

/// A folder as the build script saw it.
pub(super) struct Folder {
    pub(super) class: &'static str,
    pub(super) name: &'static str,
    pub(super) case: &'static str,
    pub(super) script: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/battery.rs"));

/// What every attack imports.
pub const KIT: &str = include_str!("../../tests/attacks/kit.py");

/// The fourteen classes, in the order of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names of folders; the chapter of the manual says what each holds")]
pub enum Class {
    Filesystem,
    Mounts,
    Network,
    Process,
    KernelSurface,
    Ipc,
    Information,
    Python,
    Resources,
    Supervisor,
    Package,
    Artifacts,
    Launch,
    CovertChannels,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Filesystem,
        Self::Mounts,
        Self::Network,
        Self::Process,
        Self::KernelSurface,
        Self::Ipc,
        Self::Information,
        Self::Python,
        Self::Resources,
        Self::Supervisor,
        Self::Package,
        Self::Artifacts,
        Self::Launch,
        Self::CovertChannels,
    ];

    /// The folder's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Filesystem => "filesystem",
            Self::Mounts => "mounts",
            Self::Network => "network",
            Self::Process => "process",
            Self::KernelSurface => "kernel-surface",
            Self::Ipc => "ipc",
            Self::Information => "information",
            Self::Python => "python",
            Self::Resources => "resources",
            Self::Supervisor => "supervisor",
            Self::Package => "package",
            Self::Artifacts => "artifacts",
            Self::Launch => "launch",
            Self::CovertChannels => "covert-channels",
        }
    }

    /// The class of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }
}

/// `case.json`. Unknown fields are errors.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// What it tries, in one sentence without a full stop.
    pub tries: String,
    /// Where the idea comes from: an advisory, a CVE, a kernel commit, a manual page.
    pub source: String,
    /// The wall that is expected to stop it alone: a layer of the jail, or `supervisor`.
    pub wall: String,
    /// How it is expected to end. What counts as an escape is never this, but what happened to a canary.
    pub expect: Expect,
    /// The profiles that it applies to; absent: all.
    #[serde(default)]
    pub profiles: Option<Vec<String>>,
    /// Runs the harness's shell line before the jail is started: a hostile caller.
    #[serde(default)]
    pub caller: Option<String>,
    /// `--timeout`.
    #[serde(default)]
    pub timeout: Option<String>,
    /// More files of the package.
    #[serde(default)]
    pub package: Vec<Extra>,
    /// What the control needs.
    #[serde(default)]
    pub control: Control,
    /// The one architecture that has the kernel path.
    #[serde(default)]
    pub architecture: Option<String>,
    /// Runs it twice at the same time, with `CANARY_ROLE` `sender` and `receiver`: a channel between two runs.
    #[serde(default)]
    pub pair: bool,
}

/// How an attack that was contained ends.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Expect {
    /// Every attempt fails with one of these.
    Errno(Vec<String>),
    /// The script is ended by this signal.
    Signal(i32),
    /// The run ends with this status.
    Status(String),
    /// The call answers as if all were well, or there is nothing there to be found.
    Absent,
}

/// What the control needs: the run with the walls down that must reach the canary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// Walls that stay up, because without them the attack would mean something else.
    #[serde(default)]
    pub still: Vec<String>,
    /// A part of the kernel that some hosts lack: where the control is refused with one of these errnos the case is
    /// told as one that this host cannot show.
    #[serde(default)]
    pub lacking: Vec<String>,
    /// Why no run on this host can reach the canary, not even without walls.
    #[serde(default)]
    pub unreachable: Option<String>,
}

/// One more file of a package: exactly one of the kinds.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Extra {
    /// Below the skill's folder.
    pub path: String,
    /// A regular file with this text; `{secret}` stands for the canary's.
    pub text: Option<String>,
    /// A symbolic link; `{outside}` stands for the canary directory.
    pub link: Option<String>,
    /// A second name of this file of the canary directory.
    pub hardlink: Option<String>,
    /// A FIFO that nobody writes.
    pub fifo: bool,
    /// A file of this many bytes that holds nothing.
    pub sparse: Option<u64>,
    /// This many empty files, numbered.
    pub copies: Option<u32>,
    /// A socket.
    pub socket: bool,
}

/// An attack.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its class.
    pub class: Class,
    /// The folder's name.
    pub name: &'static str,
    /// What runs in the jail.
    pub script: &'static str,
    /// What is known about it.
    pub spec: Spec,
}

/// A folder of the battery cannot be used: our own fault, since it is compiled in.
#[derive(Debug, thiserror::Error)]
#[error("tests/attacks/{class}/{name}: {what}")]
pub struct CaseError {
    class: &'static str,
    name: &'static str,
    what: String,
}

impl Case {
    /// `CLASS/NAME`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.class.name(), self.name)
    }

    /// Whether it says something about a profile on this machine.
    pub fn applies(&self, profile: &str) -> bool {
        let here = self.spec.architecture.as_deref().is_none_or(|arch| arch == std::env::consts::ARCH);
        let shipped = ["default", "strict", "tfrobot", "egress", "egress-public"].contains(&profile);
        // A policy of one's own is judged by everything.
        here && (!shipped
            || self.spec.profiles.as_ref().is_none_or(|p| p.iter().any(|p| profile.starts_with(p.as_str()))))
    }
}

/// Every attack, sorted by class and name.
///
/// # Errors
/// A folder whose `case.json` is not one; a test shows that there is none.
pub fn all() -> Result<Vec<Case>, CaseError> {
    let mut cases = FOLDERS.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    cases.sort_by_key(|case| (case.class, case.name));
    Ok(cases)
}

fn parse(folder: &Folder) -> Result<Case, CaseError> {
    let error = |what: String| CaseError { class: folder.class, name: folder.name, what };
    let spec: Spec = serde_json::from_str(folder.case).map_err(|e| error(format!("case.json: {e}")))?;
    let class = Class::named(folder.class).ok_or_else(|| error("no such class".to_owned()))?;
    for (field, text) in [("tries", &spec.tries), ("source", &spec.source), ("wall", &spec.wall)] {
        if text.trim().is_empty() {
            return Err(error(format!("case.json: {field} is empty")));
        }
    }
    for extra in &spec.package {
        let kinds = [
            extra.text.is_some(),
            extra.link.is_some(),
            extra.hardlink.is_some(),
            extra.fifo,
            extra.sparse.is_some(),
            extra.copies.is_some(),
            extra.socket,
        ];
        if kinds.iter().filter(|kind| **kind).count() != 1 || extra.path.is_empty() {
            return Err(error(format!("case.json: package: {:?} is not one thing", extra.path)));
        }
    }
    if spec.expect == Expect::Errno(Vec::new()) {
        return Err(error("case.json: expect: no errno at all".to_owned()));
    }
    Ok(Case { class, name: folder.name, script: folder.script, spec })
}

#[cfg(test)]
mod tests {
    use super::{Class, Expect, Spec, all};
    use std::collections::BTreeSet;

    #[test]
    fn every_folder_is_a_case_and_every_class_has_some() {
        let cases = all().unwrap();
        for class in Class::ALL {
            assert!(cases.iter().filter(|case| case.class == class).count() >= 5, "{class:?}");
        }
        let tries: BTreeSet<_> = cases.iter().map(|case| &case.spec.tries).collect();
        assert_eq!(tries.len(), cases.len(), "two cases try the same");
        let scripts: BTreeSet<_> = cases
            .iter()
            .map(|case| (case.script, case.spec.caller.clone(), format!("{:?}", case.spec.package)))
            .collect();
        assert_eq!(scripts.len(), cases.len(), "two cases do the same");
    }

    #[test]
    fn a_spec_is_strict() {
        let whole = r#"{"tries": "x", "source": "y", "wall": "seccomp", "expect": {"errno": ["EPERM"]}}"#;
        assert_eq!(
            serde_json::from_str::<Spec>(whole).unwrap().expect,
            Expect::Errno(vec!["EPERM".to_owned()])
        );
        for bad in [
            whole.replace("\"wall\"", "\"walls\""),
            whole.replace("tries\": \"x\"", "tries\": \"x\", \"more\": 1"),
            whole.replace("errno", "error"),
        ] {
            assert!(serde_json::from_str::<Spec>(&bad).is_err(), "{bad}");
        }
    }
}
