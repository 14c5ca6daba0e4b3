//! Reading the source spans of a rendered block.

/// The span of a file in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceSpan {
    /// The path from the worktree's root.
    pub(crate) path: String,
    /// The first line, counted from 1.
    pub(crate) first: u32,
    /// The last line.
    pub(crate) last: u32,
    /// The first digits of the blob id.
    pub(crate) blob: String,
}

/// Returns the code spans of a block from [`super::block`]. Headings inside of quoted files, and other lines, are
/// ignored.
pub(crate) fn sources(block: &str) -> Vec<SourceSpan> {
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
fn source(heading: &str) -> Option<SourceSpan> {
    let (source, blob) = heading.rsplit_once(" @")?;
    let (path, lines) = source.rsplit_once(':')?;
    let (first, last) = lines.split_once('-')?;
    if blob.is_empty() || !blob.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    Some(SourceSpan {
        path: path.to_owned(),
        first: first.parse().ok()?,
        last: last.parse().ok()?,
        blob: blob.to_owned(),
    })
}
