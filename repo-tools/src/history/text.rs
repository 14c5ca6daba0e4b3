//! Unified diffs of two texts.

use std::fmt::Write as _;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

/// Content with a NUL byte within this many bytes is binary, by the rule of git.
const BINARY_WINDOW: usize = 8 * 1024;

/// The difference of two texts.
#[derive(Default)]
pub(super) struct TextDiff {
    /// The hunks, without `---` and `+++` lines.
    pub(super) text: String,
    pub(super) added: u32,
    pub(super) removed: u32,
}

pub(super) fn is_binary(content: &[u8]) -> bool {
    memchr::memchr(0, &content[..content.len().min(BINARY_WINDOW)]).is_some()
}

pub(super) fn text_diff(before: &[u8], after: &[u8], context: u32) -> TextDiff {
    let (before, after) = (String::from_utf8_lossy(before), String::from_utf8_lossy(after));
    let input = InternedInput::new(&*before, &*after);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    TextDiff {
        text: hunks(&diff, &input, context),
        added: diff.count_additions(),
        removed: diff.count_removals(),
    }
}

/// Prints hunks; close changes share one. The library's own printer writes ranges that `patch` rejects.
fn hunks(diff: &Diff, input: &InternedInput<&str>, context: u32) -> String {
    let total = u32::try_from(input.before.len()).unwrap_or(u32::MAX);
    let mut groups: Vec<Vec<(Range<u32>, Range<u32>)>> = Vec::new();
    for hunk in diff.hunks() {
        let change = (hunk.before, hunk.after);
        match groups.last_mut() {
            Some(group)
                if group
                    .last()
                    .is_some_and(|(last, _)| change.0.start - last.end <= 2 * context) =>
            {
                group.push(change);
            }
            _ => groups.push(vec![change]),
        }
    }
    let mut text = String::new();
    for group in &groups {
        let (Some((first, first_after)), Some((last, last_after))) = (group.first(), group.last()) else {
            continue;
        };
        let lead = context.min(first.start);
        let trail = context.min(total - last.end);
        let before = first.start - lead..last.end + trail;
        let after = first_after.start - lead..last_after.end + trail;
        let _ = writeln!(text, "@@ -{} +{} @@", numbers(&before), numbers(&after));
        let mut at = before.start;
        for (removed, added) in group {
            lines(&mut text, ' ', input, &input.before, at..removed.start);
            lines(&mut text, '-', input, &input.before, removed.clone());
            lines(&mut text, '+', input, &input.after, added.clone());
            at = removed.end;
        }
        lines(&mut text, ' ', input, &input.before, at..before.end);
    }
    text
}

/// Formats a range for a hunk's head: counted from 1, without a length of one; an empty range names the line before it.
fn numbers(range: &Range<u32>) -> String {
    match range.end - range.start {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        length => format!("{},{length}", range.start + 1),
    }
}

fn lines(text: &mut String, mark: char, input: &InternedInput<&str>, side: &[imara_diff::Token], range: Range<u32>) {
    for token in side.get(range.start as usize..range.end as usize).unwrap_or_default() {
        let line = input.interner[*token];
        text.push(mark);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}
