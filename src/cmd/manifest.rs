//! `skilljail manifest`.

use super::Io;
use crate::cli::ManifestCommand;
#[cfg(feature = "review")]
use crate::cli::ManifestFormat;
use crate::exit::Exit;
use crate::render::text::tty_safe;
use crate::skill::manifest::{MAX_BYTES, Manifest, ManifestError};
use crate::target;
use std::path::Path;

/// Runs the command.
pub fn run(command: &ManifestCommand, io: &mut Io<'_>) -> Exit {
    match command {
        #[cfg(feature = "review")]
        ManifestCommand::Build { skills, format } => build(skills, *format, io),
        ManifestCommand::Verify { skills, manifest } => verify(skills, manifest, io),
    }
}

/// The code of a manifest that could not be made.
fn code(error: &ManifestError) -> Exit {
    match error {
        ManifestError::Malformed(_) => Exit::Failed,
        ManifestError::Skill(_) | ManifestError::SameName { .. } => Exit::SkillRejected,
    }
}

#[cfg(feature = "review")]
fn build(skills: &Path, format: ManifestFormat, io: &mut Io<'_>) -> Exit {
    let manifest = match Manifest::of_directory(skills) {
        Ok(manifest) => manifest,
        Err(error) => {
            io.tell(&error);
            return code(&error);
        }
    };
    let text = match format {
        ManifestFormat::Json => manifest.to_json(),
        ManifestFormat::Ts => manifest.to_typescript(),
    };
    match text {
        Ok(text) if io.out.write_all(text.as_bytes()).is_ok() => Exit::Success,
        Ok(_) => Exit::Failed,
        Err(error) => {
            io.tell(&error);
            Exit::Failed
        }
    }
}

fn verify(skills: &Path, file: &Path, io: &mut Io<'_>) -> Exit {
    let bytes = match target::read("manifest", &file.to_string_lossy(), MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(error) => {
            io.tell(&error);
            return Exit::Failed;
        }
    };
    let both = Manifest::parse(&bytes).and_then(|manifest| Ok((manifest, Manifest::of_directory(skills)?)));
    match both {
        Ok((manifest, found)) => {
            let drifts = manifest.drifts(&found);
            for drift in &drifts {
                drop(writeln!(io.out, "{}", tty_safe(&drift.to_string())));
            }
            if drifts.is_empty() { Exit::Success } else { Exit::SkillRejected }
        }
        Err(error) => {
            io.tell(&error);
            code(&error)
        }
    }
}
