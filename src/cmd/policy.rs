//! `skilljail policy`: what a policy lets through, without running anything.

use super::Io;
use crate::audit::diff::{self, diff};
use crate::audit::sheet::Sheet;
use crate::audit::{explain, places, representative};
use crate::cli::{DataFormat, DiffFormat, PolicyCommand, ShowFormat};
use crate::exit::Exit;
use crate::policy::Policy;
use crate::render;
use std::error::Error;

/// Runs the command.
pub fn run(command: &PolicyCommand, io: &mut Io<'_>) -> Exit {
    let done = match command {
        PolicyCommand::Show { policy, format } => show(policy, *format),
        PolicyCommand::Diff { old, new, format, allow_wider } => compare(old, new, *format, *allow_wider),
        PolicyCommand::Explain { policy, call, format } => explain_call(policy, call, *format),
    };
    match done {
        Ok((text, exit)) => print(&text, exit, io),
        Err(error) => {
            io.tell(error.as_ref());
            match () {
                () if error.is::<crate::policy::PolicyError>() => Exit::PolicyRejected,
                () if error.is::<explain::CallError>() => Exit::Usage,
                () => Exit::Failed,
            }
        }
    }
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
    };
    Ok((text, Exit::Success))
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
