//! The `runtime` of a skill, and which files go with it.

use super::finding::{Finding, shown};
use super::package::Listing;
use super::rules;

/// The dockerfile of the bring-your-own runtime `cubesandbox`.
pub const CUBESANDBOX: &str = ".cubesandbox.dockerfile";
/// The dockerfile of the bring-your-own runtime `e2b`.
pub const E2B: &str = ".e2b.dockerfile";
/// The environment declarations.
pub const SKILLENV: &str = ".skillenv";

/// The value of the frontmatter's `runtime`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tier {
    /// Text for a model; nothing to run.
    #[default]
    PromptOnly,
    /// Python on `CubeSandbox`'s image; here the pinned Python.
    CubesandboxPython,
    /// Node on `CubeSandbox`'s image.
    CubesandboxNode,
    /// Python on E2B's image; here the pinned Python.
    E2bPython,
    /// Node on E2B's image.
    E2bNode,
    /// An image of the skill's own, for `CubeSandbox`.
    Cubesandbox,
    /// An image of the skill's own, for E2B.
    E2b,
}

impl Tier {
    /// Every value.
    pub const ALL: [Self; 7] = [
        Self::PromptOnly,
        Self::CubesandboxPython,
        Self::CubesandboxNode,
        Self::E2bPython,
        Self::E2bNode,
        Self::Cubesandbox,
        Self::E2b,
    ];

    /// As it stands in a frontmatter.
    pub const fn word(self) -> &'static str {
        match self {
            Self::PromptOnly => "prompt-only",
            Self::CubesandboxPython => "cubesandbox::python",
            Self::CubesandboxNode => "cubesandbox::node",
            Self::E2bPython => "e2b::python",
            Self::E2bNode => "e2b::node",
            Self::Cubesandbox => "cubesandbox",
            Self::E2b => "e2b",
        }
    }

    /// The value of that word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.word() == word)
    }

    /// Whether the pinned Python runs its scripts.
    pub const fn is_python(self) -> bool {
        matches!(self, Self::CubesandboxPython | Self::E2bPython)
    }

    /// Why `run` cannot run it; `None` if it can.
    pub const fn refusal(self) -> Option<&'static str> {
        match self {
            Self::PromptOnly => Some("no scripts to run"),
            Self::CubesandboxPython | Self::E2bPython => None,
            _ => Some("engine unavailable"),
        }
    }

    /// What to do about [`Tier::refusal`].
    pub const fn refusal_hint(self) -> &'static str {
        match self {
            Self::PromptOnly => "a prompt-only skill is read, not run: skilljail read",
            Self::CubesandboxNode | Self::E2bNode => {
                "no node runtime can be pinned yet; runtimes that run here: cubesandbox::python, e2b::python"
            }
            _ => "it brings its own image; runtimes that run here: cubesandbox::python, e2b::python",
        }
    }

    /// The table of dockerfiles and `.skillenv`: each broken row names the rule and the file.
    pub fn check(self, listing: &Listing) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (file, owner) in [(CUBESANDBOX, Self::Cubesandbox), (E2B, Self::E2b)] {
            match (listing.entry(file).is_some(), self == owner) {
                (true, false) => {
                    let what = format!("runtime {} refuses {file}, which was found", self.word());
                    let hint = format!("remove it, or set runtime: {}", owner.word());
                    findings.push(Finding::of(&rules::DOCKERFILE_REFUSED, file, what).hint(hint));
                }
                (false, true) => {
                    let what = format!("runtime {} requires {file}, which was not found", self.word());
                    findings.push(Finding::of(&rules::DOCKERFILE_MISSING, file, what));
                }
                _ => {}
            }
        }
        if self == Self::PromptOnly && listing.entry(SKILLENV).is_some() {
            let what = format!("runtime prompt-only refuses {SKILLENV}, which was found");
            let hint = "remove it, or set the runtime that runs the scripts";
            findings.push(Finding::of(&rules::SKILLENV_REFUSED, SKILLENV, what).hint(hint));
        }
        let own = listing.entries.iter().find(|entry| entry.path == "out" || entry.path.starts_with("out/"));
        if let Some(entry) = own.filter(|_| self.is_python()) {
            let what = format!("{} stands where the jail has its folder for artifacts", shown(&entry.path));
            findings.push(Finding::of(&rules::OUT_TAKEN, &shown(&entry.path), what).hint("rename it"));
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skill::package::Entry;

    #[test]
    fn words_are_read_back() {
        for tier in Tier::ALL {
            assert_eq!(Tier::named(tier.word()), Some(tier));
        }
        assert_eq!(Tier::named("python"), None);
        assert_eq!(Tier::named("Prompt-Only"), None);
    }

    #[test]
    fn the_table_row_by_row() {
        const REFUSED: &str = "dockerfile-refused";
        // For each tier: findings with only .cubesandbox.dockerfile, only .e2b.dockerfile, only .skillenv, none.
        let table: [(Tier, [&[&str]; 4]); 7] = [
            (Tier::PromptOnly, [&[REFUSED], &[REFUSED], &["skillenv-refused"], &[]]),
            (Tier::CubesandboxPython, [&[REFUSED], &[REFUSED], &[], &[]]),
            (Tier::CubesandboxNode, [&[REFUSED], &[REFUSED], &[], &[]]),
            (Tier::E2bPython, [&[REFUSED], &[REFUSED], &[], &[]]),
            (Tier::E2bNode, [&[REFUSED], &[REFUSED], &[], &[]]),
            (
                Tier::Cubesandbox,
                [&[], &["dockerfile-missing", REFUSED], &["dockerfile-missing"], &["dockerfile-missing"]],
            ),
            (
                Tier::E2b,
                [&[REFUSED, "dockerfile-missing"], &[], &["dockerfile-missing"], &["dockerfile-missing"]],
            ),
        ];
        for (tier, row) in table {
            for (file, expected) in [Some(CUBESANDBOX), Some(E2B), Some(SKILLENV), None].into_iter().zip(row)
            {
                let entry = |path: &str| Entry {
                    path: path.into(),
                    size: 0,
                    id: (0, 0),
                    link: false,
                    protected: true,
                };
                let listing =
                    Listing { entries: file.map(entry).into_iter().collect(), ..Listing::default() };
                let found: Vec<&str> = tier.check(&listing).iter().map(|f| f.rule.name).collect();
                assert_eq!(found, expected, "{tier:?} with {file:?}");
            }
        }
    }
}
