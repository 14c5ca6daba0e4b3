//! The head of a document: the little of YAML that Metis writes.
//!
//! Keys at the start of a line, scalars with or without quotes, lists in one line or one to a line. Anything else is
//! passed over.

/// The keys of a head, with their values as written.
pub(super) struct Head<'t> {
    lines: Vec<&'t str>,
}

impl<'t> Head<'t> {
    /// The head of a text and what follows it; `None` where there is no head, or no end to it.
    pub(super) fn split(text: &'t str) -> Option<(Self, &'t str)> {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let rest = text.strip_prefix("---")?;
        let rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n'))?;
        let mut lines = Vec::new();
        let mut at = 0;
        for line in rest.split_inclusive('\n') {
            at += line.len();
            if line.trim_end() == "---" {
                return Some((Self { lines }, &rest[at..]));
            }
            lines.push(line.trim_end());
        }
        None
    }

    fn value(&self, key: &str) -> Option<(usize, &'t str)> {
        self.lines.iter().enumerate().find_map(|(at, line)| {
            let value = line.strip_prefix(key)?.strip_prefix(':')?;
            Some((at, value.trim()))
        })
    }

    /// A scalar; `None` where it is missing, empty or null.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        let (_, value) = self.value(key)?;
        let value = scalar(value);
        (!matches!(value.as_str(), "" | "null" | "~" | "NULL" | "[]")).then_some(value)
    }

    /// A list; empty where it is missing.
    pub(super) fn list(&self, key: &str) -> Vec<String> {
        let Some((at, value)) = self.value(key) else {
            return Vec::new();
        };
        if let Some(inline) = value.strip_prefix('[') {
            let inline = inline.trim_end_matches(']');
            return inline
                .split(',')
                .map(|item| scalar(item.trim()))
                .filter(|item| !item.is_empty())
                .collect();
        }
        let below = self.lines.get(at + 1..).unwrap_or_default().iter();
        below
            .map(|line| line.trim())
            .take_while(|line| line.starts_with('-') || line.starts_with('#') || line.is_empty())
            .filter_map(|line| line.strip_prefix("- "))
            .map(|item| scalar(item.trim()))
            .collect()
    }
}

/// A scalar without its quotes, or without the comment behind it.
fn scalar(text: &str) -> String {
    for quote in ['"', '\''] {
        if let Some(rest) = text.strip_prefix(quote) {
            let end = rest.rfind(quote).unwrap_or(rest.len());
            return rest[..end].replace("\\\"", "\"");
        }
    }
    let plain = text.split_once(" #").map_or(text, |(plain, _)| plain);
    plain.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_scalars_and_lists() {
        let (head, body) = Head::split(
            "---\na: 1 # one\nb: \"x # y\"\nc: 'it''s'\nd:\ne: [x, \"y\"]\nf:\n  - 'p'\n  # no\n  - q\ng: z\n---\nrest",
        )
        .unwrap();
        assert_eq!(head.text("a").as_deref(), Some("1"));
        assert_eq!(head.text("b").as_deref(), Some("x # y"));
        assert_eq!(head.text("d"), None);
        assert_eq!(
            (head.list("e"), head.list("f")),
            (vec!["x".into(), "y".into()], vec!["p".into(), "q".to_owned()])
        );
        assert_eq!(body, "rest");
        assert!(Head::split("no head").is_none() && Head::split("---\nno end").is_none());
    }
}
