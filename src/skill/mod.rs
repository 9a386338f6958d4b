//! One skill package: opened once, judged, and handed on as verified bytes. Nothing of it is executed here.

#[cfg(feature = "review")]
pub mod admission;
pub mod body;
#[cfg(feature = "review")]
pub mod check;
pub mod contract;
pub mod digest;
pub mod discover;
pub mod env;
pub mod finding;
pub mod frontmatter;
pub mod input;
pub mod json;
pub mod load;
pub mod manifest;
pub mod package;
pub mod read;
pub mod rules;
pub mod tier;
pub mod yaml;

use contract::{Contract, ScriptContract, XRAY_JSON};
use digest::Digest;
use env::SkillEnv;
use finding::{Finding, nearest, shown};
use frontmatter::{Frontmatter, MAX_SKILL_MD, SKILL_MD};
use nix::errno::Errno;
use package::{Listing, Package, PackageError};
use std::path::Path;
use tier::{SKILLENV, Tier};

/// Why a skill is not run, read or listed. The skill author's fault, unless a variant says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    /// The folder or a file in it cannot be opened or read: the caller's or the operator's fault.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// The directory of skills cannot be searched: the caller's fault.
    #[error(transparent)]
    Discover(#[from] discover::DiscoverError),
    /// There is no such skill: the caller's fault.
    #[error("no skill {name} in {directory}\nhint: {hint}")]
    NotFound {
        /// What was asked for.
        name: String,
        /// Where.
        directory: String,
        /// A near miss, or what there is.
        hint: String,
    },
    /// A name, and no directory to look for it: the caller's fault.
    #[error(
        "skill {name}: no directory is named to look for it in\nhint: --skills DIR names the one that holds it; a path has a `/`, such as ./{name}"
    )]
    Nowhere {
        /// What was asked for.
        name: String,
    },
    /// The word is neither a path nor a name: the caller's fault.
    #[error("{word} is no skill's name: {what}\nhint: a path has a `/` in it, such as ./{word}")]
    BadName {
        /// What was given.
        word: String,
        /// Why it is no name.
        what: &'static str,
    },
    /// The package breaks rules.
    #[error("skill {name} is refused: {}\nhint: skilljail check {path}", listed(findings))]
    Rejected {
        /// The folder's name.
        name: String,
        /// Where it is.
        path: String,
        /// Those findings that refuse it; never empty.
        findings: Vec<Finding>,
    },
    /// Nothing here can run it.
    #[error("skill {name} has runtime {}: {reason}\nhint: {}", tier.word(), tier.refusal_hint())]
    NotRunnable {
        /// The skill.
        name: String,
        /// Its runtime.
        tier: Tier,
        /// `no scripts to run` or `engine unavailable`.
        reason: &'static str,
    },
    /// There is no `xray.json`, and the policy wants one.
    #[error(
        "skill {0} has no xray.json, and the policy requires a contract\nhint: write one, or use a policy with contract: optional"
    )]
    NoContract(String),
    /// There is no such script: the caller's fault.
    #[error("skill {name} has no script {script}\nhint: {hint}")]
    NoScript {
        /// The skill.
        name: String,
        /// What was asked for.
        script: String,
        /// A near miss, and the scripts there are.
        hint: String,
    },
    /// A file changed while the skill was being read.
    #[error(
        "skill {name}: {path} changed while it was being read\nhint: run again when nobody writes to the skill"
    )]
    Changed {
        /// The skill.
        name: String,
        /// The file.
        path: String,
    },
}

/// The first findings in one line each.
fn listed(findings: &[Finding]) -> String {
    let mut text: Vec<String> =
        findings.iter().take(3).map(|f| format!("{}: {} [{}]", f.place(), f.what, f.rule.id)).collect();
    if findings.len() > 3 {
        text.push(format!("and {} more", findings.len() - 3));
    }
    text.join("; ")
}

/// An open skill.
#[derive(Debug)]
pub struct Skill {
    package: Package,
    listing: Listing,
    front: Frontmatter,
    contract: Option<Contract>,
    env: SkillEnv,
    /// What was parsed: [`Skill::load`] insists on the same bytes.
    parsed: Vec<(&'static str, Digest)>,
    findings: Vec<Finding>,
}

/// A script that may be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Script<'a> {
    /// Its path below the skill, such as `scripts/count.py`.
    pub path: &'a str,
    /// What it promises to take; `None` without a contract.
    pub contract: Option<&'a ScriptContract>,
}

