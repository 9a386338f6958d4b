//! The program as an open file, and the ELF loader that it asks for.

use elf::ElfStream;
use elf::endian::AnyEndian;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Longest PT_INTERP that is read; the kernel's own bound is PATH_MAX.
const MAX_LOADER: u64 = 4096;

/// What keeps a file from being executed. The caller named the file.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It cannot be opened.
    #[error(transparent)]
    Open(#[from] io::Error),
    /// Not an executable regular file.
    #[error("not an executable regular file")]
    NotExecutable,
    /// No ELF file: a script, for example.
    #[error(
        "not an ELF file\nhint: a script needs its interpreter as the program, and itself as an argument"
    )]
    NotElf,
    /// PT_INTERP makes no sense.
    #[error("its ELF loader (PT_INTERP) is not an absolute path")]
    Loader,
}

/// A program.
#[derive(Debug)]
pub struct Found {
    /// What will be executed.
    pub file: OwnedFd,
    /// The loader's path; none for a static program.
    pub loader: Option<String>,
}

/// Opens a program and reads which loader it wants.
pub fn open(path: &Path) -> Result<Found, ProgramError> {
    use std::os::unix::fs::PermissionsExt as _;
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
        return Err(ProgramError::NotExecutable);
    }
    let reader = file.try_clone()?;
    let mut stream = ElfStream::<AnyEndian, _>::open_stream(reader).map_err(|_| ProgramError::NotElf)?;
    let segment = stream.segments().iter().find(|segment| segment.p_type == elf::abi::PT_INTERP).copied();
    let Some(segment) = segment.filter(|segment| segment.p_filesz <= MAX_LOADER) else {
        return Ok(Found { file: file.into(), loader: None });
    };
    let bytes = stream.segment_data(&segment).map_err(|_| ProgramError::Loader)?;
    let text = std::str::from_utf8(bytes).map_err(|_| ProgramError::Loader)?.trim_end_matches('\0');
    if !crate::plan::is_plain(text) {
        return Err(ProgramError::Loader);
    }
    Ok(Found { loader: Some(text.to_owned()), file: file.into() })
}
