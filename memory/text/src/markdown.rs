//! Splits Markdown into sections.

/// The lines under one heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The heading's text; empty before the first heading.
    pub title: String,
    /// The number of `#`, from 1 to 6; 0 before the first heading.
    pub level: usize,
    /// The number of the first line, from 1: the heading's line, if there is a heading.
    pub first: u32,
    /// The number of the last line, which belongs to the section.
    pub last: u32,
}

/// Splits a text at its `#` headings. Blank sections are dropped, and headings inside code fences are code.
///
/// `first` is the number of the text's first line, for callers that removed front matter.
pub fn sections(text: &str, first: u32) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut last_content = 0;
    for (number, line) in (first..).zip(text.lines()) {
        let trimmed = line.trim_start();
        let opens_section = fence.is_none() && heading(line).is_some();
        if opens_section || sections.is_empty() {
            close(&mut sections, last_content);
            let title = heading(line).unwrap_or_default().to_owned();
            sections.push(Section {
                level: if opens_section { level(line) } else { 0 },
                title,
                first: number,
                last: number,
            });
        }
        match fence {
            Some(mark) if trimmed.starts_with(mark) => fence = None,
            Some(_) => {}
            None => fence = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark)),
        }
        if !line.trim().is_empty() {
            last_content = number;
        }
    }
    close(&mut sections, last_content);
    sections
}

/// Ends the last section at its last non-blank line, or drops it if it has none.
fn close(sections: &mut Vec<Section>, last_content: u32) {
    match sections.last_mut() {
        Some(section) if section.first <= last_content => section.last = last_content,
        Some(_) => {
            sections.pop();
        }
        None => {}
    }
}

/// The text of an ATX heading; `None` for other lines.
pub fn heading(line: &str) -> Option<&str> {
    let words = line.trim_start_matches('#');
    let is_heading = (1..=6).contains(&level(line)) && words.starts_with([' ', '\t']);
    is_heading.then(|| words.trim().trim_end_matches('#').trim_end())
}

fn level(line: &str) -> usize {
    line.len() - line.trim_start_matches('#').len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(text: &str) -> Vec<(String, u32, u32)> {
        sections(text, 1).into_iter().map(|s| (s.title, s.first, s.last)).collect()
    }

    #[test]
    fn sections_start_at_headings_outside_of_fences() {
        let text = "intro\n\n# One\nbody\n```sh\n# not a heading\n```\n\n## Two ##\n\nmore\n\n";
        let expected = [(String::new(), 1, 1), ("One".to_owned(), 3, 7), ("Two".to_owned(), 9, 11)];
        assert_eq!(spans(text), expected);
    }

    #[test]
    fn unusual_texts_have_valid_sections() {
        assert!(spans("").is_empty());
        assert!(spans("\n \n").is_empty());
        assert_eq!(spans("#hashtag\n").len(), 1);
        assert_eq!(spans("```\nnever closed\n# x"), [(String::new(), 1, 3)]);
        assert_eq!(sections("# A", 10)[0].first, 10);
    }
}
