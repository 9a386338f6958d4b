//! The archive that Linux unpacks at boot: cpio, format "newc" (initramfs buffer format in the kernel's documentation).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// An archive in the making.
#[derive(Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    inode: u32,
}

impl Archive {
    fn entry(&mut self, name: &str, mode: u32, data: &[u8], device: (u32, u32)) {
        self.inode += 1;
        let size = u32::try_from(data.len()).expect("a file of less than 4 GiB");
        let name_size = u32::try_from(name.len() + 1).expect("a short name");
        self.bytes.extend_from_slice(b"070701");
        for field in [self.inode, mode, 0, 0, 1, 0, size, 0, 0, device.0, device.1, name_size, 0] {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(data);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    pub(crate) fn folder(&mut self, name: &str) {
        self.entry(name, if name == "tmp" { 0o41777 } else { 0o40755 }, &[], (0, 0));
    }

    pub(crate) fn file(&mut self, name: &str, mode: u32, data: &[u8]) {
        self.entry(name, 0o100_000 | mode, data, (0, 0));
    }

    pub(crate) fn link(&mut self, name: &str, target: &str) {
        self.entry(name, 0o120_777, target.as_bytes(), (0, 0));
    }

    pub(crate) fn console(&mut self, name: &str) {
        self.entry(name, 0o20_600, &[], (5, 1));
    }

    pub(crate) fn tree(&mut self, from: &Path, name: &str) {
        self.folder(name);
        let mut entries: Vec<_> =
            fs::read_dir(from).expect("it can be listed").map(|entry| entry.expect("an entry")).collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let below = format!("{name}/{}", entry.file_name().to_str().expect("a UTF-8 name"));
            let kind = entry.file_type().expect("it has a type");
            if kind.is_dir() {
                self.tree(&entry.path(), &below);
            } else if kind.is_symlink() {
                let target = fs::read_link(entry.path()).expect("it can be read");
                self.link(&below, target.to_str().expect("a UTF-8 target"));
            } else {
                let mode = entry.metadata().expect("it can be looked at").permissions().mode() & 0o777;
                self.file(&below, mode, &fs::read(entry.path()).expect("it can be read"));
            }
        }
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[], (0, 0));
        self.bytes
    }
}
