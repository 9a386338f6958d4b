//! Reads `xray.json`: the closed subset of JSON Schema, each fault with its place.

use super::super::finding::{Finding, nearest, shown};
use super::super::json::{self, Kind, Node};
use super::super::rules::{self, Rule};
use super::{Contract, Network, Parameter, ParameterKind, ScriptContract, XRAY_JSON, length};

/// The default policy's limit on input; a longer `maxLength` is a promise that no default run keeps.
const DEFAULT_INPUT: u64 = 4 << 10;

/// Parses `xray.json`. `None` if it is no such JSON object; whatever can be understood otherwise.
pub fn parse(bytes: &[u8]) -> (Option<Contract>, Vec<Finding>) {
    let mut reading = Reading { bytes, findings: Vec::new() };
    let root = match json::parse(bytes) {
        Ok(root) => root,
        Err(fault) => {
            let (line, column) = json::place(bytes, fault.at);
            let place = if fault.pointer.is_empty() {
                String::new()
            } else {
                format!(" (at {})", shown(&fault.pointer))
            };
            let what = format!("{}{place}", fault.what);
            return (None, vec![Finding::of(&rules::CONTRACT_SYNTAX, XRAY_JSON, what).at(line, column)]);
        }
    };
    if root.members().is_none() {
        reading.find(&rules::CONTRACT_SYNTAX, root.at, format!("it is {}, not an object", root.noun()));
        return (None, reading.findings);
    }
    let contract = reading.contract(&root);
    (Some(contract), reading.findings)
}

struct Reading<'a> {
    bytes: &'a [u8],
    findings: Vec<Finding>,
}