impl Skill {
    /// Opens a skill that is to be run: one that breaks no rule of the standard or of the runtime.
    ///
    /// # Errors
    ///
    /// [`SkillError::Package`] if it cannot be opened, [`SkillError::Rejected`] if it breaks rules.
    pub fn open(path: &Path) -> Result<Self, SkillError> {
        let skill = Self::examine(path)?;
        let findings: Vec<Finding> = skill.findings.iter().filter(|f| f.refuses_run()).cloned().collect();
        if findings.is_empty() {
            return Ok(skill);
        }
        Err(SkillError::Rejected {
            name: skill.folder().to_owned(),
            path: shown(&path.to_string_lossy()),
            findings,
        })
    }

    /// Opens a skill whatever is wrong with it; [`Skill::findings`] tells.
    ///
    /// # Errors
    ///
    /// The folder itself cannot be opened.
    pub fn examine(path: &Path) -> Result<Self, SkillError> {
        let package = Package::open(path)?;
        let mut listing = package.list();
        let mut skill = Self {
            findings: std::mem::take(&mut listing.findings),
            listing,
            package,
            front: Frontmatter::default(),
            contract: None,
            env: SkillEnv::default(),
            parsed: Vec::new(),
        };
        skill.read_front();
        skill.findings.extend(skill.front.tier.check(&skill.listing));
        skill.read_contract();
        skill.read_env();
        Ok(skill)
    }

    /// A file that is parsed; its digest is kept.
    fn take(&mut self, path: &'static str, max: u64) -> Option<Vec<u8>> {
        match self.package.read(path, max) {
            Ok(Some(bytes)) => {
                self.parsed.push((path, Digest::of(&bytes)));
                Some(bytes)
            }
            Ok(None) => None,
            Err(error) => {
                let (rule, what) = match error.errno {
                    Errno::EFBIG if path == SKILL_MD => (&rules::TOO_BIG, format!("more than {max} bytes")),
                    Errno::EFBIG => (&rules::PACKAGE_BIG, format!("more than {max} bytes")),
                    _ => (&rules::UNREADABLE, error.to_string()),
                };
                self.findings.push(Finding::of(rule, path, what));
                None
            }
        }
    }

    fn read_front(&mut self) {
        let Some(bytes) = self.take(SKILL_MD, MAX_SKILL_MD) else {
            let other = self.listing.entries.iter().find(|entry| entry.path.eq_ignore_ascii_case(SKILL_MD));
            let finding = match other.map(|entry| entry.path.clone()) {
                Some(path) if path != SKILL_MD => {
                    let hint = format!("mv {path} {SKILL_MD}");
                    Finding::of(&rules::SKILL_MD_CASE, &path, format!("{path} where {SKILL_MD} belongs"))
                        .hint(hint)
                }
                Some(_) => return,
                None => Finding::of(&rules::SKILL_MD_MISSING, SKILL_MD, "there is no SKILL.md"),
            };
            self.findings.push(finding);
            return;
        };
        let (front, findings) = frontmatter::parse(&bytes);
        self.findings.extend(findings);
        if let Some(name) = &front.name
            && self.package.folder() != Some(name)
        {
            let what = format!("the name is {name}, the folder is {}", shown(self.folder()));
            let hint = format!("rename the folder to {name}, or the skill");
            self.findings
                .push(Finding::of(&rules::NAME_FOLDER, SKILL_MD, what).at(front.name_line, 0).hint(hint));
        }
        self.findings.extend(body::check(&front.body, front.body_line, front.tier));
        self.front = front;
    }

    fn read_contract(&mut self) {
        match self.take(XRAY_JSON, contract::MAX_BYTES) {
            Some(bytes) => {
                let (contract, findings) = contract::parse(&bytes);
                self.findings.extend(findings);
                if let Some(contract) = &contract {
                    self.findings.extend(contract.check(self.front.tier, &self.listing));
                }
                self.contract = contract;
            }
            None if self.front.tier.is_python() && self.listing.entry(XRAY_JSON).is_none() => {
                let hint = "write one; only a policy with contract: optional runs the scripts without it";
                let what = "a runnable skill without xray.json";
                self.findings.push(Finding::of(&rules::CONTRACT_MISSING, XRAY_JSON, what).hint(hint));
            }
            None => {}
        }
    }

    fn read_env(&mut self) {
        if let Some(bytes) = self.take(SKILLENV, u64::try_from(env::MAX_BYTES).unwrap_or(u64::MAX)) {
            let (env, findings) = env::parse(&bytes);
            self.findings.extend(findings);
            self.env = env;
        }
    }

    /// The skill's name: the frontmatter's, or the folder's if that is broken.
    pub fn name(&self) -> &str {
        self.front.name.as_deref().unwrap_or_else(|| self.folder())
    }

    /// The folder's name.
    pub fn folder(&self) -> &str {
        self.package.folder().unwrap_or("?")
    }

    /// Where SKILL.md is, as `list` prints it: absolute, without symlinks.
    pub fn location(&self) -> std::path::PathBuf {
        self.package.location().join(SKILL_MD)
    }

