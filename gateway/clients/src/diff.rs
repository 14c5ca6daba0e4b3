//! The difference of two texts, line by line.

use std::fmt::Write as _;

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// Maximum size of the table for the longest common subsequence. Larger differences are shown as a replacement.
const MAX_CELLS: usize = 4_000_000;

#[derive(Clone, Copy, PartialEq)]
enum Line<'t> {
    Same(&'t str),
    Removed(&'t str),
    Added(&'t str),
}

/// Returns the difference in unified form, without a header. It is empty if the texts are equal.
pub fn unified(before: &str, after: &str) -> String {
    let lines = compare(&split(before), &split(after));
    let changed: Vec<usize> = (0..lines.len()).filter(|at| !matches!(lines[*at], Line::Same(_))).collect();
    let mut text = String::new();
    let mut shown = 0;
    for hunk in changed.chunk_by(|a, b| b - a <= 2 * CONTEXT) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
            continue;
        };
        let start = first.saturating_sub(CONTEXT).max(shown);
        let end = (last + CONTEXT + 1).min(lines.len());
        shown = end;
        let numbers = |side: fn(&Line<'_>) -> bool| {
            let before = lines[..start].iter().filter(|line| side(line)).count();
            let length = lines[start..end].iter().filter(|line| side(line)).count();
            format!("{},{length}", before + usize::from(length > 0))
        };
        let old = numbers(|line| !matches!(line, Line::Added(_)));
        let new = numbers(|line| !matches!(line, Line::Removed(_)));
        writeln!(text, "@@ -{old} +{new} @@").ok();
        for line in &lines[start..end] {
            let (sign, line) = match line {
                Line::Same(line) => (' ', line),
                Line::Removed(line) => ('-', line),
                Line::Added(line) => ('+', line),
            };
            writeln!(text, "{sign}{}", line.trim_end_matches(['\n', '\r'])).ok();
            if !line.ends_with('\n') {
                text.push_str("\\ No newline at end of file\n");
            }
        }
    }
    text
}

fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn compare<'t>(before: &[&'t str], after: &[&'t str]) -> Vec<Line<'t>> {
    let same = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (prefix, before, after) = (&before[..same], &before[same..], &after[same..]);
    let same = before.iter().rev().zip(after.iter().rev());
    let same = same.take_while(|(a, b)| a == b).count();
    let (before, suffix) = before.split_at(before.len() - same);
    let after = &after[..after.len() - same];
    let mut lines: Vec<_> = prefix.iter().map(|line| Line::Same(line)).collect();
    if before.len() * after.len() <= MAX_CELLS {
        lines.extend(subsequence(before, after));
    } else {
        lines.extend(before.iter().map(|line| Line::Removed(line)));
        lines.extend(after.iter().map(|line| Line::Added(line)));
    }
    lines.extend(suffix.iter().map(|line| Line::Same(line)));
    lines
}

/// Compares by the longest common subsequence.
fn subsequence<'t>(before: &[&'t str], after: &[&'t str]) -> Vec<Line<'t>> {
    let width = after.len() + 1;
    let mut longest = vec![0_u32; (before.len() + 1) * width];
    for i in (0..before.len()).rev() {
        for j in (0..after.len()).rev() {
            longest[i * width + j] = if before[i] == after[j] {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    while i < before.len() || j < after.len() {
        if i < before.len() && j < after.len() && before[i] == after[j] {
            lines.push(Line::Same(before[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == after.len() || (i < before.len() && longest[(i + 1) * width + j] >= longest[i * width + j + 1]) {
            lines.push(Line::Removed(before[i]));
            i += 1;
        } else {
            lines.push(Line::Added(after[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_with_three_lines_of_context() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n";
        let after = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16";
        assert_eq!(
            unified(before, after),
            "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n\
             @@ -13,3 +13,4 @@\n 13\n 14\n 15\n+16\n\\ No newline at end of file\n"
        );
        assert_eq!(unified(before, before), "");
        assert_eq!(unified("", "a\n"), "@@ -0,0 +1,1 @@\n+a\n");
    }

    #[test]
    fn large_differences_are_shown_as_a_replacement() {
        let lines = |word: &str| (0..2_500).map(|n| format!("{word}{n}\n")).collect::<String>();
        let text = unified(&lines("a"), &lines("b"));
        assert_eq!(text.lines().count(), 5_001);
        assert!(text.starts_with("@@ -1,2500 +1,2500 @@\n-a0\n"));
    }
}
