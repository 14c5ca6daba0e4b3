//! Reading back what a block names.

/// A span of a file that stands in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    /// Relative to the worktree's root.
    pub(crate) path: String,
    /// Its first line, counted from 1.
    pub(crate) first: u32,
    /// Its last line.
    pub(crate) last: u32,
    /// The first digits of the blob's id.
    pub(crate) blob: String,
}

/// The spans of code in a block of [`super::block`]. A heading inside of a quoted file is none of ours, and what does
/// not read as a heading is passed over.
pub(crate) fn sources(block: &str) -> Vec<Source> {
    let mut sources = Vec::new();
    let mut fence: Option<&str> = None;
    for line in block.lines() {
        match fence {
            Some(open) if line == open => fence = None,
            Some(_) => {}
            None if line.starts_with("```") => {
                fence = Some(&line[..line.len() - line.trim_start_matches('`').len()]);
            }
            None => sources.extend(line.strip_prefix("## ").and_then(source)),
        }
    }
    sources
}

/// Reads `path:first-last @blob`.
fn source(heading: &str) -> Option<Source> {
    let (source, blob) = heading.rsplit_once(" @")?;
    let (path, lines) = source.rsplit_once(':')?;
    let (first, last) = lines.split_once('-')?;
    if blob.is_empty() || !blob.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    Some(Source {
        path: path.to_owned(),
        first: first.parse().ok()?,
        last: last.parse().ok()?,
        blob: blob.to_owned(),
    })
}