    /// Its runtime.
    pub fn tier(&self) -> Tier {
        self.front.tier
    }

    /// What SKILL.md says.
    pub fn front(&self) -> &Frontmatter {
        &self.front
    }

    /// What `xray.json` promises, if there is one.
    pub fn contract(&self) -> Option<&Contract> {
        self.contract.as_ref()
    }

    /// The contract, for a policy that requires one.
    ///
    /// # Errors
    ///
    /// [`SkillError::NoContract`].
    pub fn require_contract(&self) -> Result<&Contract, SkillError> {
        self.contract.as_ref().ok_or_else(|| SkillError::NoContract(self.name().to_owned()))
    }

    /// What `.skillenv` declares.
    pub fn env(&self) -> &SkillEnv {
        &self.env
    }

    /// What is wrong with it, in the order of finding.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Its files.
    pub fn listing(&self) -> &Listing {
        &self.listing
    }

    /// The open folder.
    pub fn package(&self) -> &Package {
        &self.package
    }

    /// The script of that key: one of the contract's, or without a contract any `*.py` below `scripts/`.
    ///
    /// # Errors
    ///
    /// [`SkillError::NotRunnable`] if nothing here runs the skill's scripts, [`SkillError::NoScript`] with the scripts there are.
    pub fn script(&self, key: &str) -> Result<Script<'_>, SkillError> {
        if let Some(reason) = self.tier().refusal() {
            return Err(SkillError::NotRunnable { name: self.name().to_owned(), tier: self.tier(), reason });
        }
        let contract = self.contract.as_ref().and_then(|contract| contract.script(key));
        let entry =
            self.listing.entry(&format!("scripts/{key}")).filter(|_| self.runnable_keys().contains(&key));
        entry.map(|entry| Script { path: &entry.path, contract }).ok_or_else(|| self.no_script(key))
    }

    /// The keys that [`Skill::script`] takes.
    pub fn runnable_keys(&self) -> Vec<&str> {
        if let Some(contract) = &self.contract {
            contract.scripts.iter().map(|script| script.key.as_str()).collect()
        } else {
            let files = self.listing.entries.iter().filter(|entry| !load::left_out(entry));
            files
                .filter_map(|e| e.path.strip_prefix("scripts/"))
                .filter(|key| contract::has_extension(key, "py"))
                .collect()
        }
    }

    fn no_script(&self, key: &str) -> SkillError {
        let keys = self.runnable_keys();
        let near = nearest(key, keys.iter().copied()).map(|near| format!("is {} meant? ", shown(near)));
        let there = match keys.len() {
            0 => "it has no scripts".to_owned(),
            _ => format!(
                "scripts: {}",
                keys.iter().take(20).map(|key| shown(key)).collect::<Vec<_>>().join(", ")
            ),
        };
        SkillError::NoScript {
            name: self.name().to_owned(),
            script: shown(key),
            hint: near.unwrap_or_default() + &there,
        }
    }
}

