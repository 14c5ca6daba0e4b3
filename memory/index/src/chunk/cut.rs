use std::time::Duration;

use muninn_base::RelPath;
use muninn_code::syntax::{Language, ParseLimits, Parsed, parse};
use muninn_text::markdown;

use super::piece::Chunk;
use super::{definitions, outline, runs};
use crate::language::{Form, language};

/// Length of a line of data; a file of such lines is generated.
const DATA_LINE_BYTES: usize = 2_000;

/// Timeout of parsing, far above the usual time. The result is cached permanently, so a busy machine must not truncate
/// it.
const MAX_PARSE_TIME: Duration = Duration::from_secs(5);

/// The chunks of a text, and its parsed syntax.
pub(crate) struct Cut {
    /// Chunks in line order; none for a blank file.
    pub(crate) chunks: Vec<Chunk>,
    /// `None` without a grammar, or if parsing hit a limit.
    pub(crate) parsed: Option<(Language, Parsed)>,
}

/// Splits a text by definitions, by headings, or into runs of lines.
pub(crate) fn cut(path: &RelPath, text: &str) -> Cut {
    let lines: Vec<&str> = text.lines().collect();
    let (_, form) = language(path);
    if form == Form::Markdown {
        let chunks = sections(text, &lines);
        return Cut { chunks, parsed: None };
    }
    let limits = ParseLimits { max_time: MAX_PARSE_TIME, ..ParseLimits::default() };
    let parsed = Language::of(path, text).and_then(|language| Some((language, parse(language, text, &limits).ok()?)));
    let chunks = match &parsed {
        Some((_, parsed)) => definitions::outline(&lines, parsed),
        None if form == Form::Code => outline::outline(&lines),
        None => runs::windows(&lines, 0..lines.len()).collect(),
    };
    Cut { chunks, parsed }
}

/// Returns whether the lines are so long that the file must be generated.
pub(crate) fn is_data(text: &str) -> bool {
    let lines = text.lines().count().max(1);
    text.len() / lines > 300 || text.lines().any(|line| line.len() > 10 * DATA_LINE_BYTES)
}

fn sections(text: &str, lines: &[&str]) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    for section in markdown::sections(text, 1) {
        let range = section.first as usize - 1..section.last as usize;
        for mut window in runs::windows(lines, range) {
            window.parent = (window.first != section.first).then_some(section.first);
            window.title = section.first;
            chunks.push(window);
        }
    }
    chunks
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::chunk::MAX_LINES;

    pub(crate) fn spans(path: &str, text: &str) -> Vec<(u32, u32, u32, String)> {
        let chunks = cut(&RelPath::new(path).unwrap(), text).chunks;
        chunks.into_iter().map(|c| (c.first, c.last, c.title, c.names.join(" "))).collect()
    }

    #[test]
    fn markdown_is_split_at_headings() {
        let long = "word\n".repeat(100);
        let text = format!("# One\ntext\n\n## Two\n{long}");
        let chunks = cut(&RelPath::new("a.md").unwrap(), &text).chunks;
        assert_eq!((chunks[0].first, chunks[0].last), (1, 2));
        assert!(chunks[1..].iter().all(|chunk| chunk.title == 4));
        assert_eq!(chunks.last().unwrap().last, 104);
    }

    #[test]
    fn plain_text_is_split_into_runs() {
        let text = "key: value\n".repeat(130);
        let spans = spans("a.yaml", &text);
        assert!(spans.len() >= 3 && spans.iter().all(|(first, last, ..)| last - first < MAX_LINES as u32));
        assert!(spans.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0));
    }

    #[test]
    fn any_text_is_split_into_whole_lines() {
        let odd =
            ["", "\n\n\n", "}\n}\n", "x", "fn a() {\nfn b() {\n", "\r\n\r\nfn a() {}\r\n", "\t\t\tfn\n", "@\n#\n//\n"];
        for text in odd.iter().map(|text| text.repeat(70)) {
            for path in ["a.rs", "a.py", "a.md", "a.bin", "a.go", "a.c"] {
                let lines = u32::try_from(text.lines().count()).unwrap();
                let spans = spans(path, &text);
                assert!(spans.iter().all(|(first, last, title, _)| first <= last && *last <= lines && *title >= 1));
                assert!(spans.windows(2).all(|pair| pair[0].1 < pair[1].0), "{path} {text:?} {spans:?}");
            }
        }
    }

    #[test]
    fn long_lines_are_data() {
        assert!(is_data(&"x".repeat(5000)));
        assert!(!is_data(include_str!("mod.rs")));
        assert!(!is_data(""));
    }
}
