//! `skilljail list`.

use super::Io;
use crate::cli::{ListArgs, ListFormat};
use crate::exit::Exit;
use crate::render::text::{tty_safe, xml};
use crate::skill::Skill;
use crate::skill::discover::skills_below;
use crate::skill::finding::shown;
use crate::skill::rules::Cost;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;

/// A skill that is listed.
struct Listed {
    skill: Skill,
    location: String,
}

/// Skills in their order, and what was left out with the reason.
#[derive(Default)]
struct Found {
    skills: Vec<Listed>,
    problems: Vec<String>,
}

/// Runs the command.
pub fn run(args: &ListArgs, io: &mut Io<'_>) -> Exit {
    let mut found = Found::default();
    let mut taken = HashMap::new();
    let mut seen = std::collections::HashSet::new();
    for directory in &args.skills {
        match skills_below(directory) {
            Ok(folders) => {
                for folder in folders {
                    // The same real folder below two directories is one skill, not a collision.
                    if seen.insert(folder.clone()) {
                        found.add(&folder, &mut taken);
                    }
                }
            }
            Err(error) => {
                io.tell(&error);
                return Exit::Failed;
            }
        }
    }
    for problem in &found.problems {
        drop(writeln!(io.err, "skilljail: {}", tty_safe(problem)));
    }
    let text = match args.format {
        ListFormat::Text => as_text(&found),
        ListFormat::Json => format!("{:#}\n", as_json(&found)),
        ListFormat::Xml => as_xml(&found),
    };
    if io.out.write_all(text.as_bytes()).is_ok() { Exit::Success } else { Exit::Failed }
}

impl Found {
    fn add(&mut self, folder: &Path, taken: &mut HashMap<String, String>) {
        let place = shown(&folder.to_string_lossy());
        let skill = match Skill::examine(folder) {
            Ok(skill) => skill,
            Err(error) => return self.problems.push(format!("{place}: left out: {error}")),
        };
        if let Some(finding) = skill.findings().iter().find(|finding| finding.rule.cost == Cost::Standard) {
            let what =
                format!("{place}: left out: {}: {} [{}]", finding.place(), finding.what, finding.rule.id);
            return self.problems.push(what);
        }
        let Some(location) = skill.location().to_str().map(str::to_owned) else {
            return self.problems.push(format!("{place}: left out: the path is not UTF-8"));
        };
        if let Some(first) = taken.get(skill.name()) {
            let what = format!("{place}: left out: {first} has the name {} already", skill.name());
            return self.problems.push(what);
        }
        taken.insert(skill.name().to_owned(), place);
        self.skills.push(Listed { skill, location });
    }
}

impl Listed {
    fn description(&self) -> &str {
        self.skill.front().description.as_deref().unwrap_or_default()
    }
}

fn as_text(found: &Found) -> String {
    let mut text = String::new();
    for listed in &found.skills {
        let description = listed.description().split_whitespace().collect::<Vec<_>>().join(" ");
        let line = format!(
            "{} ({})\n    {description}\n    {}\n",
            listed.skill.name(),
            listed.skill.tier().word(),
            listed.location
        );
        text.push_str(&tty_safe(&line));
    }
    text
}

fn as_xml(found: &Found) -> String {
    let mut text = "<available_skills>\n".to_owned();
    for listed in &found.skills {
        let fields = [
            ("name", listed.skill.name()),
            ("description", listed.description()),
            ("location", &listed.location),
        ];
        text.push_str("<skill>\n");
        for (tag, value) in fields {
            text.extend(["<", tag, ">", &xml(value), "</", tag, ">\n"]);
        }
        text.push_str("</skill>\n");
    }
    text + "</available_skills>\n"
}

fn as_json(found: &Found) -> Value {
    let skill = |listed: &Listed| {
        let contract = listed.skill.contract();
        let scripts: Vec<Value> = contract.map_or_else(Vec::new, |contract| {
            contract
                .scripts
                .iter()
                .map(|script| json!({"name": script.key, "description": script.description, "parameters": script.schema()}))
                .collect()
        });
        json!({
            "name": listed.skill.name(),
            "description": listed.description(),
            "location": listed.location,
            "tier": listed.skill.tier().word(),
            "scripts": scripts,
        })
    };
    json!({
        "version": 1,
        "skills": found.skills.iter().map(skill).collect::<Vec<_>>(),
        "problems": found.problems,
    })
}
