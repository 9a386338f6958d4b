//! `uname(2)`.

use std::ffi::CStr;

/// The kernel's release, such as `6.1.0-18-amd64`, and the machine, such as `x86_64`. Empty where the call is refused.
pub fn release_and_machine() -> (String, String) {
    // SAFETY: `utsname` is plain arrays of char, for which all zeros is a value.
    let mut names: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes into `names` during the call and keeps no pointer to it.
    if unsafe { libc::uname(&raw mut names) } != 0 {
        return (String::new(), String::new());
    }
    (text(&names.release), text(&names.machine))
}

fn text(field: &[libc::c_char]) -> String {
    // SAFETY: the kernel ends each field with a NUL, within the array.
    unsafe { CStr::from_ptr(field.as_ptr()) }.to_string_lossy().into_owned()
}
