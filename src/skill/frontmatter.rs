//! SKILL.md: fences, frontmatter, body.

use super::finding::{Finding, nearest, shown};
use super::rules::{self, Rule};
use super::tier::Tier;
use super::yaml::{self, Kind, Node, Wrong};

/// The file.
pub const SKILL_MD: &str = "SKILL.md";
/// SKILL.md has at most this many bytes.
pub const MAX_SKILL_MD: u64 = 1 << 20;
/// The frontmatter has at most this many bytes.
pub const MAX_FRONTMATTER: usize = 64 << 10;

/// The fields of the Agent Skills specification, and ours.
const FIELDS: [&str; 7] =
    ["name", "description", "license", "compatibility", "metadata", "allowed-tools", "runtime"];

/// What a SKILL.md says. A field that is missing or broken is `None`, and a finding says so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frontmatter {
    /// The skill's name.
    pub name: Option<String>,
    /// The line of `name`, from 1.
    pub name_line: u32,
    /// What it is for.
    pub description: Option<String>,
    /// Its licence.
    pub license: Option<String>,
    /// What it needs.
    pub compatibility: Option<String>,
    /// Free pairs of texts, in the order of the file.
    pub metadata: Vec<(String, String)>,
    /// Tools that it may use without being asked about.
    pub allowed_tools: Vec<String>,
    /// Where its scripts run.
    pub tier: Tier,
    /// The Markdown after the frontmatter.
    pub body: String,
    /// The line of SKILL.md on which the body begins, from 1.
    pub body_line: u32,
}

/// Parses SKILL.md. Whatever can be understood is returned beside the findings.
pub fn parse(bytes: &[u8]) -> (Frontmatter, Vec<Finding>) {
    let mut reading =
        Reading { findings: Vec::new(), front: Frontmatter { body_line: 1, ..Frontmatter::default() } };
    if let Some((yaml, first_line)) = reading.split(bytes) {
        reading.fields(&yaml, first_line);
    }
    (reading.front, reading.findings)
}

/// Judges a name by the standard's rule.
pub fn name_fault(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("the name is empty")
    } else if name.len() > 64 {
        Some("the name is longer than 64 characters")
    } else if !name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-')) {
        Some("the name has other characters than a-z, 0-9 and -")
    } else if name.starts_with('-') || name.ends_with('-') {
        Some("the name begins or ends with a hyphen")
    } else if name.contains("--") {
        Some("the name has two hyphens in a row")
    } else {
        None
    }
}

struct Reading {
    findings: Vec<Finding>,
    front: Frontmatter,
}

fn finding(rule: &'static Rule, line: u32, column: u32, what: impl Into<String>) -> Finding {
    Finding::of(rule, SKILL_MD, what).at(line, column)
}

fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

impl Reading {
    fn find(&mut self, rule: &'static Rule, node: &Node, what: impl Into<String>) -> &mut Finding {
        let at = self.findings.len();
        self.findings.push(finding(rule, node.line, node.column, what));
        &mut self.findings[at]
    }

