//! Sizes and durations as policies write them: `"64 MiB"`, `"30 s"`.

/// What is wrong with a size or a duration.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum UnitError {
    /// The text is not a whole number and a unit.
    #[error("{text:?} is not a {kind}\nhint: write a whole number and a unit, such as {example}")]
    Shape {
        /// What was written.
        text: String,
        /// `size` or `duration`.
        kind: &'static str,
        /// A good one.
        example: &'static str,
    },
    /// The value does not fit in 64 bits.
    #[error("{text:?} is too large")]
    TooLarge {
        /// What was written.
        text: String,
    },
}

const SIZES: &[(&str, u64)] = &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
const DURATIONS: &[(&str, u64)] = &[("ms", 1), ("s", 1_000), ("m", 60_000)];

fn scaled(
    text: &str,
    units: &[(&str, u64)],
    kind: &'static str,
    example: &'static str,
) -> Result<u64, UnitError> {
    let shape = || UnitError::Shape { text: text.to_owned(), kind, example };
    let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(shape)?;
    let (number, unit) = text.split_at_checked(digits).ok_or_else(shape)?;
    let unit = unit.strip_prefix(' ').unwrap_or(unit);
    let factor = units.iter().find(|(name, _)| *name == unit).ok_or_else(shape)?.1;
    if number.is_empty() {
        return Err(shape());
    }
    number
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(factor))
        .ok_or_else(|| UnitError::TooLarge { text: text.to_owned() })
}

/// Bytes of a size such as `64 MiB`; units are B, KiB, MiB and GiB.
pub fn bytes(text: &str) -> Result<u64, UnitError> {
    scaled(text, SIZES, "size", "\"64 MiB\" (B, KiB, MiB or GiB)")
}

/// Milliseconds of a duration such as `30 s`; units are ms, s and m.
pub fn millis(text: &str) -> Result<u64, UnitError> {
    scaled(text, DURATIONS, "duration", "\"30 s\" (ms, s or m)")
}

#[cfg(test)]
mod tests {
    use super::{bytes, millis};

    #[test]
    fn good_ones() {
        assert_eq!(bytes("64 MiB"), Ok(64 << 20));
        assert_eq!(bytes("0B"), Ok(0));
        assert_eq!(millis("2m"), Ok(120_000));
        assert_eq!(millis("1500 ms"), Ok(1_500));
    }

    #[test]
    fn bad_ones() {
        for text in [
            "",
            "64",
            "MiB",
            " 1 B",
            "1  B",
            "-1 B",
            "1.5 MiB",
            "1 mib",
            "1 MiB ",
            "1 s",
            "99999999999999999999 B",
        ] {
            assert!(bytes(text).is_err(), "{text:?}");
        }
        for text in ["", "1", "s", "1 h", "1 B", "18446744073709551615 m"] {
            assert!(millis(text).is_err(), "{text:?}");
        }
    }
}
