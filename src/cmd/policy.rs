//! `skilljail policy`: what a policy lets through, without running anything.

use super::Io;
use crate::audit::diff::{self, diff};
use crate::audit::lint::{self, Finding, Severity};
use crate::audit::sheet::Sheet;
use crate::audit::{explain, kernels, places, representative};
use crate::cli::{CheckFormat, DataFormat, DiffFormat, GenCommand, PolicyCommand, SchemaOf, ShowFormat};
use crate::exit::Exit;
use crate::policy::Policy;
use crate::render;
use std::error::Error;

/// Runs the command.
pub fn run(command: &PolicyCommand, io: &mut Io<'_>) -> Exit {
    let done = match command {
        PolicyCommand::Show { policy, format, kernel: None } => show(policy, *format),
        PolicyCommand::Show { policy, format, kernel: Some(kernel) } => on_kernel(policy, *format, kernel),
        PolicyCommand::Diff { old, new, format, allow_wider } => compare(old, new, *format, *allow_wider),
        PolicyCommand::Check { explain: Some(id), .. } => explain_rule(id),
        PolicyCommand::Check { policies, format, deny, explain: None } => check(policies, *format, deny),
        PolicyCommand::Schema => {
            return super::generate::run(&GenCommand::Schema { of: SchemaOf::Policy }, io);
        }
        PolicyCommand::Explain { policy, call, format } => explain_call(policy, call, *format),
    };
    match done {
        Ok((text, exit)) => print(&text, exit, io),
        Err(error) => {
            io.tell(error.as_ref());
            match () {
                () if error.is::<crate::policy::PolicyError>() => Exit::PolicyRejected,
                () if error.is::<WordError>() || error.is::<kernels::ReleaseError>() => Exit::Usage,
                () if matches!(error.downcast_ref(), Some(explain::ExplainError::Call(_))) => Exit::Usage,
                () => Exit::Failed,
            }
        }
    }
}

/// A word of the command line that is not known.
#[derive(Debug, thiserror::Error)]
#[error("{what} {word:?} is not known\nhint: {hint}")]
struct WordError {
    what: &'static str,
    word: String,
    hint: String,
}

/// What is printed, and how the program ends then.
type Done = Result<(String, Exit), Box<dyn Error>>;

fn print(text: &str, exit: Exit, io: &mut Io<'_>) -> Exit {
    match io.out.write_all(text.as_bytes()).and_then(|()| io.out.flush()) {
        Ok(()) => exit,
        Err(error) => {
            io.tell(&error);
            Exit::Failed
        }
    }
}

fn show(word: &str, format: ShowFormat) -> Done {
    let policy = Policy::load(word)?;
    let plan = representative::wanted(&policy)?;
    let text = match format {
        ShowFormat::Json => serde_json::to_string_pretty(&plan)? + "\n",
        ShowFormat::Text => render::sheet::text(&Sheet::new(&policy, &plan)?),
        ShowFormat::Html => render::html::page(&Sheet::new(&policy, &plan)?),
    };
    Ok((text, Exit::Success))
}

/// Exit 1 where nothing would run there.
fn on_kernel(word: &str, format: ShowFormat, text: &str) -> Done {
    let kernel = kernels::release(text)?;
    let policy = Policy::load(word)?;
    let plan = representative::wanted(&policy)?;
    let filter = policy.filter().filter().map_err(str::to_owned)?;
    let losses = kernels::losses(&policy, &plan, filter, kernel, kernels::landlock_abi(kernel));
    let exit = if losses.iter().any(|loss| loss.cost == kernels::Cost::NothingRuns) {
        Exit::Findings
    } else {
        Exit::Success
    };
    let text = match format {
        ShowFormat::Json => {
            let document = serde_json::json!({ "version": 1, "policy": policy.name(), "kernel": text, "losses": losses });
            format!("{document:#}\n")
        }
        ShowFormat::Text => render::losses::text(policy.name(), text, &losses),
        ShowFormat::Html => {
            return Err(Box::new(WordError {
                what: "--format html with --kernel",
                word: text.to_owned(),
                hint: "use text or json".to_owned(),
            }));
        }
    };
    Ok((text, exit))
}