    /// Finds the fences; returns the YAML between them and its first line.
    fn split(&mut self, bytes: &[u8]) -> Option<(String, u32)> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let (line, column) = super::json::place(bytes, error.valid_up_to());
                let what = format!("byte {} is not UTF-8", error.valid_up_to());
                self.findings
                    .push(finding(&rules::SKILL_MD_UTF8, line, column, what).hint("save the file as UTF-8"));
                return None;
            }
        };
        let text = text.strip_prefix('\u{feff}').inspect(|_| {
            let bom = finding(&rules::SKILL_MD_BOM, 1, 1, "the file begins with a byte order mark");
            self.findings.push(bom.hint("save it as UTF-8 without BOM"));
        });
        let text = text.unwrap_or_else(|| std::str::from_utf8(bytes).unwrap_or_default());
        let (yaml, lines) = self.fences(text)?;
        self.look(&yaml).then_some((yaml, 2)).filter(|_| lines > 0)
    }

    /// The text between the fences with plain newlines, and the number of its lines.
    fn fences(&mut self, text: &str) -> Option<(String, usize)> {
        let mut lines = text.split_inclusive('\n');
        let first = lines.next().unwrap_or_default();
        if !is_fence(first) {
            let mut missing = finding(&rules::FENCE_MISSING, 1, 1, "the first line is not `---`");
            if text.trim_start().starts_with("---") {
                missing = missing.hint("nothing, not even a blank line, may stand before it");
            }
            text.clone_into(&mut self.front.body);
            self.findings.push(missing);
            return None;
        }
        let mut yaml = String::new();
        let mut offset = first.len();
        let mut count = 1;
        let mut carriage = first.ends_with("\r\n");
        for line in lines {
            offset += line.len();
            count += 1;
            carriage |= line.ends_with("\r\n");
            if is_fence(line) {
                text.get(offset..).unwrap_or_default().clone_into(&mut self.front.body);
                self.front.body_line = number(count + 1);
                if carriage {
                    let crlf = finding(
                        &rules::SKILL_MD_CRLF,
                        1,
                        0,
                        "lines end with a carriage return and a newline",
                    );
                    self.findings.push(crlf.hint("save the file with plain newlines"));
                }
                return Some((yaml, count));
            }
            if yaml.len() + line.len() > MAX_FRONTMATTER {
                let what = "the frontmatter has more than 64 KiB";
                self.findings.push(finding(&rules::TOO_BIG, number(count), 0, what));
                return None;
            }
            match line.strip_suffix("\r\n") {
                Some(plain) => {
                    yaml.push_str(plain);
                    yaml.push('\n');
                }
                None => yaml.push_str(line),
            }
        }
        let open = finding(&rules::FENCE_OPEN, 1, 1, "no second line is `---`");
        self.findings.push(open.hint("end the frontmatter with `---` at the beginning of a line"));
        None
    }

    /// Refuses characters that nobody sees.
    fn look(&mut self, yaml: &str) -> bool {
        let hidden = yaml.lines().enumerate().find_map(|(line, text)| {
            let mut characters = text.chars().enumerate();
            characters.find(|(_, c)| c.is_control() && *c != '\t').map(|(column, c)| (line, column, c))
        });
        if let Some((line, column, c)) = hidden {
            let what = format!("control character U+{:04X}", u32::from(c));
            self.findings.push(finding(&rules::SKILL_MD_CONTROL, number(line + 2), number(column + 1), what));
        }
        hidden.is_none()
    }

    fn fields(&mut self, yaml: &str, first_line: u32) {
        let root = match yaml::parse(yaml, first_line) {
            Ok(root) => root,
            Err(fault) => return self.yaml_fault(fault),
        };
        let Kind::Map(pairs) = &root.kind else {
            let what = format!("the frontmatter is {}, not a mapping of fields", root.noun());
            self.find(&rules::YAML_SYNTAX, &root, what);
            return;
        };
        self.walk(&root);
        for (key, value) in pairs {
            match key.text() {
                Some(name) if key.turned().is_none() => self.field(name, key, value),
                _ => {
                    let what = format!("a field's name is {}, not text", key.noun());
                    self.find(&rules::FIELD_NOT_TEXT, key, what);
                }
            }
        }
        let has = |name: &str| pairs.iter().any(|(key, _)| key.text() == Some(name));
        for (name, rule) in [("name", &rules::NAME_MISSING), ("description", &rules::DESCRIPTION_MISSING)] {
            if !has(name) {
                let near =
                    pairs.iter().filter_map(|(key, _)| key.text()).find(|key| nearest(key, [name]).is_some());
                let mut missing = finding(rule, 1, 0, format!("there is no `{name}`"));
                missing.hint = near.map(|near| format!("is `{}` meant to be `{name}`?", shown(near)));
                self.findings.push(missing);
            }
        }
    }

    fn yaml_fault(&mut self, fault: yaml::Fault) {
        let (rule, what) = match fault.what {
            Wrong::Syntax(words) => (&rules::YAML_SYNTAX, format!("not YAML: {}", shown(&words))),
            Wrong::Feature(what) => (&rules::YAML_FEATURE, format!("{what} has no place in a frontmatter")),
            Wrong::TooBig(what) => (&rules::TOO_BIG, what.to_owned()),
        };
        let mut found = finding(rule, fault.line, fault.column, what);
        if rule.id == rules::YAML_SYNTAX.id {
            found =
                found.hint("put a value with `: ` or ` #` in it, or a special first character, in quotes");
        }
        self.findings.push(found);
    }

    /// Equal keys and control characters (written as escapes), at any depth.
    fn walk(&mut self, node: &Node) {
        match &node.kind {
            Kind::Scalar { text, .. } => {
                if let Some(c) = text.chars().find(|c| c.is_control() && !matches!(c, '\t' | '\n')) {
                    let what = format!("control character U+{:04X}, written as an escape", u32::from(c));
                    self.find(&rules::SKILL_MD_CONTROL, node, what);
                }
            }
            Kind::List(items) => items.iter().for_each(|item| self.walk(item)),
            Kind::Map(pairs) => {
                let mut seen = std::collections::HashMap::new();
                for (key, value) in pairs {
                    if let Some(text) = key.text()
                        && let Some(first) = seen.insert(text, key.line)
                    {
                        let what = format!("`{}` is there twice; first on line {first}", shown(text));
                        self.find(&rules::YAML_DUPLICATE, key, what);
                    }
                    self.walk(key);
                    self.walk(value);
                }
            }
        }
    }

    fn field(&mut self, name: &str, key: &Node, value: &Node) {
        match name {
            "name" => self.name(value),
            "description" => self.description(value),
            "license" => self.front.license = self.text(name, value),
            "compatibility" => {
                self.front.compatibility = self.text(name, value);
                if self.front.compatibility.as_ref().is_some_and(|text| text.chars().count() > 500) {
                    self.find(
                        &rules::COMPATIBILITY_LONG,
                        value,
                        "compatibility has more than 500 characters",
                    );
                }
            }
            "metadata" => self.metadata(value),
            "allowed-tools" => self.tools(value),
            "runtime" => self.runtime(value),
            other => {
                let near = nearest(other, FIELDS);
                let what = format!("unknown field `{}`", shown(other));
                let found = self.find(&rules::FIELD_UNKNOWN, key, what);
                found.hint = Some(near.map_or_else(
                    || "own data belongs below `metadata`".to_owned(),
                    |near| format!("is `{near}` meant? own data belongs below `metadata`"),
                ));
            }
        }
    }

    /// A field that must be text, also in the eyes of a YAML reader.
    fn text(&mut self, name: &str, value: &Node) -> Option<String> {
        match (value.text(), value.turned()) {
            (Some(text), None) => Some(text.to_owned()),
            (Some(text), Some(turned)) => {
                let what = format!("{name}: a YAML reader turns `{}` into {}", shown(text), turned.noun());
                let hint = format!("write {name}: \"{}\"", shown(text));
                self.find(&rules::FIELD_NOT_TEXT, value, what).hint = Some(hint);
                None
            }
            (None, _) => {
                self.find(&rules::FIELD_NOT_TEXT, value, format!("{name} is {}, not text", value.noun()));
                None
            }
        }
    }

    fn name(&mut self, value: &Node) {
        if value.turned() == Some(yaml::Turned::Null) {
            self.find(&rules::NAME_MISSING, value, "the name is empty");
            return;
        }
        let Some(name) = self.text("name", value) else { return };
        if let Some(what) = name_fault(&name) {
            let what = format!("`{}`: {what}", shown(&name));
            self.find(&rules::NAME_FORM, value, what);
        } else {
            self.front.name_line = value.line;
            self.front.name = Some(name);
        }
    }

    fn description(&mut self, value: &Node) {
        if value.turned() == Some(yaml::Turned::Null) {
            self.find(&rules::DESCRIPTION_MISSING, value, "the description is empty");
            return;
        }
        let Some(text) = self.text("description", value) else { return };
        let text = text.trim();
        let length = text.chars().count();
        if text.is_empty() {
            self.find(&rules::DESCRIPTION_MISSING, value, "the description is blank");
        } else if length > 1024 {
            self.find(&rules::DESCRIPTION_LONG, value, format!("the description has {length} characters"));
        } else {
            self.front.description = Some(text.to_owned());
        }
    }

    fn metadata(&mut self, value: &Node) {
        let Kind::Map(pairs) = &value.kind else {
            self.find(&rules::METADATA_FORM, value, format!("metadata is {}, not a mapping", value.noun()));
            return;
        };
        for (key, value) in pairs {
            for node in [key, value] {
                if let (true, Some(text)) = (node.turned().is_some(), node.text()) {
                    let what =
                        format!("metadata: a YAML reader turns `{}` into {}", shown(text), node.noun());
                    self.find(&rules::METADATA_TURNED, node, what).hint =
                        Some(format!("write \"{}\"", shown(text)));
                } else if node.text().is_none() {
                    self.find(
                        &rules::METADATA_TURNED,
                        node,
                        format!("metadata holds {}, not text", node.noun()),
                    );
                }
            }
            if let (Some(key), Some(value)) = (key.text(), value.text()) {
                self.front.metadata.push((key.to_owned(), value.to_owned()));
            }
        }
    }

    fn tools(&mut self, value: &Node) {
        let tools: Option<Vec<String>> = match &value.kind {
            Kind::Scalar { text, .. } if value.turned().is_none() => {
                Some(text.split_whitespace().map(str::to_owned).collect())
            }
            Kind::List(items) => items
                .iter()
                .map(|item| item.text().filter(|_| item.turned().is_none()).map(str::to_owned))
                .collect(),
            _ => None,
        };
        if let Some(tools) = tools {
            self.front.allowed_tools = tools;
        } else {
            let what = format!("allowed-tools is {} with something else than texts in it", value.noun());
            self.find(&rules::TOOLS_FORM, value, what);
        }
    }

    fn runtime(&mut self, value: &Node) {
        let words = Tier::ALL.map(Tier::word);
        if let Some(tier) = value.text().and_then(Tier::named) {
            self.front.tier = tier;
        } else {
            let word = value.text().unwrap_or(value.noun());
            let near = nearest(word, words).map(|near| format!("is {near} meant? ")).unwrap_or_default();
            let what = format!("no runtime `{}`", shown(word));
            let hint = format!("{near}runtimes: {}", words.join(", "));
            self.find(&rules::RUNTIME_UNKNOWN, value, what).hint = Some(hint);
        }
    }
}

