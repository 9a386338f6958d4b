//! The input of a script, judged before anything is cloned.

use super::contract::{ParameterKind, ScriptContract, length};
use super::finding::{nearest, shown};
use super::json::{self, Key, Node, segment};

/// Bytes that are one JSON object and keep the contract. The script gets them as they came.
#[derive(Clone, PartialEq, Eq)]
pub struct Input(Vec<u8>);

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Input({} bytes)", self.0.len())
    }
}

/// The caller's input is not what the contract takes: the caller's fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    /// JSON pointer (RFC 6901) of the fault; empty for the whole input.
    pub pointer: String,
    /// What is wrong there. The value itself is not repeated.
    pub reason: String,
    /// What to do.
    pub hint: String,
}

impl std::fmt::Display for InputError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.pointer.as_str() {
            "" => write!(f, "input: {}", self.reason)?,
            pointer => write!(f, "input: at {}: {}", shown(pointer), self.reason)?,
        }
        write!(f, "\nhint: {}", self.hint)
    }
}

impl std::error::Error for InputError {}

impl Input {
    /// Judges the caller's bytes. Without a contract (`contract: optional`) any JSON object will do.
    ///
    /// # Errors
    ///
    /// The caller's fault: more than `max_bytes`, not one JSON object of UTF-8, a key twice (at any depth), nesting beyond
    /// 32, a control character other than tab and newline in a text, or not what the contract promises.
    pub fn check(
        contract: Option<&ScriptContract>,
        bytes: &[u8],
        max_bytes: u64,
    ) -> Result<Self, InputError> {
        if u64::try_from(bytes.len()).is_ok_and(|length| length > max_bytes) {
            let hint =
                "hand large data over as a file with --in NAME=FILE; the script reads /workdir/in/NAME";
            return Err(fault("", format!("more than {max_bytes} bytes"), hint));
        }
        let node = json::parse(bytes).map_err(|error| {
            let (line, column) = json::place(bytes, error.at);
            fault(
                &error.pointer,
                format!("{} (line {line}, column {column})", error.what),
                "the input is one JSON object, UTF-8",
            )
        })?;
        let Some(members) = node.members() else {
            return Err(fault(
                "",
                format!("it is {}, not an object", node.noun()),
                "the input is one JSON object, such as {}",
            ));
        };
        if let Some(contract) = contract {
            contract.check(members)?;
        }
        Ok(Self(bytes.to_vec()))
    }

    /// The bytes for the script's stdin.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

fn fault(pointer: &str, reason: impl Into<String>, hint: impl Into<String>) -> InputError {
    InputError { pointer: pointer.to_owned(), reason: reason.into(), hint: hint.into() }
}

impl ScriptContract {
    fn check(&self, members: &[(Key, Node)]) -> Result<(), InputError> {
        for (key, value) in members {
            let pointer = segment(&key.name);
            if let Some(parameter) = self.parameters.iter().find(|parameter| parameter.name == key.name) {
                parameter.kind.check(value).map_err(|reason| fault(&pointer, reason, self.takes()))?;
            } else {
                let near = nearest(&key.name, self.parameters.iter().map(|p| p.name.as_str()));
                let meant = near.map(|near| format!("is `{near}` meant? ")).unwrap_or_default();
                return Err(fault(&pointer, "the contract has no such key", meant + &self.takes()));
            }
        }
        let missing = |name: &str| !members.iter().any(|(key, _)| key.name == name);
        match self.parameters.iter().find(|parameter| parameter.required && missing(&parameter.name)) {
            Some(parameter) => {
                Err(fault(&segment(&parameter.name), "a required key is missing", self.takes()))
            }
            None => Ok(()),
        }
    }

    /// What the script takes, in one line.
    fn takes(&self) -> String {
        let parameters: Vec<String> = self
            .parameters
            .iter()
            .map(|p| format!("{}{}: {}", shown(&p.name), if p.required { "" } else { "?" }, p.kind.words()))
            .collect();
        let list = if parameters.is_empty() { "no keys".to_owned() } else { parameters.join(", ") };
        format!("{} takes {list}", shown(&self.key))
    }
}

impl ParameterKind {
    /// In a few words, for hints.
    pub fn words(&self) -> String {
        let bound = |low: &Option<i64>, high: &Option<i64>| match (low, high) {
            (None, None) => String::new(),
            (Some(low), None) => format!(" from {low}"),
            (None, Some(high)) => format!(" up to {high}"),
            (Some(low), Some(high)) => format!(" {low} to {high}"),
        };
        match self {
            Self::Text { allowed: Some(allowed), .. } => format!("one of {} texts", allowed.len()),
            Self::Text { max_length, .. } => format!("text up to {max_length} characters"),
            Self::Integer { allowed: Some(allowed), .. } => format!("one of {} integers", allowed.len()),
            Self::Integer { minimum, maximum, .. } => format!("integer{}", bound(minimum, maximum)),
            Self::Boolean => "boolean".to_owned(),
        }
    }

