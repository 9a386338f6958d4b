//! Conditions and numbers: from words to a [`Condition`] that can hold for some value.

use super::super::constants;
use super::super::error::{did_you_mean, near};
use super::super::filter::{Condition, Test};
use super::super::syscalls::{Arg, Syscall, Width};
use super::raw::{RawCondition, RawNumber};

/// What is wrong, and a hint.
type Wrong = (String, Option<String>);

/// Reads one condition of a rule about `call`.
pub(super) fn condition(call: &Syscall, raw: &RawCondition) -> Result<Condition, Wrong> {
    let (index, arg) = argument(call, &raw.arg)?;
    let plain = [&raw.eq, &raw.ne, &raw.lt, &raw.le, &raw.gt, &raw.ge];
    if plain.iter().filter(|op| op.is_some()).count() + usize::from(raw.one_of.is_some()) != 1 {
        return Err(("a condition has exactly one of eq, ne, lt, le, gt, ge, in".to_owned(), None));
    }
    let width = arg.width;
    let mask = match &raw.mask {
        None => width.mask(),
        Some(mask) => masked(width, mask, raw)?,
    };
    let one = |value: &RawNumber| number(width, value);
    let test = if let Some(v) = &raw.ne {
        Test::Ne(one(v)?)
    } else if let Some(v) = &raw.lt {
        Test::Lt(one(v)?)
    } else if let Some(v) = &raw.le {
        Test::Le(one(v)?)
    } else if let Some(v) = &raw.gt {
        Test::Gt(one(v)?)
    } else if let Some(v) = &raw.ge {
        Test::Ge(one(v)?)
    } else {
        let listed = raw.one_of.iter().flatten().chain(&raw.eq);
        members(mask, listed.map(one).collect::<Result<_, _>>()?)?
    };
    let never = match test {
        Test::Lt(v) => v == 0,
        Test::Gt(v) => v == width.mask(),
        _ => false,
    };
    if never {
        return Err((format!("the condition on {} can never hold", arg.name), None));
    }
    Ok(Condition { index, arg: arg.clone(), test })
}

/// The argument of that name and its place.
pub(crate) fn argument<'a>(call: &'a Syscall, name: &str) -> Result<(u8, &'a Arg), Wrong> {
    let Some(args) = &call.args else {
        return Err((format!("the table does not know the arguments of {}", call.name), None));
    };
    let found = args.iter().zip(0u8..).find(|(arg, _)| arg.name == name);
    found.map(|(arg, i)| (i, arg)).ok_or_else(|| {
        let names: Vec<&str> = args.iter().map(|a| a.name.as_str()).collect();
        let hint = did_you_mean(&near(name, names.iter().copied()));
        let list = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        (
            format!("{} has no argument {name:?}", call.name),
            hint.or_else(|| Some(format!("its arguments are: {list}"))),
        )
    })
}

fn masked(width: Width, mask: &RawNumber, raw: &RawCondition) -> Result<u64, Wrong> {
    if raw.eq.is_none() && raw.one_of.is_none() {
        return Err(("`mask` goes with eq and in only".to_owned(), None));
    }
    match number(width, mask)? {
        0 => Err(("a mask of 0 leaves nothing to compare".to_owned(), None)),
        mask => Ok(mask),
    }
}

fn members(mask: u64, mut values: Vec<u64>) -> Result<Test, Wrong> {
    if values.is_empty() {
        return Err((
            "`in` lists no value, so the condition can never hold".to_owned(),
            Some("an empty list allows nothing: leave the rule out".to_owned()),
        ));
    }
    if let Some(value) = values.iter().find(|v| *v & !mask != 0) {
        return Err((format!("{value:#x} has bits outside the mask {mask:#x}: it can never be equal"), None));
    }
    values.sort_unstable();
    if let Some([value, _]) = values.array_windows::<2>().find(|[a, b]| a == b) {
        return Err((format!("{value:#x} is listed twice"), None));
    }
    Ok(Test::In { mask, values })
}

fn number(width: Width, raw: &RawNumber) -> Result<u64, Wrong> {
    let value = match raw {
        RawNumber::Positive(value) => *value,
        RawNumber::Negative(value) => match width {
            Width::W64 => value.cast_unsigned(),
            Width::W32 => match i32::try_from(*value) {
                Ok(value) => u64::from(value.cast_unsigned()),
                Err(_) => return Err((format!("{value} does not fit the argument's 32 bits"), None)),
            },
        },
        RawNumber::Expression(text) => return expression(width, text),
    };
    fits(width, value)
}

fn fits(width: Width, value: u64) -> Result<u64, Wrong> {
    if value & !width.mask() == 0 {
        return Ok(value);
    }
    Err((format!("{value:#x} does not fit the argument's 32 bits"), None))
}

/// `PROT_READ|PROT_WRITE`, `0x10`, `~PROT_READ`, `~(A|B)`: names and numbers joined, or all bits but these.
pub(crate) fn expression(width: Width, text: &str) -> Result<u64, Wrong> {
    let text = text.trim();
    let Some(rest) = text.strip_prefix('~') else { return joined(width, text) };
    let inside = match rest.trim().strip_prefix('(') {
        Some(list) => list.strip_suffix(')'),
        // `~A|B` could mean two things.
        None => (!rest.contains('|')).then_some(rest),
    };
    let Some(inside) = inside else {
        return Err((format!("{text:?} is not clear"), Some("write ~A or ~(A|B)".to_owned())));
    };
    Ok(!joined(width, inside)? & width.mask())
}

fn joined(width: Width, text: &str) -> Result<u64, Wrong> {
    text.split('|').try_fold(0, |sum, word| Ok(sum | fits(width, term(word.trim())?)?))
}

fn term(word: &str) -> Result<u64, Wrong> {
    let (digits, radix) = word.strip_prefix("0x").map_or((word, 10), |hex| (hex, 16));
    // from_str_radix would take a sign.
    let number =
        digits.chars().all(|c| c.is_ascii_alphanumeric()).then(|| u64::from_str_radix(digits, radix).ok());
    number.flatten().or_else(|| constants::value(word)).ok_or_else(|| {
        (
            format!("{word:?} is neither a number nor a constant that is known here"),
            did_you_mean(&near(word, constants::names())),
        )
    })
}