fn compare(old: &str, new: &str, format: DiffFormat, allow_wider: bool) -> Done {
    let changes = diff(&Policy::load(old)?, &Policy::load(new)?)?;
    let text = match format {
        DiffFormat::Text => render::changes::text(&changes),
        DiffFormat::Json => format!("{:#}\n", render::changes::json(old, new, &changes)),
        DiffFormat::Markdown => render::changes::markdown(old, new, &changes),
        DiffFormat::Sarif => {
            let places = places::Places::of(new);
            format!(
                "{:#}\n",
                render::changes::sarif(places.path(), &|pointer| places.line(pointer), allow_wider, &changes)
            )
        }
    };
    let exit = if diff::is_wider(&changes) && !allow_wider { Exit::Wider } else { Exit::Success };
    Ok((text, exit))
}

fn explain_call(word: &str, call: &str, format: DataFormat) -> Done {
    let policy = Policy::load(word)?;
    let plan = representative::wanted(&policy)?;
    let explained = explain::explain(&policy, &plan, call)?;
    let text = match format {
        DataFormat::Text => render::explained::text(&explained),
        DataFormat::Json => serde_json::to_string_pretty(&explained)? + "\n",
    };
    Ok((text, Exit::Success))
}

fn no_rule(id: &str) -> Box<dyn Error> {
    let ids = lint::rules().map(|rule| rule.id);
    let near = crate::skill::finding::nearest(&id.to_uppercase(), ids).unwrap_or("SJ-P001");
    Box::new(WordError { what: "the rule", word: id.to_owned(), hint: format!("rules look like {near}") })
}

fn explain_rule(id: &str) -> Done {
    let rule = lint::rule(id).ok_or_else(|| no_rule(id))?;
    Ok((render::findings::explain(rule) + "\n", Exit::Success))
}

/// Which findings fail the check beside errors.
struct Deny {
    least: Severity,
    rules: Vec<&'static str>,
}

impl Deny {
    fn new(words: &[String]) -> Result<Self, Box<dyn Error>> {
        let mut deny = Self { least: Severity::Error, rules: Vec::new() };
        for word in words {
            match word.as_str() {
                "warnings" => deny.least = deny.least.max(Severity::Warning),
                "notes" => deny.least = Severity::Note,
                id => deny.rules.push(lint::rule(id).ok_or_else(|| no_rule(id))?.id),
            }
        }
        Ok(deny)
    }

    fn fails(&self, finding: &Finding) -> bool {
        finding.severity <= self.least || self.rules.contains(&finding.rule)
    }
}

fn check(words: &[String], format: CheckFormat, deny: &[String]) -> Done {
    let deny = Deny::new(deny)?;
    let mut all = Vec::new();
    for word in words {
        let findings = match Policy::load(word) {
            Ok(policy) => {
                let plan = representative::wanted(&policy)?;
                let filter = policy.filter().filter().map_err(str::to_owned)?;
                lint::check(word, &policy, &plan, filter)
            }
            Err(error) => vec![lint::refused(word, &error)],
        };
        all.push(render::findings::Checked { word: word.clone(), findings });
    }
    let text = match format {
        CheckFormat::Text => render::findings::text(&all),
        CheckFormat::Json => format!("{:#}\n", render::findings::json(&all)),
        CheckFormat::Sarif => format!("{:#}\n", render::findings::sarif(&all)),
        CheckFormat::Junit => render::findings::junit(&all, &|finding| deny.fails(finding)),
    };
    let failed = all.iter().flat_map(|checked| &checked.findings).any(|finding| deny.fails(finding));
    Ok((text, if failed { Exit::Findings } else { Exit::Success }))
}
