//! madvise(2) on our own executable, found by dl_iterate_phdr(3).

use std::ffi::{c_int, c_void};

/// Gives back the memory of our own code and constants that only the start needed; what is needed again comes back from the
/// page cache. Nothing is lost: these mappings are of a file and were never written to. A failure changes nothing.
pub fn let_go_of_code() {
    // SAFETY: the callback keeps nothing of what it is handed, and stops after the first object, which is the executable.
    unsafe { libc::dl_iterate_phdr(Some(let_go_of_segments), std::ptr::null_mut()) };
}

unsafe extern "C" fn let_go_of_segments(info: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
    const PAGE: usize = 4096;
    // SAFETY: the loader hands over a valid description that lives as long as this call.
    let info = unsafe { &*info };
    // SAFETY: the loader's table of that many program headers, mapped as long as the executable is.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    for header in headers {
        // What is relocated while loading lies in segments that can be written to: those are left alone.
        if header.p_type != libc::PT_LOAD || header.p_flags & libc::PF_W != 0 {
            continue;
        }
        let at = |address: libc::Elf64_Addr| usize::try_from(info.dlpi_addr + address).unwrap_or(0);
        // Whole pages inside of the segment only.
        let first = at(header.p_vaddr).next_multiple_of(PAGE);
        let end = at(header.p_vaddr + header.p_memsz) / PAGE * PAGE;
        if end > first {
            // SAFETY: clean pages of a read-only private mapping of a file: what is read there afterwards, code included, is
            // the same as before.
            unsafe { libc::madvise(first as *mut c_void, end - first, libc::MADV_DONTNEED) };
        }
    }
    1
}

#[cfg(test)]
mod tests {
    #[test]
    fn code_and_constants_are_the_same_afterwards() {
        let text = include_str!("madvise.rs");
        let before: u64 = text.bytes().map(u64::from).sum();
        super::let_go_of_code();
        assert_eq!(text.bytes().map(u64::from).sum::<u64>(), before);
        assert_eq!(format!("{:?}", std::time::Duration::from_millis(1500)), "1.5s");
    }
}
