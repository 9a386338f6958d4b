//! The few facts of an ELF object that decide which other files it needs.

use super::super::RuntimeError;
use elf::ElfBytes;
use elf::abi;
use elf::endian::AnyEndian;
use elf::file::Class;
use std::path::{Path, PathBuf};

/// What the loader will read from an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Object {
    /// `e_machine` and whether it is 64-bit: libraries of another kind are passed over, as the loader does.
    pub(super) kind: (u16, bool),
    /// `PT_INTERP`.
    pub(super) loader: Option<PathBuf>,
    /// `DT_SONAME`.
    pub(super) soname: Option<String>,
    /// `DT_NEEDED`, in order.
    pub(super) needed: Vec<String>,
    /// `DT_RPATH`, unexpanded.
    pub(super) rpath: Vec<String>,
    /// `DT_RUNPATH`, unexpanded; where there is one, `DT_RPATH` does not count (ld.so(8)).
    pub(super) runpath: Option<Vec<String>>,
}

/// Whether these are the first bytes of an ELF object.
pub(super) fn is_elf(head: &[u8]) -> bool {
    head.starts_with(b"\x7fELF")
}

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<Object, RuntimeError> {
    let data = std::fs::read(path).map_err(RuntimeError::io("read", path))?;
    parse(&data).map_err(|why| RuntimeError::Elf { path: path.to_path_buf(), why })
}

/// Parses the bytes of a file.
pub(super) fn parse(data: &[u8]) -> Result<Object, String> {
    let file = ElfBytes::<AnyEndian>::minimal_parse(data).map_err(|error| error.to_string())?;
    let mut object =
        Object { kind: (file.ehdr.e_machine, file.ehdr.class == Class::ELF64), ..Object::default() };
    let segments = file.segments().ok_or("it has no program headers")?;
    let bytes = |offset: u64, length: u64| -> Option<&[u8]> {
        let start = usize::try_from(offset).ok()?;
        data.get(start..start.checked_add(usize::try_from(length).ok()?)?)
    };
    if let Some(segment) = segments.iter().find(|segment| segment.p_type == abi::PT_INTERP) {
        let path = bytes(segment.p_offset, segment.p_filesz).ok_or("PT_INTERP lies outside")?;
        object.loader = Some(PathBuf::from(text(path).ok_or("PT_INTERP is no path")?));
    }
    let Some(dynamic) = file.dynamic().map_err(|error| error.to_string())? else { return Ok(object) };
    // d_ptr is an address; the string table's place in the file comes from the segment that maps it.
    let address = dynamic.iter().find(|entry| entry.d_tag == abi::DT_STRTAB).map(|entry| entry.d_ptr());
    let Some(address) = address else { return Ok(object) };
    let table = segments
        .iter()
        .filter(|segment| segment.p_type == abi::PT_LOAD)
        .find_map(|segment| {
            let inside = address.checked_sub(segment.p_vaddr)?;
            let length = segment.p_filesz.checked_sub(inside)?;
            bytes(segment.p_offset.checked_add(inside)?, length)
        })
        .ok_or("its string table lies outside")?;
    let string = |offset: u64| -> Result<String, String> {
        let start = usize::try_from(offset).map_err(|error| error.to_string())?;
        let found = table.get(start..).and_then(text);
        Ok(found.ok_or("a name lies outside its string table")?.to_owned())
    };
    let list = |text: String| text.split(':').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    for entry in dynamic.iter() {
        match entry.d_tag {
            abi::DT_NULL => break,
            abi::DT_NEEDED => object.needed.push(string(entry.d_val())?),
            abi::DT_SONAME => object.soname = Some(string(entry.d_val())?),
            abi::DT_RPATH => object.rpath = list(string(entry.d_val())?),
            abi::DT_RUNPATH => object.runpath = Some(list(string(entry.d_val())?)),
            _ => {}
        }
    }
    Ok(object)
}

/// Up to the first NUL.
fn text(bytes: &[u8]) -> Option<&str> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(bytes.get(..end)?).ok()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn the_test_program_itself_has_a_loader_and_a_libc() {
        let data = std::fs::read("/proc/self/exe").expect("own executable");
        let object = parse(&data).expect("an ELF object");
        assert!(object.kind.1, "tests are built for 64 bits");
        assert!(object.needed.iter().any(|name| name.starts_with("libc.")), "{:?}", object.needed);
        assert!(object.loader.is_some_and(|path| path.is_absolute()));
    }

    #[test]
    fn no_prefix_and_no_flipped_byte_of_an_object_panics() {
        let mut data = std::fs::read("/proc/self/exe").expect("own executable");
        data.truncate(4096);
        assert!(parse(&data[..32]).is_err());
        for length in 0..data.len() {
            let _ = parse(&data[..length]);
        }
        for index in 0..1024 {
            let kept = data[index];
            data[index] ^= 0xff;
            let _ = parse(&data);
            data[index] = kept;
        }
    }
}
