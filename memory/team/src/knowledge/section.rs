//! Sections as memories.

use muninn_base::RelPath;
use muninn_text::markdown::sections;

use super::front::Front;
use crate::memories::{Memory, MemoryKind};
use crate::records::NoteUse;

/// The common data of a text's sections.
pub(super) struct SectionSource<'a> {
    pub(super) path: &'a RelPath,
    /// The Markdown, redacted.
    pub(super) body: &'a str,
    /// The first line of the text in the file, counted from 1.
    pub(super) first_line: u32,
    pub(super) confidence: Option<f32>,
    pub(super) applies_to: &'a [String],
}

/// The sections of one file. The text must be redacted.
pub fn items(path: &RelPath, front: &Front<'_>) -> Vec<Memory> {
    let text = SectionSource {
        path,
        body: front.body,
        first_line: front.body_line,
        confidence: front.confidence,
        applies_to: &front.applies_to,
    };
    text.memories(|heading| title(heading, front.domain.as_deref(), path))
}

/// The title of a section: its heading or file name, and the domain, so that a question about the domain finds every
/// section.
fn title(heading: &str, domain: Option<&str>, path: &RelPath) -> String {
    let name = if heading.is_empty() { path.file_name().trim_end_matches(".md") } else { heading };
    match domain {
        Some(domain) => format!("{name} ({domain})"),
        None => name.to_owned(),
    }
}

impl SectionSource<'_> {
    /// The sections as memories. `title` maps a heading to a title.
    pub(super) fn memories(&self, title: impl Fn(&str) -> String) -> Vec<Memory> {
        let lines: Vec<&str> = self.body.lines().collect();
        let found = sections(self.body, self.first_line).into_iter();
        let memories = found.map(|section| {
            let span = (section.first - self.first_line) as usize..=(section.last - self.first_line) as usize;
            Memory {
                kind: MemoryKind::Knowledge,
                source: format!("{}:{}-{}", self.path, section.first, section.last),
                path: self.path.to_string(),
                title: title(&section.title),
                text: lines.get(span).unwrap_or_default().join("\n"),
                related: String::new(),
                answers: Vec::new(),
                first_line: section.first,
                date: None,
                author: None,
                confidence: self.confidence,
                applies_to: self.applies_to.to_vec(),
                record_type: None,
                session: None,
                branch: None,
                task: None,
                contested: None,
                superseded: None,
                uses: NoteUse::default(),
                cites: Vec::new(),
            }
        });
        memories.collect()
    }
}
