//! Every rule of a skill package: its stable id, how much breaking it costs, and why it is there.
//!
//! Ids are never reused. The long texts that `check --explain` prints stand in `rules.md`, beside this file.

/// What breaking a rule costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cost {
    /// The package is no Agent Skill: not valid for the open standard, and not runnable here.
    Standard,
    /// A valid skill, but `run` refuses it.
    Runnable,
    /// `run` refuses it unless the policy says `contract: optional`.
    Contract,
    /// The review of the scripts found what the policy of the review refuses. `run` does not look: the jail holds by itself.
    Admission,
    /// Told, never enforced.
    Advice,
}

/// One rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// `SJ-K` and three digits.
    pub id: &'static str,
    /// A short name, for SARIF and for people.
    pub name: &'static str,
    /// What breaking it costs.
    pub cost: Cost,
    /// Why the rule is there, in one sentence.
    pub why: &'static str,
}

impl Rule {
    /// `error` or `warning`: all costs but [`Cost::Advice`] are errors.
    pub const fn severity(&self) -> Severity {
        match self.cost {
            Cost::Advice => Severity::Warning,
            _ => Severity::Error,
        }
    }

    /// The rule of that id, in any letter case.
    pub fn named(id: &str) -> Option<&'static Self> {
        ALL.iter().copied().find(|rule| rule.id.eq_ignore_ascii_case(id))
    }
}

/// How loud a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Fails `check`.
    Error,
    /// Fails `check` with `--deny warnings` only.
    Warning,
}

