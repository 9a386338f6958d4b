//! What is made on the host for one attack: the canary directory, the skill's folder, a place for artifacts.

use super::case::{Case, Extra, KIT};
use super::outside::{Outside, token};
use crate::seccomp::Arch;
use crate::seccomp::syscalls::Table;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// The name of every skill of the battery.
const NAME: &str = "attack";
/// Its one script.
pub const SCRIPT: &str = "attack.py";

/// The stage of one attack; gone when it is dropped.
#[derive(Debug)]
pub struct Stage {
    dir: tempfile::TempDir,
    /// The canary directory.
    pub outside: Outside,
    /// What a script prints that reached what it must not.
    pub proof: String,
}

/// What a skill says of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// It needs none.
    None,
    /// It wants what the policy lets out.
    Egress,
}

impl Network {
    /// What a skill must say to get the most that a policy gives.
    pub fn most(policy: &crate::policy::Policy) -> Self {
        if policy.file().egress.is_some() { Self::Egress } else { Self::None }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Egress => "egress",
        }
    }
}

/// What scripts are told: names and values.
pub type Variables = Vec<(String, String)>;

impl Stage {
    /// Makes the directories. Others may enter them: the jail's outer user is another one where we are root.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new() -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix(&super::residue::mark()).tempdir()?;
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755))?;
        let outside = Outside::set_out(&dir.path().join("outside"))?;
        fs::create_dir(dir.path().join("out"))?;
        fs::create_dir(dir.path().join("tmp"))?;
        Ok(Self { dir, outside, proof: token()? })
    }

    /// Where artifacts are collected.
    pub fn out(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    /// Where the runs put temporary files.
    pub fn temporary(&self) -> PathBuf {
        self.dir.path().join("tmp")
    }

    /// A file of the harness's own.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The folder of the skill for a role.
    pub fn package(&self, role: &str) -> PathBuf {
        self.dir.path().join(role).join(NAME)
    }

    /// Writes the skill of an attack. `canary` is where its script would find the canary directory.
    ///
    /// # Errors
    /// The kernel's.
    pub fn write(
        &self,
        case: &Case,
        role: &str,
        canary: &Path,
        variables: &Variables,
        network: Network,
    ) -> io::Result<PathBuf> {
        let folder = self.package(role);
        let mut all = variables.clone();
        all.push(("CANARY_DIR".to_owned(), canary.display().to_string()));
        // For what others follow on the host: a link in an artifact, say.
        all.push(("CANARY_HOSTDIR".to_owned(), self.outside.dir().display().to_string()));
        all.push(("CANARY_PROOF".to_owned(), self.proof.clone()));
        all.push(("CANARY_ROLE".to_owned(), role.to_owned()));
        write_skill(&folder, case.script, &all, network)?;
        for extra in &case.spec.package {
            self.extra(&folder, extra)?;
        }
        Ok(folder)
    }

    fn extra(&self, folder: &Path, extra: &Extra) -> io::Result<()> {
        let path = folder.join(&extra.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        // What the case replaces of the skill that was written.
        if path.symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
            fs::remove_file(&path)?;
        }
        if let Some(text) = &extra.text {
            fs::write(&path, text.replace("{secret}", self.outside.secret()))?;
        }
        if let Some(target) = &extra.link {
            symlink(target.replace("{outside}", &self.outside.dir().display().to_string()), &path)?;
        }
        if let Some(name) = &extra.hardlink {
            fs::hard_link(self.outside.dir().join(name), &path)?;
        }
        if extra.fifo {
            nix::unistd::mkfifo(&path, nix::sys::stat::Mode::from_bits_truncate(0o644))?;
        }
        if let Some(bytes) = extra.sparse {
            fs::File::create(&path)?.set_len(bytes)?;
        }
        for copy in 0..extra.copies.unwrap_or(0) {
            fs::write(folder.join(format!("{}{copy}", extra.path)), "")?;
        }
        if extra.socket {
            drop(UnixListener::bind(&path)?);
        }
        Ok(())
    }
}

/// Writes a skill with one script, and beside it what every attack imports.
///
/// # Errors
/// The kernel's.
pub fn write_skill(folder: &Path, script: &str, variables: &Variables, network: Network) -> io::Result<()> {
    fs::create_dir_all(folder.join("scripts"))?;
    let write = |path: &str, text: &str| fs::write(folder.join(path), text);
    write(
        "SKILL.md",
        "---\nname: attack\ndescription: One attack of the battery.\nruntime: cubesandbox::python\n---\nAn attack.\n",
    )?;
    let contract = r#"{"network": "NETWORK", "scripts": {"attack.py": {"description": "Attacks.", "parameters": {"type": "object", "properties": {}}}}}"#;
    write("xray.json", &contract.replace("NETWORK", network.word()))?;
    write("scripts/attack.py", script)?;
    write("scripts/kit.py", KIT)?;
    write("scripts/numbers_of_calls.py", &numbers())?;
    let mut lines = String::new();
    for (name, value) in variables {
        let _ = writeln!(lines, "{name}={value}");
    }
    write(".skillenv", &lines)
}

/// The numbers of system calls here, for Python.
fn numbers() -> String {
    let arch = Arch::ALL.into_iter().find(|arch| arch.name() == std::env::consts::ARCH);
    let mut text = String::from("NUMBERS = {\n");
    for call in Table::builtin().calls() {
        if let Some(number) = arch.and_then(|arch| call.number(arch)) {
            let _ = writeln!(text, "    \"{}\": {number},", call.name);
        }
    }
    text.push_str("}\n");
    text
}
