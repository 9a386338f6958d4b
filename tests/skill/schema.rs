//! A validator for as much of JSON Schema (draft 7) as the SARIF schema uses. A keyword that it does not know fails the test:
//! it never passes what it did not check. `make test-skills-ref` runs Python's `jsonschema` over the same log.

use serde_json::Value;

/// Keywords that say nothing about an instance.
const SILENT: [&str; 7] = ["$schema", "$id", "title", "description", "default", "definitions", "format"];

pub fn check(schema: &Value, instance: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    validate(schema, schema, instance, "", &mut faults);
    faults
}

fn validate(root: &Value, schema: &Value, instance: &Value, at: &str, faults: &mut Vec<String>) {
    let Value::Object(keywords) = schema else { panic!("a schema is an object: {schema}") };
    for (keyword, value) in keywords {
        let fault = match keyword.as_str() {
            silent if SILENT.contains(&silent) => None,
            "$ref" => {
                let pointer = value.as_str().unwrap().strip_prefix('#').expect("a local reference");
                validate(root, root.pointer(pointer).expect(pointer), instance, at, faults);
                None
            }
            "type" => (!types(value).any(|name| is(instance, name))).then(|| format!("is not {value}")),
            "enum" => (!value.as_array().unwrap().contains(instance)).then(|| format!("is none of {value}")),
            "minimum" => instance
                .as_f64()
                .filter(|n| *n < value.as_f64().unwrap())
                .map(|n| format!("{n} is below {value}")),
            "maximum" => instance
                .as_f64()
                .filter(|n| *n > value.as_f64().unwrap())
                .map(|n| format!("{n} is above {value}")),
            "pattern" => instance.as_str().map(|text| format!("nobody compares {text} with {value}")),
            "properties" => {
                for (name, schema) in value.as_object().unwrap() {
                    if let Some(member) = instance.get(name) {
                        validate(root, schema, member, &format!("{at}/{name}"), faults);
                    }
                }
                None
            }
            "additionalProperties" => {
                let known = keywords.get("properties").and_then(Value::as_object);
                let more: Vec<&String> = instance
                    .as_object()
                    .into_iter()
                    .flat_map(|object| object.keys())
                    .filter(|name| known.is_none_or(|known| !known.contains_key(*name)))
                    .collect();
                match value {
                    Value::Bool(allowed) => {
                        (!allowed && !more.is_empty()).then(|| format!("has unknown {more:?}"))
                    }
                    schema => {
                        for name in more {
                            validate(root, schema, &instance[name], &format!("{at}/{name}"), faults);
                        }
                        None
                    }
                }
            }
            "required" => value
                .as_array()
                .unwrap()
                .iter()
                .find(|name| instance.is_object() && instance.get(name.as_str().unwrap()).is_none())
                .map(|name| format!("lacks {name}")),
            "items" => {
                for (index, item) in instance.as_array().into_iter().flatten().enumerate() {
                    validate(root, value, item, &format!("{at}/{index}"), faults);
                }
                None
            }
            "minItems" => {
                let short = |items: &&Vec<Value>| (items.len() as u64) < value.as_u64().unwrap();
                instance.as_array().filter(short).map(|_| format!("has fewer than {value} items"))
            }
            "uniqueItems" => {
                let twice = |items: &&Vec<Value>| {
                    value == true && (1..items.len()).any(|at| items[..at].contains(&items[at]))
                };
                instance.as_array().filter(twice).map(|_| "has an item twice".to_owned())
            }
            "anyOf" | "oneOf" => {
                let fits = |schema: &&Value| {
                    let mut inner = Vec::new();
                    validate(root, schema, instance, at, &mut inner);
                    inner.is_empty()
                };
                let count = value.as_array().unwrap().iter().filter(fits).count();
                (count == 0 || keyword == "oneOf" && count > 1).then(|| format!("fits {count} of {keyword}"))
            }
            other => panic!("the keyword {other} is not known here"),
        };
        faults.extend(fault.map(|what| format!("{at}: {what}")));
    }
}

fn types(value: &Value) -> impl Iterator<Item = &str> {
    let one = value.as_str();
    one.into_iter().chain(value.as_array().into_iter().flatten().filter_map(Value::as_str))
}

fn is(instance: &Value, name: &str) -> bool {
    match name {
        "object" => instance.is_object(),
        "array" => instance.is_array(),
        "string" => instance.is_string(),
        "boolean" => instance.is_boolean(),
        "null" => instance.is_null(),
        "integer" => instance.is_i64() || instance.is_u64(),
        "number" => instance.is_number(),
        other => panic!("the type {other} is not known here"),
    }
}
