//! Quantities: a number with its unit, in one spelling for all that are equal.

/// Each unit with its base unit and its factor.
const UNITS: [(&str, &str, f64); 14] = [
    ("ns", "s", 1e-9),
    ("us µs", "s", 1e-6),
    ("ms msec millisecond milliseconds", "s", 1e-3),
    ("s sec secs second seconds", "s", 1.0),
    ("min mins minute minutes", "s", 60.0),
    ("h hr hrs hour hours", "s", 3600.0),
    ("d day days", "s", 86400.0),
    ("week weeks", "s", 604_800.0),
    ("byte bytes", "B", 1.0),
    ("kb kib kilobyte kilobytes", "B", 1024.0),
    ("mb mib megabyte megabytes", "B", 1_048_576.0),
    ("gb gib gigabyte gigabytes", "B", 1_073_741_824.0),
    ("tb tib terabyte terabytes", "B", 1_099_511_627_776.0),
    ("% percent", "%", 1.0),
];

/// Longer numbers are compared as they are written: a float would round them.
const MOST_DIGITS: usize = 15;

/// The value and the base unit of a number with a unit, such as `30 s` for `30` and `seconds`.
pub(super) fn quantity(number: &str, unit: &str) -> Option<String> {
    let unit = unit.to_lowercase();
    let (_, base, factor) = UNITS.iter().find(|(names, ..)| names.split(' ').any(|name| name == unit))?;
    let value: f64 = number.replace([',', '_'], "").parse().ok().filter(|_| number.len() <= MOST_DIGITS)?;
    Some(format!("{} {base}", rounded(value * factor)))
}

/// A number without trailing zeros and thousands separators: `1000` for `1,000`.
pub(super) fn plain(number: &str) -> String {
    let digits = number.replace(',', "");
    match digits.parse::<f64>() {
        Ok(value) if digits.len() <= MOST_DIGITS && !digits.contains('.') => rounded(value),
        _ => number.to_owned(),
    }
}

/// Nine significant digits absorb the rounding of factors.
fn rounded(value: f64) -> String {
    let shown = format!("{value:.9}");
    shown.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A number and the letters after it: `200ms`, `10%`.
pub(super) fn split(word: &str) -> Option<(&str, &str)> {
    let end = word.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',' | '_'))?;
    let (number, unit) = word.split_at(end);
    (!number.is_empty() && unit.chars().all(|c| c.is_alphabetic() || c == '%')).then_some((number, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_quantities_have_one_spelling() {
        for same in [
            vec![("30", "s"), ("0.5", "minute"), ("30,000", "ms"), ("30", "Seconds")],
            vec![("1", "MiB"), ("1024", "kB"), ("1048576", "bytes")],
            vec![("1.5", "hours"), ("90", "min")],
        ] {
            let first = quantity(same[0].0, same[0].1).unwrap();
            for (number, unit) in same {
                assert_eq!(quantity(number, unit).unwrap(), first, "{number} {unit}");
            }
        }
        assert_eq!(quantity("3", "apples"), None);
        assert_eq!(plain("5,000"), plain("5000"));
        assert_ne!(plain("1.10"), plain("1.1"), "versions");
        assert_ne!(plain(&"1".repeat(400)), plain(&"2".repeat(400)));
        assert_eq!(split("200ms"), Some(("200", "ms")));
        assert_eq!(split("v3"), None);
    }
}
