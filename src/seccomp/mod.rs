//! Stand-in until the compiler lands.
#![allow(missing_docs)]
use serde::Serialize;

pub const EXEC_FD: i32 = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct SockFilter {
    pub code: u16,
    pub jt: u8,
    pub jf: u8,
    pub k: u32,
}

#[derive(Debug, Clone, Default)]
pub struct Compiled {
    pub program: Vec<SockFilter>,
    pub digest: String,
    pub notify: bool,
}

#[derive(Debug, Clone, Serialize)]
pub struct Listed {
    pub name: String,
    pub reason: String,
}

impl Compiled {
    pub fn lookup(&self, _nr: i32, _args: &[u64; 6]) -> Option<Listed> {
        None
    }
}

pub fn shipped(_name: &str) -> Option<Compiled> {
    Some(Compiled {
        program: vec![SockFilter { code: 6, jt: 0, jf: 0, k: 0x7fff_0000 }],
        digest: "none".to_owned(),
        notify: false,
    })
}