    fn check(&self, value: &Node) -> Result<(), String> {
        match self {
            Self::Boolean => match value.kind {
                json::Kind::Bool(_) => Ok(()),
                _ => Err(format!("{} where a boolean belongs", value.noun())),
            },
            Self::Text { max_length, allowed } => {
                let text = value.text().ok_or_else(|| format!("{} where a text belongs", value.noun()))?;
                if length(text) > *max_length {
                    return Err(format!("{} characters; at most {max_length}", length(text)));
                }
                listed(allowed.as_deref(), |allowed| allowed == text)
            }
            Self::Integer { minimum, maximum, allowed } => {
                let number = value.integer().ok_or_else(|| match value.kind {
                    json::Kind::Number(_) => "not an integer of 64 bits".to_owned(),
                    _ => format!("{} where an integer belongs", value.noun()),
                })?;
                if let Some(low) = minimum.filter(|low| number < *low) {
                    return Err(format!("below {low}"));
                }
                if let Some(high) = maximum.filter(|high| number > *high) {
                    return Err(format!("above {high}"));
                }
                listed(allowed.as_deref(), |allowed| *allowed == number)
            }
        }
    }
}

/// Whether a value is in a list of the only allowed ones; an empty list allows nothing.
fn listed<T: std::fmt::Debug>(allowed: Option<&[T]>, is: impl Fn(&T) -> bool) -> Result<(), String> {
    match allowed {
        Some(allowed) if !allowed.iter().any(is) => {
            let values: Vec<String> =
                allowed.iter().take(12).map(|value| shown(&format!("{value:?}"))).collect();
            Err(format!("not one of {}", values.join(", ")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skill::contract;

    fn script() -> ScriptContract {
        let text = br#"{"scripts":{"a.py":{"description":"d","parameters":{"type":"object","properties":{
            "text":{"type":"string","maxLength":3},"mode":{"type":"string","maxLength":9,"enum":["fast","slow"]},
            "n":{"type":"integer","minimum":0,"maximum":9},"pick":{"type":"integer","enum":[1,5]},"b":{"type":"boolean"}},
            "required":["text"]}}}}"#;
        contract::parse(text).0.unwrap().scripts.remove(0)
    }

    #[test]
    fn what_keeps_the_contract_is_handed_on_as_it_came() {
        let script = script();
        for text in [
            r#"{"text":""}"#,
            "  {\"text\" : \"\\u00e4\\t\\n\" }\n",
            r#"{"text":"äöü","mode":"fast","n":9,"pick":5,"b":false}"#,
        ] {
            let input = Input::check(Some(&script), text.as_bytes(), 4096).unwrap();
            assert_eq!(input.bytes(), text.as_bytes());
        }
    }

    #[test]
    fn each_refusal_has_its_pointer() {
        let script = script();
        for (text, pointer, reason) in [
            ("", "", "empty"),
            ("[]", "", "an array, not an object"),
            ("{}", "/text", "required key is missing"),
            (r#"{"text":"a"} {}"#, "", "more after the end"),
            (r#"{"text":"a","text":"b"}"#, "/text", "twice"),
            (r#"{"text":"a","x":{"k":1,"k":2}}"#, "/x/k", "twice"),
            (r#"{"text":"a","other":1}"#, "/other", "no such key"),
            (r#"{"text":"a","txet/":1}"#, "/txet~1", "no such key"),
            (r#"{"text":1}"#, "/text", "a number where a text belongs"),
            (r#"{"text":null}"#, "/text", "null where a text belongs"),
            (r#"{"text":"abcd"}"#, "/text", "4 characters; at most 3"),
            (r#"{"text":"\u0000"}"#, "/text", "control character U+0000"),
            (r#"{"text":"\r"}"#, "/text", "control character U+000D"),
            (r#"{"text":"a","mode":"warp"}"#, "/mode", "not one of"),
            (r#"{"text":"a","n":-1}"#, "/n", "below 0"),
            (r#"{"text":"a","n":10}"#, "/n", "above 9"),
            (r#"{"text":"a","n":1.0}"#, "/n", "not an integer"),
            (r#"{"text":"a","n":1e0}"#, "/n", "not an integer"),
            (r#"{"text":"a","n":true}"#, "/n", "a boolean where an integer belongs"),
            (r#"{"text":"a","pick":2}"#, "/pick", "not one of 1, 5"),
            (r#"{"text":"a","b":0}"#, "/b", "a number where a boolean belongs"),
        ] {
            let error = Input::check(Some(&script), text.as_bytes(), 4096).expect_err(text);
            assert_eq!(error.pointer, pointer, "{text}");
            assert!(error.reason.contains(reason), "{text}: {error}");
            assert!(error.to_string().contains("\nhint: "), "{text}");
        }
        let error = Input::check(Some(&script), b"{\"text\":\"\xff\"}", 4096).unwrap_err();
        assert!(error.reason.contains("not UTF-8"), "{error}");
    }

    #[test]
    fn size_is_judged_first_and_to_the_byte() {
        let text = br#"{"a":1}"#;
        assert!(Input::check(None, text, 7).is_ok());
        assert!(Input::check(None, text, 6).unwrap_err().reason.contains("more than 6 bytes"));
    }

    #[test]
    fn without_a_contract_any_object_will_do_but_no_sloppy_one() {
        assert!(Input::check(None, br#"{"a":{"b":[1.5,null,{}]}}"#, 4096).is_ok());
        for text in [r#"{"a":1,"a":1}"#, r#"["x"]"#, r#"{"a":"\u0007"}"#, r#"{"a":NaN}"#] {
            assert!(Input::check(None, text.as_bytes(), 4096).is_err(), "{text}");
        }
    }
}
