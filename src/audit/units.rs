//! Numbers as people read them.

/// Bytes with the largest unit that divides them: `64 KiB`, `1 GiB`, `1000 B`.
pub fn bytes(number: u64) -> String {
    for (name, size) in [("TiB", 1u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)] {
        if number >= size && number.is_multiple_of(size) {
            return format!("{} {name}", number / size);
        }
    }
    format!("{number} B")
}

/// Milliseconds as seconds where they are whole: `30 s`, `1500 ms`.
pub fn millis(number: u64) -> String {
    if number.is_multiple_of(1_000) { format!("{} s", number / 1_000) } else { format!("{number} ms") }
}

/// A count with its noun: `1 file`, `2 files`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_whole_unit_is_taken() {
        assert_eq!(
            [bytes(0), bytes(1000), bytes(65536), bytes(3 << 30)],
            ["0 B", "1000 B", "64 KiB", "3 GiB"]
        );
        assert_eq!([millis(30_000), millis(1_500)], ["30 s", "1500 ms"]);
        assert_eq!([count(1, "file"), count(0, "file")], ["1 file", "0 files"]);
    }
}