impl Severity {
    /// `error` or `warning`, as SARIF spells them too.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

macro_rules! rules {
    ($($constant:ident = $id:literal $name:literal $cost:ident: $why:literal;)*) => {
        $(#[doc = concat!("`", $id, "` ", $name, ": ", $why)]
        pub static $constant: Rule = Rule { id: $id, name: $name, cost: Cost::$cost, why: $why };)*
        /// Every rule, by id.
        pub static ALL: &[&Rule] = &[$(&$constant),*];
    };
}

rules! {
    SKILL_MD_MISSING = "SJ-K001" "skill-md-missing" Standard: "a skill is a folder with a SKILL.md";
    SKILL_MD_CASE = "SJ-K002" "skill-md-case" Standard: "the standard spells it SKILL.md, and file systems tell letters apart";
    SKILL_MD_UTF8 = "SJ-K003" "skill-md-utf8" Standard: "a model reads SKILL.md as UTF-8 text";
    SKILL_MD_BOM = "SJ-K004" "skill-md-bom" Standard: "with a byte order mark the first line is not `---`, and other readers find no frontmatter";
    SKILL_MD_CRLF = "SJ-K005" "skill-md-crlf" Advice: "some readers do not take `---` with a carriage return for a fence";
    FENCE_MISSING = "SJ-K006" "fence-missing" Standard: "the frontmatter begins with `---` on the first line";
    FENCE_OPEN = "SJ-K007" "fence-open" Standard: "the frontmatter ends with `---` on a line of its own";
    TOO_BIG = "SJ-K008" "skill-md-too-big" Standard: "what is parsed for every model is bounded before it is parsed";
    YAML_SYNTAX = "SJ-K009" "yaml-syntax" Standard: "the frontmatter is YAML";
    YAML_FEATURE = "SJ-K010" "yaml-feature" Standard: "anchors, aliases, tags and directives hide what a reviewer sees, and readers differ on them";
    YAML_DUPLICATE = "SJ-K011" "yaml-duplicate" Standard: "of two values for one key, readers take different ones";
    FIELD_NOT_TEXT = "SJ-K012" "field-not-text" Standard: "a YAML reader turns a bare word such as on, 1.0 or 2024-01-01 into something that is not text";
    NAME_MISSING = "SJ-K013" "name-missing" Standard: "a skill is called by its name";
    NAME_FORM = "SJ-K014" "name-form" Standard: "names are 1-64 characters of a-z, 0-9 and single inner hyphens";
    NAME_FOLDER = "SJ-K015" "name-folder" Standard: "the name is the folder's name, so that one leads to the other";
    DESCRIPTION_MISSING = "SJ-K016" "description-missing" Standard: "a model picks a skill by its description";
    DESCRIPTION_LONG = "SJ-K017" "description-long" Standard: "descriptions of all skills stand in every prompt: at most 1,024 characters";
    COMPATIBILITY_LONG = "SJ-K018" "compatibility-long" Standard: "compatibility has at most 500 characters";
    METADATA_FORM = "SJ-K019" "metadata-form" Standard: "metadata is a mapping";
    TOOLS_FORM = "SJ-K020" "allowed-tools-form" Standard: "allowed-tools is text or a list of texts";
    FIELD_UNKNOWN = "SJ-K021" "field-unknown" Advice: "it is another client's extension: carried along, never interpreted here";
    METADATA_TURNED = "SJ-K022" "metadata-turned" Advice: "metadata maps texts to texts; a YAML reader turns this value into something else";
    RUNTIME_UNKNOWN = "SJ-K023" "runtime-unknown" Runnable: "the runtime decides what may be run, so a guess is not possible";
    SKILL_MD_CONTROL = "SJ-K024" "skill-md-control" Standard: "control characters in a frontmatter are invisible to a reviewer and can drive a terminal";
    PLACEHOLDER_UNKNOWN = "SJ-K025" "placeholder-unknown" Runnable: "a $TFROBOT_ name that nobody fills in would reach the model as it is";
    LEANS_ON_FILES = "SJ-K026" "leans-on-files" Advice: "a caller without a read tool cannot follow: what a runnable skill needs belongs into SKILL.md";
    LINK_LEAVES = "SJ-K030" "link-leaves" Runnable: "a symlink that leaves the skill reads whatever the host has there";
    LINK_FOLDER = "SJ-K031" "link-folder" Runnable: "a symlink to a folder gives the same files a second name, which no manifest can hold";
    LINK_BROKEN = "SJ-K032" "link-broken" Runnable: "a symlink without a target is a file that is not there";
    LINK_PROTECTED = "SJ-K033" "link-protected" Runnable: "a second name of a protected file would make it readable";
    SPECIAL_FILE = "SJ-K034" "special-file" Runnable: "devices, fifos and sockets are channels, not content";
    SETUID = "SJ-K035" "setuid" Runnable: "a skill has no use for a file that lends somebody's rights";
    UNREADABLE = "SJ-K036" "unreadable" Runnable: "what cannot be read cannot be reviewed or hashed";
    PATH_FORM = "SJ-K037" "path-form" Runnable: "control characters, backslashes and bytes that are not UTF-8 make names that people and tools read differently";
    PATH_CASE = "SJ-K038" "path-case" Runnable: "two names that differ in case only are one file on other systems";
    PACKAGE_BIG = "SJ-K039" "package-big" Runnable: "the whole package is read and copied into memory for each run";
    COMPILED = "SJ-K040" "compiled-code" Advice: "compiled code cannot be reviewed, and may differ from the source beside it";
    DOCKERFILE_REFUSED = "SJ-K050" "dockerfile-refused" Runnable: "a dockerfile belongs to the bring-your-own runtime of the same name only";
    DOCKERFILE_MISSING = "SJ-K051" "dockerfile-missing" Runnable: "a bring-your-own runtime is built from its dockerfile";
    SKILLENV_REFUSED = "SJ-K052" "skillenv-refused" Runnable: "a prompt-only skill runs nothing that could have an environment";
    OUT_TAKEN = "SJ-K053" "out-taken" Runnable: "/skill/out is the jail's own folder for artifacts";
    CONTRACT_MISSING = "SJ-K060" "contract-missing" Contract: "without a contract no input can be checked before the script runs";
    CONTRACT_SYNTAX = "SJ-K061" "contract-syntax" Runnable: "xray.json is one JSON object without duplicate keys";
    CONTRACT_KEY = "SJ-K062" "contract-key" Runnable: "a key that nobody knows is a promise that nobody keeps";
    CONTRACT_TYPE = "SJ-K063" "contract-type" Runnable: "the contract is a closed subset of JSON Schema, so that it can be checked completely";
    SCRIPT_MISSING = "SJ-K064" "script-missing" Runnable: "a script of the contract is a file below scripts/";
    SCRIPT_KEY = "SJ-K065" "script-key" Runnable: "a script is named by its plain path below scripts/";
    SCRIPT_UNLISTED = "SJ-K066" "script-unlisted" Advice: "a program that the contract does not name is never run";
    MAX_LENGTH_MISSING = "SJ-K067" "max-length-missing" Runnable: "a text without a bound is a text of any size";
    CONTRACT_BOUNDS = "SJ-K068" "contract-bounds" Runnable: "bounds that nothing, or not what was meant, can satisfy are a mistake";
    INPUT_NEVER_FITS = "SJ-K069" "input-over-limit" Advice: "the default policy takes 4 KiB of input; longer values are refused whatever maxLength says";
    CONTRACT_UNUSED = "SJ-K070" "contract-unused" Advice: "a prompt-only skill runs nothing, so its contract is dead text";
    SKILLENV_LINE = "SJ-K080" "skillenv-line" Runnable: "each line is KEY=VALUE, KEY=, a comment or empty: no quotes, no expansion, no carriage returns";
    SKILLENV_DUPLICATE = "SJ-K081" "skillenv-duplicate" Runnable: "of two values for one key, readers take different ones";
    SKILLENV_RESERVED = "SJ-K082" "skillenv-reserved" Runnable: "the jail sets these names itself, or an interpreter and its libraries obey them";
    SKILLENV_KEY = "SJ-K083" "skillenv-key" Runnable: "a key is A-Z, 0-9 and _, and does not begin with a digit";
    PYTHON_SYNTAX = "SJ-K100" "python-syntax" Admission: "what is not Python cannot be reviewed and will not run";
    PYTHON_BIG = "SJ-K101" "python-too-big" Admission: "the review is bounded in bytes and nesting; code beyond that was not written to be read";
    IMPORT_FORBIDDEN = "SJ-K102" "import-forbidden" Admission: "the module starts processes, calls native code or reaches other programs";
    IMPORT_NETWORK = "SJ-K103" "import-network" Admission: "network: egress in xray.json allows socket, ssl and http.client; nothing else and not without it";
    CALL_PROCESS = "SJ-K104" "call-process" Admission: "the call starts or signals a process; the jail has one process only";
    CALL_EVAL = "SJ-K105" "call-eval" Admission: "code made at run time was not reviewed";
    IMPORT_DYNAMIC = "SJ-K106" "import-dynamic" Advice: "a module whose name is computed cannot be reviewed";
    WRITE_OUTSIDE = "SJ-K107" "write-outside" Admission: "only /workdir and /tmp can be written";
    READS_ARGV = "SJ-K108" "reads-argv" Advice: "there are no arguments: the input is one JSON object on stdin";
    READS_ENVIRON = "SJ-K109" "reads-environ" Advice: "the environment holds what .skillenv declares and what the jail sets, and nothing else";
    IMPORT_ABSENT = "SJ-K110" "import-absent" Advice: "the runtime has no such module, so the script is sure to fail";
}

#[cfg(feature = "review")]
static LONG: &str = include_str!("rules.md");

/// The long text of a rule: the section of `rules.md` that its id heads.
#[cfg(feature = "review")]
pub fn explain(rule: &Rule) -> &'static str {
    LONG.split("\n## ").find(|section| section.starts_with(rule.id)).map_or("", str::trim_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_sorted_unique_and_well_formed() {
        for pair in ALL.windows(2) {
            assert!(pair[0].id < pair[1].id, "{} before {}", pair[0].id, pair[1].id);
        }
        for rule in ALL {
            assert!(rule.id.len() == 7 && rule.id.starts_with("SJ-K"), "{}", rule.id);
        }
    }

    #[cfg(feature = "review")]
    #[test]
    fn each_rule_is_explained_once_and_nothing_else_is() {
        let sections: Vec<&str> = LONG.split("\n## ").skip(1).collect();
        assert_eq!(sections.len(), ALL.len());
        for rule in ALL {
            let text = explain(rule);
            assert!(text.starts_with(&format!("{} {}\n", rule.id, rule.name)), "{}: {text}", rule.id);
            assert!(text.len() > 110, "{}: too short to explain anything", rule.id);
        }
    }
}