/// The folder that SKILL means: itself if it has a `/`, else the first skill of that name below `skills`.
///
/// # Errors
///
/// The caller's fault: [`SkillError::BadName`], [`SkillError::NotFound`], or `skills` cannot be searched.
pub fn find(skills: Option<&Path>, skill: &str) -> Result<std::path::PathBuf, SkillError> {
    if skill.contains('/') {
        return Ok(skill.into());
    }
    let word = || shown(skill);
    if let Some(what) = frontmatter::name_fault(skill) {
        return Err(SkillError::BadName { word: word(), what });
    }
    let Some(skills) = skills else {
        return Err(SkillError::Nowhere { name: word() });
    };
    // The order of `skills_below` makes a real folder of that name on the first level the first one found.
    let direct = skills.join(skill);
    let is_skill =
        |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) && path.join(SKILL_MD).exists();
    if is_skill(&direct) && !is_skill(skills) {
        return Ok(direct);
    }
    let all = discover::skills_below(skills)?;
    let name_of =
        |path: &std::path::PathBuf| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    if let Some(path) = all.iter().find(|path| name_of(path).as_deref() == Some(skill)) {
        return Ok(path.clone());
    }
    let names: Vec<String> = all.iter().filter_map(name_of).collect();
    let near =
        nearest(skill, names.iter().map(String::as_str)).map(|near| format!("is {} meant? ", shown(near)));
    let there = match names.len() {
        0 => "there are no skills in it".to_owned(),
        _ => format!(
            "skills: {}",
            names.iter().take(20).map(|name| shown(name)).collect::<Vec<_>>().join(", ")
        ),
    };
    let hint = near.unwrap_or_default() + &there;
    Err(SkillError::NotFound { name: word(), directory: shown(&skills.to_string_lossy()), hint })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const CONTRACT: &str = r#"{"scripts":{"a.py":{"description":"d","parameters":{"type":"object"}}}}"#;

    fn skill(dir: &Path, runtime: &str, files: &[(&str, &str)]) -> std::path::PathBuf {
        let root = dir.join("x-y");
        fs::create_dir_all(root.join("scripts")).unwrap();
        fs::write(
            root.join("SKILL.md"),
            format!("---\nname: x-y\ndescription: d\nruntime: {runtime}\n---\nB\n"),
        )
        .unwrap();
        for (path, text) in files {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
        root
    }

    #[test]
    fn what_goes_into_the_jail() {
        let dir = tempfile::tempdir().unwrap();
        let files = [
            ("xray.json", CONTRACT),
            ("scripts/a.py", "1"),
            (".skillenv", "A=1\nB=\n"),
            ("scripts/__pycache__/a.pyc", "x"),
            ("notes/old.dockerfile", "x"),
        ];
        let root = skill(dir.path(), "cubesandbox::python", &files);
        let skill = Skill::open(&root).unwrap();
        assert_eq!((skill.name(), skill.tier()), ("x-y", Tier::CubesandboxPython));
        assert_eq!(skill.env().secrets, ["B"]);
        assert_eq!(skill.script("a.py").unwrap().path, "scripts/a.py");
        let loaded = skill.load().unwrap();
        let paths: Vec<&str> = loaded.files.iter().map(|f| f.path.as_str()).collect();
        assert_eq!(paths, ["SKILL.md", "scripts/a.py", "xray.json"]);
        let left: Vec<&str> = loaded.left_out.iter().map(|f| f.path.as_str()).collect();
        assert_eq!(left, [".skillenv", "notes/old.dockerfile", "scripts/__pycache__/a.pyc"]);
        let before = loaded.digest();
        fs::write(root.join("scripts/a.py"), "2").unwrap();
        assert_ne!(Skill::open(&root).unwrap().load().unwrap().digest(), before);
    }

    #[test]
    fn what_was_judged_is_what_is_loaded() {
        let dir = tempfile::tempdir().unwrap();
        let root = skill(dir.path(), "e2b::python", &[("xray.json", CONTRACT), ("scripts/a.py", "1")]);
        let skill = Skill::open(&root).unwrap();
        // In place and of the same size: device, inode and size are what they were.
        fs::write(root.join("xray.json"), CONTRACT.replace("\"d\"", "\"e\"")).unwrap();
        assert!(matches!(skill.load(), Err(SkillError::Changed { path, .. }) if path == "xray.json"));
    }

    #[test]
    fn scripts_and_their_refusals() {
        let dir = tempfile::tempdir().unwrap();
        let files = [("xray.json", CONTRACT), ("scripts/a.py", "1"), ("scripts/b.py", "1")];
        let root = skill(dir.path(), "cubesandbox::python", &files);
        let text = Skill::open(&root).unwrap().script("b.py").unwrap_err().to_string();
        assert!(text.contains("no script b.py") && text.contains("scripts: a.py"), "{text}");
        fs::remove_file(root.join("xray.json")).unwrap();
        let without = Skill::open(&root).unwrap();
        assert!(without.script("b.py").unwrap().contract.is_none());
        assert!(without.script("../SKILL.md").is_err());
        assert!(matches!(without.require_contract(), Err(SkillError::NoContract(_))));
        for (runtime, reason) in [("prompt-only", "no scripts to run"), ("e2b::node", "engine unavailable")] {
            skill(dir.path(), runtime, &[]);
            let text = Skill::open(&root).unwrap().script("a.py").unwrap_err().to_string();
            assert!(text.contains(reason), "{text}");
        }
        skill(dir.path(), "cubesandbox", &[]);
        let text = Skill::open(&root).unwrap_err().to_string();
        assert!(text.contains(".cubesandbox.dockerfile") && text.contains("SJ-K051"), "{text}");
    }

    #[test]
    fn a_word_is_a_path_or_a_name() {
        let dir = tempfile::tempdir().unwrap();
        let root = skill(dir.path(), "prompt-only", &[]);
        assert_eq!(find(None, "./a").unwrap(), Path::new("./a"));
        assert_eq!(find(Some(dir.path()), "x-y").unwrap(), root);
        assert!(find(Some(dir.path()), "xy").unwrap_err().to_string().contains("is x-y meant?"));
        assert!(matches!(find(Some(dir.path()), ".."), Err(SkillError::BadName { .. })));
        assert!(matches!(find(None, "x-y"), Err(SkillError::Nowhere { .. })));
        fs::create_dir(dir.path().join("deep")).unwrap();
        fs::rename(&root, dir.path().join("deep/x-y")).unwrap();
        let found = find(Some(dir.path()), "x-y").unwrap();
        assert!(found.ends_with("deep/x-y"));
        Skill::open(&found).unwrap();
    }
}