impl Reading<'_> {
    fn find(&mut self, rule: &'static Rule, at: usize, what: impl Into<String>) {
        self.find_hint(rule, at, what, None);
    }

    fn find_hint(&mut self, rule: &'static Rule, at: usize, what: impl Into<String>, hint: Option<String>) {
        // Places cost a walk through the file each: a contract with more faults than this is not read on.
        if self.findings.len() < 200 {
            let (line, column) = json::place(self.bytes, at);
            let finding = Finding { hint, ..Finding::of(rule, XRAY_JSON, what) };
            self.findings.push(finding.at(line, column));
        }
    }

    /// The members of an object that may have these keys; findings for others, and for what is no object.
    fn object<'n>(&mut self, node: &'n Node, whose: &str, known: &[&str]) -> Vec<(&'n str, &'n Node)> {
        let Some(members) = node.members() else {
            self.find(&rules::CONTRACT_TYPE, node.at, format!("{whose} is {}, not an object", node.noun()));
            return Vec::new();
        };
        let mut kept = Vec::new();
        for (key, value) in members {
            if known.contains(&key.name.as_str()) {
                kept.push((key.name.as_str(), value));
                continue;
            }
            let hint = match key.name.as_str() {
                "additionalProperties" => Some("unknown keys are always refused: drop it".to_owned()),
                other => nearest(other, known.iter().copied()).map(|near| format!("is `{near}` meant?")),
            };
            let what = format!("{whose} has no key `{}`; keys: {}", shown(&key.name), known.join(", "));
            self.find_hint(&rules::CONTRACT_KEY, key.at, what, hint);
        }
        kept
    }

    fn text(&mut self, node: &Node, whose: &str) -> Option<String> {
        if node.text().is_none() {
            self.find(&rules::CONTRACT_TYPE, node.at, format!("{whose} is {}, not a text", node.noun()));
        }
        node.text().map(str::to_owned)
    }

    fn integer(&mut self, node: &Node, whose: &str) -> Option<i64> {
        let value = node.integer();
        if value.is_none() {
            self.find(&rules::CONTRACT_TYPE, node.at, format!("{whose} is not an integer of 64 bits"));
        }
        value
    }

    fn contract(&mut self, root: &Node) -> Contract {
        let mut contract = Contract::default();
        let members = self.object(root, "xray.json", &["network", "scripts"]);
        for (key, value) in &members {
            match (*key, value.text()) {
                ("network", Some("none")) => {}
                ("network", Some("egress")) => contract.network = Network::Egress,
                ("network", _) => {
                    self.find(&rules::CONTRACT_TYPE, value.at, "network is neither \"none\" nor \"egress\"");
                }
                _ => contract.scripts = self.scripts(value),
            }
        }
        if contract.scripts.is_empty()
            && !members.iter().any(|(key, value)| *key == "scripts" && value.members().is_none())
        {
            self.find(&rules::CONTRACT_TYPE, root.at, "there are no scripts");
        }
        contract
    }

    fn scripts(&mut self, node: &Node) -> Vec<ScriptContract> {
        let Some(members) = node.members() else {
            self.find(&rules::CONTRACT_TYPE, node.at, format!("scripts is {}, not an object", node.noun()));
            return Vec::new();
        };
        if members.len() > 256 {
            self.find(&rules::CONTRACT_BOUNDS, node.at, "more than 256 scripts");
        }
        members.iter().take(256).map(|(key, value)| self.script(&key.name, value)).collect()
    }

    fn script(&mut self, key: &str, node: &Node) -> ScriptContract {
        let whose = format!("script `{}`", shown(key));
        let mut script =
            ScriptContract { key: key.to_owned(), description: String::new(), parameters: Vec::new() };
        let members = self.object(node, &whose, &["description", "parameters"]);
        for (name, value) in &members {
            match *name {
                "description" => {
                    script.description =
                        self.text(value, &format!("{whose}: description")).unwrap_or_default();
                }
                _ => script.parameters = self.parameters(value, &whose),
            }
        }
        for name in ["description", "parameters"] {
            if node.members().is_some() && !members.iter().any(|(found, _)| *found == name) {
                self.find(&rules::CONTRACT_TYPE, node.at, format!("{whose} has no {name}"));
            }
        }
        script
    }

    fn parameters(&mut self, node: &Node, whose: &str) -> Vec<Parameter> {
        let members = self.object(node, &format!("{whose}: parameters"), &["type", "properties", "required"]);
        let mut parameters = Vec::new();
        let mut required = Vec::new();
        for (name, value) in &members {
            match *name {
                "type" if value.text() == Some("object") => {}
                "type" => self.find(
                    &rules::CONTRACT_TYPE,
                    value.at,
                    format!("{whose}: the type of parameters is not \"object\""),
                ),
                "properties" => parameters = self.properties(value, whose),
                _ => required = self.required(value, whose),
            }
        }
        if node.members().is_some() && !members.iter().any(|(name, _)| *name == "type") {
            self.find(
                &rules::CONTRACT_TYPE,
                node.at,
                format!("{whose}: parameters have no type; write \"type\": \"object\""),
            );
        }
        // A property that is broken is there all the same.
        let declared = |name: &str| {
            let properties =
                members.iter().find(|(key, _)| *key == "properties").and_then(|(_, node)| node.members());
            properties.is_some_and(|members| members.iter().any(|(key, _)| key.name == name))
        };
        for (name, at) in required {
            if let Some(parameter) =
                parameters.iter_mut().find(|parameter: &&mut Parameter| parameter.name == name)
            {
                parameter.required = true;
            } else if !declared(&name) {
                let what = format!("{whose}: `{}` is required but no property", shown(&name));
                self.find(&rules::CONTRACT_BOUNDS, at, what);
            }
        }
        parameters
    }

    fn required(&mut self, node: &Node, whose: &str) -> Vec<(String, usize)> {
        let Kind::List(items) = &node.kind else {
            self.find(
                &rules::CONTRACT_TYPE,
                node.at,
                format!("{whose}: required is {}, not an array", node.noun()),
            );
            return Vec::new();
        };
        let what = format!("{whose}: an item of required");
        items.iter().take(128).filter_map(|item| Some((self.text(item, &what)?, item.at))).collect()
    }

    fn properties(&mut self, node: &Node, whose: &str) -> Vec<Parameter> {
        let Some(members) = node.members() else {
            self.find(
                &rules::CONTRACT_TYPE,
                node.at,
                format!("{whose}: properties is {}, not an object", node.noun()),
            );
            return Vec::new();
        };
        if members.len() > 128 {
            self.find(&rules::CONTRACT_BOUNDS, node.at, format!("{whose}: more than 128 properties"));
        }
        let mut parameters = Vec::new();
        for (key, value) in members.iter().take(128) {
            let whose = format!("{whose}: `{}`", shown(&key.name));
            if key.name.is_empty() || key.name.len() > 128 || key.name.chars().any(char::is_control) {
                self.find(
                    &rules::CONTRACT_TYPE,
                    key.at,
                    format!("{whose}: a name has 1 to 128 bytes without control characters"),
                );
            }
            parameters.extend(self.property(&key.name, value, &whose));
        }
        parameters
    }

    fn property(&mut self, name: &str, node: &Node, whose: &str) -> Option<Parameter> {
        const KEYS: [&str; 6] = ["type", "description", "maxLength", "minimum", "maximum", "enum"];
        let members = self.object(node, whose, &KEYS);
        let member = |name: &str| members.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        let description =
            member("description").and_then(|value| self.text(value, &format!("{whose}: description")));
        let kind = match member("type").and_then(Node::text) {
            Some("string") => self.text_kind(node, whose, &member)?,
            Some("integer") => self.integer_kind(node, whose, &member),
            Some("boolean") => ParameterKind::Boolean,
            _ => {
                let at = member("type").map_or(node.at, |value| value.at);
                self.find(
                    &rules::CONTRACT_TYPE,
                    at,
                    format!("{whose}: type is not \"string\", \"integer\" or \"boolean\""),
                );
                return None;
            }
        };
        let foreign: &[&str] = match kind {
            ParameterKind::Text { .. } => &["minimum", "maximum"],
            ParameterKind::Integer { .. } => &["maxLength"],
            ParameterKind::Boolean => &["maxLength", "minimum", "maximum", "enum"],
        };
        for name in foreign {
            if let Some(value) = member(name) {
                self.find(
                    &rules::CONTRACT_KEY,
                    value.at,
                    format!("{whose}: {name} means nothing for this type"),
                );
            }
        }
        Some(Parameter { name: name.to_owned(), description, required: false, kind })
    }

    fn text_kind<'n>(
        &mut self,
        node: &Node,
        whose: &str,
        member: &impl Fn(&str) -> Option<&'n Node>,
    ) -> Option<ParameterKind> {
        let Some(bound) = member("maxLength") else {
            let hint = Some("add \"maxLength\": the longest text that makes sense, in characters".to_owned());
            self.find_hint(
                &rules::MAX_LENGTH_MISSING,
                node.at,
                format!("{whose}: a string without maxLength"),
                hint,
            );
            return None;
        };
        let max_length = self.integer(bound, &format!("{whose}: maxLength"))?;
        let Some(max_length) = u64::try_from(max_length).ok().filter(|length| *length > 0) else {
            self.find(&rules::CONTRACT_BOUNDS, bound.at, format!("{whose}: maxLength is below 1"));
            return None;
        };
        if max_length > DEFAULT_INPUT {
            self.find(
                &rules::INPUT_NEVER_FITS,
                bound.at,
                format!("{whose}: maxLength {max_length} is more than a default input holds"),
            );
        }
        let allowed = self.allowed(whose, member, |node| node.text().map(str::to_owned));
        if allowed.iter().flatten().any(|text| length(text) > max_length) {
            self.find(
                &rules::CONTRACT_BOUNDS,
                bound.at,
                format!("{whose}: a value of enum is longer than maxLength"),
            );
        }
        Some(ParameterKind::Text { max_length, allowed })
    }

    fn integer_kind<'n>(
        &mut self,
        node: &Node,
        whose: &str,
        member: &impl Fn(&str) -> Option<&'n Node>,
    ) -> ParameterKind {
        let minimum = member("minimum").and_then(|value| self.integer(value, &format!("{whose}: minimum")));
        let maximum = member("maximum").and_then(|value| self.integer(value, &format!("{whose}: maximum")));
        let allowed = self.allowed(whose, member, Node::integer);
        if minimum.zip(maximum).is_some_and(|(low, high)| low > high) {
            self.find(&rules::CONTRACT_BOUNDS, node.at, format!("{whose}: minimum is above maximum"));
        }
        let outside = |value: &i64| {
            minimum.is_some_and(|low| *value < low) || maximum.is_some_and(|high| *value > high)
        };
        if allowed.iter().flatten().any(outside) {
            self.find(
                &rules::CONTRACT_BOUNDS,
                node.at,
                format!("{whose}: a value of enum is outside of minimum and maximum"),
            );
        }
        ParameterKind::Integer { minimum, maximum, allowed }
    }

    /// The values of `enum`.
    fn allowed<'n, T: PartialEq>(
        &mut self,
        whose: &str,
        member: &impl Fn(&str) -> Option<&'n Node>,
        take: impl Fn(&Node) -> Option<T>,
    ) -> Option<Vec<T>> {
        let node = member("enum")?;
        let Kind::List(items) = &node.kind else {
            self.find(
                &rules::CONTRACT_TYPE,
                node.at,
                format!("{whose}: enum is {}, not an array", node.noun()),
            );
            return None;
        };
        let mut values = Vec::new();
        for item in items.iter().take(256) {
            match take(item) {
                None => self.find(
                    &rules::CONTRACT_TYPE,
                    item.at,
                    format!("{whose}: a value of enum has another type"),
                ),
                Some(value) if values.contains(&value) => {
                    self.find(
                        &rules::CONTRACT_BOUNDS,
                        item.at,
                        format!("{whose}: a value of enum is there twice"),
                    );
                }
                Some(value) => values.push(value),
            }
        }
        if items.is_empty() || items.len() > 256 {
            self.find(
                &rules::CONTRACT_BOUNDS,
                node.at,
                format!("{whose}: enum has no values, or more than 256"),
            );
        }
        // An empty list allows nothing.
        Some(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules_of(text: &str) -> Vec<&'static str> {
        parse(text.as_bytes()).1.iter().map(|f| f.rule.name).collect()
    }

    fn with(property: &str) -> String {
        format!(
            r#"{{"scripts":{{"a.py":{{"description":"d","parameters":{{"type":"object","properties":{{"x":{property}}}}}}}}}}}"#
        )
    }

    #[test]
    fn a_whole_contract() {
        let text = br#"{"network":"egress","scripts":{"a.py":{"description":"d","parameters":{"type":"object","properties":{
            "s":{"type":"string","description":"S","maxLength":5,"enum":["a","b"]},
            "i":{"type":"integer","minimum":1,"maximum":9},"b":{"type":"boolean"}},"required":["s"]}}}}"#;
        let (contract, findings) = parse(text);
        assert_eq!(findings, []);
        let contract = contract.unwrap();
        assert_eq!(contract.network, Network::Egress);
        let parameters = &contract.script("a.py").unwrap().parameters;
        assert_eq!(parameters.iter().map(|p| p.required).collect::<Vec<_>>(), [true, false, false]);
        assert_eq!(
            parameters[0].kind,
            ParameterKind::Text { max_length: 5, allowed: Some(vec!["a".into(), "b".into()]) }
        );
        assert_eq!(
            parameters[1].kind,
            ParameterKind::Integer { minimum: Some(1), maximum: Some(9), allowed: None }
        );
    }

    #[test]
    fn faults() {
        for (text, expected) in [
            ("[]", vec!["contract-syntax"]),
            ("{", vec!["contract-syntax"]),
            ("{\"scripts\":{},\"scripts\":{}}", vec!["contract-syntax"]),
            ("\u{feff}{}", vec!["contract-syntax"]),
            ("{}", vec!["contract-type"]),
            ("{\"scripts\":[]}", vec!["contract-type"]),
            (
                r#"{"network":"all","scripts":{"a.py":{"description":"","parameters":{"type":"object"}}}}"#,
                vec!["contract-type"],
            ),
            (
                r#"{"extra":1,"scripts":{"a.py":{"description":"","parameters":{"type":"object"}}}}"#,
                vec!["contract-key"],
            ),
            (r#"{"scripts":{"a.py":{"parameters":{"type":"object"}}}}"#, vec!["contract-type"]),
            (r#"{"scripts":{"a.py":{"description":""}}}"#, vec!["contract-type"]),
            (
                r#"{"scripts":{"a.py":{"description":"","parameters":{"type":"object","required":["x"]}}}}"#,
                vec!["contract-bounds"],
            ),
            (
                r#"{"scripts":{"a.py":{"description":"","parameters":{"type":"object","additionalProperties":false}}}}"#,
                vec!["contract-key"],
            ),
        ] {
            assert_eq!(rules_of(text), expected, "{text}");
        }
        for (property, expected) in [
            (r#"{"type":"string"}"#, vec!["max-length-missing"]),
            (r#"{"type":"string","maxLength":0}"#, vec!["contract-bounds"]),
            (r#"{"type":"string","maxLength":1.5}"#, vec!["contract-type"]),
            (r#"{"type":"string","maxLength":9999}"#, vec!["input-over-limit"]),
            (r#"{"type":"string","maxLength":1,"enum":["ab"]}"#, vec!["contract-bounds"]),
            (r#"{"type":"string","maxLength":1,"enum":[]}"#, vec!["contract-bounds"]),
            (r#"{"type":"string","maxLength":1,"enum":["a","a"]}"#, vec!["contract-bounds"]),
            (r#"{"type":"string","maxLength":1,"enum":[1]}"#, vec!["contract-type"]),
            (r#"{"type":"string","maxLength":1,"pattern":"a"}"#, vec!["contract-key"]),
            (r#"{"type":"string","maxLength":1,"minimum":1}"#, vec!["contract-key"]),
            (r#"{"type":"integer","minimum":2,"maximum":1}"#, vec!["contract-bounds"]),
            (r#"{"type":"integer","minimum":2,"enum":[1]}"#, vec!["contract-bounds"]),
            (r#"{"type":"integer","minimum":99999999999999999999}"#, vec!["contract-type"]),
            (r#"{"type":"number"}"#, vec!["contract-type"]),
            (r#"{"type":["string"]}"#, vec!["contract-type"]),
            ("[]", vec!["contract-type", "contract-type"]),
        ] {
            assert_eq!(rules_of(&with(property)), expected, "{property}");
        }
    }
}
