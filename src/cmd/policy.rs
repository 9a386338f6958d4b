//! `skilljail policy`: what a policy lets through, without running anything.

use super::Io;
use crate::audit::representative;
use crate::audit::sheet::Sheet;
use crate::cli::{PolicyCommand, ShowFormat};
use crate::exit::Exit;
use crate::policy::Policy;
use crate::render;
use std::error::Error;

/// Runs the command.
pub fn run(command: &PolicyCommand, io: &mut Io<'_>) -> Exit {
    let done = match command {
        PolicyCommand::Show { policy, format } => show(policy, *format),
    };
    match done {
        Ok((text, exit)) => print(&text, exit, io),
        Err(error) => {
            io.tell(error.as_ref());
            if error.is::<crate::policy::PolicyError>() { Exit::PolicyRejected } else { Exit::Failed }
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
