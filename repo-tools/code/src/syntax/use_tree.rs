//! Import lists with braces in Rust and PHP: `a::{b, c as d, e::{self, *}}`.
//!
//! The lists are parsed from the text, because the grammars represent them in a dozen shapes.

use super::parsed::Imported;

/// Returns the modules of an import list with the names imported from each, in order.
///
/// `separator` joins the parts of a path in the result.
pub(super) fn read(text: &str, separator: &str) -> Vec<(String, Vec<Imported>)> {
    let mut reader = Reader { separator, ..Reader::default() };
    let mut alias_follows = false;
    for token in tokens(text) {
        match token {
            "{" => reader.open.push(reader.parts.len()),
            "}" => {
                reader.leaf();
                reader.open.pop();
                reader.parts.truncate(reader.open.last().copied().unwrap_or(0));
                // The path before the closed list is not a leaf.
                reader.done = true;
            }
            "," => reader.leaf(),
            "as" => alias_follows = true,
            alias if std::mem::take(&mut alias_follows) => reader.alias = Some(alias),
            part => {
                reader.parts.push(part);
                reader.done = false;
            }
        }
    }
    reader.leaf();
    reader.found
}

#[derive(Default)]
struct Reader<'s> {
    separator: &'s str,
    parts: Vec<&'s str>,
    /// The number of parts before each open brace.
    open: Vec<usize>,
    alias: Option<&'s str>,
    /// Whether the last leaf has been added and no part follows it.
    done: bool,
    found: Vec<(String, Vec<Imported>)>,
}

impl Reader<'_> {
    fn leaf(&mut self) {
        let base = self.open.last().copied().unwrap_or(0);
        let alias = self.alias.take();
        if !self.done && self.parts.len() > base {
            if self.parts.len() > 1 && self.parts.last() == Some(&"self") {
                self.parts.pop();
            }
            if let Some((name, path)) = self.parts.split_last() {
                let path = path.join(self.separator);
                let imported = Imported { name: (*name).into(), alias: alias.map(Into::into) };
                match self.found.last_mut() {
                    Some((last, names)) if *last == path => names.push(imported),
                    _ => self.found.push((path, vec![imported])),
                }
            }
        }
        self.parts.truncate(base);
        self.done = false;
    }
}

/// Splits a text into names, braces, commas and stars; everything else separates them.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '#' | '$');
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| !name(c) && !matches!(c, '{' | '}' | ',' | '*'));
        let first = rest.chars().next()?;
        let length = if name(first) { rest.find(|c| !name(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (token, after) = rest.split_at(length);
        rest = after;
        Some(token)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flattens_lists() {
        for (text, expected) in [
            ("std::fmt", "std[fmt]"),
            ("serde", "[serde]"),
            ("super::*", "super[*]"),
            ("crate::wire as w", "crate[wire=w]"),
            ("std::{fmt, io::{self, Read as R}, *}", "std[fmt io] std::io[Read=R] std[*]"),
            ("a::{b::{c, d}, e}", "a::b[c d] a[e]"),
            ("{a, b::c}", "[a] b[c]"),
            ("a::{b, }", "a[b]"),
            ("", ""),
        ] {
            let shown: Vec<String> = read(text, "::")
                .into_iter()
                .map(|(path, names)| {
                    let names: Vec<String> = names
                        .iter()
                        .map(|name| match &name.alias {
                            Some(alias) => format!("{}={alias}", name.name),
                            None => name.name.to_string(),
                        })
                        .collect();
                    format!("{path}[{}]", names.join(" "))
                })
                .collect();
            assert_eq!(shown.join(" "), expected, "{text}");
        }
    }
}
