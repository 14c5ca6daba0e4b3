//! The file of a section: the overview, and below it a comment with the number of entries. The number changes with each
//! entry, so that each entry changes its file.

const BEFORE: &str = "<!-- entry count: ";
const AFTER: &str = " -->";

/// A section's file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SectionFile {
    /// The current understanding.
    pub(super) overview: String,
    /// The number of entries.
    pub(super) count: u64,
}

impl SectionFile {
    /// Reads a file. A file without a number, written by other means, has no entries.
    pub(super) fn parse(text: &str) -> Self {
        let trimmed = text.trim_end();
        let start = trimmed.rfind('\n').map_or(0, |at| at + 1);
        match count(&trimmed[start..]) {
            Some(count) => Self { overview: without_end(&trimmed[..start]), count },
            None => Self { overview: text.to_owned(), count: 0 },
        }
    }

    pub(super) fn render(&self) -> String {
        let overview = without_counts(&self.overview);
        let gap = if overview.is_empty() { "" } else { "\n\n" };
        format!("{overview}{gap}{BEFORE}{}{AFTER}\n", self.count)
    }
}

fn count(line: &str) -> Option<u64> {
    line.strip_prefix(BEFORE)?.strip_suffix(AFTER)?.parse().ok()
}

fn without_end(text: &str) -> String {
    text.trim_end_matches(['\n', '\r']).to_owned()
}

/// An overview without numbers at its end, which a writer has copied from the file.
fn without_counts(overview: &str) -> String {
    let mut text = overview.trim_end();
    while let Some((above, last)) = text.rsplit_once('\n').or((!text.is_empty()).then_some(("", text))) {
        if count(last).is_none() {
            break;
        }
        text = above.trim_end();
    }
    without_end(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overview_and_number_are_read_back() {
        for (overview, text) in [
            ("", "<!-- entry count: 7 -->\n"),
            ("# Now\n\nWe use REST.", "# Now\n\nWe use REST.\n\n<!-- entry count: 7 -->\n"),
        ] {
            let file = SectionFile { overview: overview.to_owned(), count: 7 };
            assert_eq!(file.render(), text);
            assert_eq!(SectionFile::parse(text), file);
        }
    }

    #[test]
    fn numbers_in_a_new_overview_are_left_out_at_its_end_only() {
        let rendered = |overview: &str| {
            let overview = overview.to_owned();
            SectionFile { overview, count: 2 }.render()
        };
        assert_eq!(
            rendered("x\n\n<!-- entry count: 1 -->\n\n<!-- entry count: 9 -->\n"),
            "x\n\n<!-- entry count: 2 -->\n"
        );
        assert_eq!(rendered("<!-- entry count: 1 -->"), "<!-- entry count: 2 -->\n");
        assert_eq!(rendered("<!-- entry count: 1 -->\nx\n"), "<!-- entry count: 1 -->\nx\n\n<!-- entry count: 2 -->\n");
    }

    #[test]
    fn file_of_other_means_is_an_overview() {
        let of = |text: &str| SectionFile::parse(text);
        assert_eq!((of("text\n").overview.as_str(), of("text\n").count), ("text\n", 0));
        assert_eq!(of("<!-- entry count: x -->").count, 0);
        assert_eq!(of(""), SectionFile::default());
        assert_eq!(of("a\r\n\r\n<!-- entry count: 3 -->\r\n"), SectionFile { overview: "a".to_owned(), count: 3 });
    }
}