/// `---` with nothing but blanks after it.
fn is_fence(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.trim_matches([' ', '\t', '\r', '\n']).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules_of(text: &str) -> Vec<(&'static str, u32)> {
        parse(text.as_bytes()).1.iter().map(|f| (f.rule.name, f.line)).collect()
    }

    #[test]
    fn a_whole_frontmatter() {
        let text = "---\nname: a-b\ndescription: >\n  Does\n  things.\nlicense: MIT\ncompatibility: any\nmetadata:\n  author: me\n\
                    allowed-tools: Read Bash(git:*)\nruntime: cubesandbox::python\n---\nBody\n---\nmore\n";
        let (front, findings) = parse(text.as_bytes());
        assert_eq!(findings, []);
        assert_eq!(front.name.as_deref(), Some("a-b"));
        assert_eq!(front.description.as_deref(), Some("Does things."));
        assert_eq!(front.metadata, [("author".to_owned(), "me".to_owned())]);
        assert_eq!(front.allowed_tools, ["Read", "Bash(git:*)"]);
        assert_eq!(front.tier, Tier::CubesandboxPython);
        assert_eq!((front.body.as_str(), front.body_line), ("Body\n---\nmore\n", 13));
    }

    #[test]
    fn faults_name_line_and_rule() {
        for (text, expected) in [
            ("no fence", vec![("fence-missing", 1)]),
            ("\n---\nname: a\n---\n", vec![("fence-missing", 1)]),
            ("---\nname: a\ndescription: b\n", vec![("fence-open", 1)]),
            ("\u{feff}---\nname: a\ndescription: b\n---\n", vec![("skill-md-bom", 1)]),
            ("---\r\nname: a\r\ndescription: b\r\n---\r\n", vec![("skill-md-crlf", 1)]),
            ("---\nname: a\nname: b\ndescription: c\n---\n", vec![("yaml-duplicate", 3)]),
            ("---\nname: on\ndescription: c\n---\n", vec![("field-not-text", 2)]),
            ("---\nname: 1.0\ndescription: c\n---\n", vec![("field-not-text", 2)]),
            ("---\nname: [a]\ndescription: c\n---\n", vec![("field-not-text", 2)]),
            ("---\nname: a\ndescription: 2024-01-01\n---\n", vec![("field-not-text", 3)]),
            ("---\nname: A\ndescription: c\n---\n", vec![("name-form", 2)]),
            ("---\nname:\ndescription: \n---\n", vec![("name-missing", 2), ("description-missing", 3)]),
            ("---\nnmae: a\ndescription: c\n---\n", vec![("field-unknown", 2), ("name-missing", 1)]),
            ("---\n- a\n---\n", vec![("yaml-syntax", 2)]),
            ("---\n---\n", vec![("yaml-syntax", 2)]),
            ("---\nname: a: b\n---\n", vec![("yaml-syntax", 2)]),
            ("---\nname: a\ndescription: &x c\n---\n", vec![("yaml-feature", 3)]),
            ("---\nname: a\ndescription: \"\x1b\"\n---\n", vec![("skill-md-control", 3)]),
            ("---\nname: a\ndescription: \"\\e[31m\"\n---\n", vec![("skill-md-control", 3)]),
            ("---\nname: a\ndescription: b\nmetadata:\n  version: 1.0\n---\n", vec![("metadata-turned", 5)]),
            ("---\nname: a\ndescription: b\nruntime: python\n---\n", vec![("runtime-unknown", 4)]),
            ("---\nname: a\ndescription: b\nallowed-tools: [a, 1]\n---\n", vec![("allowed-tools-form", 4)]),
            ("---\nname: a\ndescription: b\n1: c\n---\n", vec![("field-not-text", 4)]),
        ] {
            assert_eq!(rules_of(text), expected, "{text:?}");
        }
    }

    #[test]
    fn big_frontmatters_are_not_parsed() {
        let text = format!("---\nname: a\ndescription: {}\n---\n", "x".repeat(MAX_FRONTMATTER));
        assert_eq!(rules_of(&text), [("skill-md-too-big", 3)]);
    }
}
