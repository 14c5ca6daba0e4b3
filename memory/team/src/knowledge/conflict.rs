//! Merge conflict markers in a file.

/// Returns the line of the first marker, counted from 1, if a complete conflict follows it: a single row of `<` can be
/// a drawing.
pub(super) fn first_marker(text: &str) -> Option<u32> {
    let mut opened = None;
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with("<<<<<<< ") {
            opened.get_or_insert(number);
        } else if line.starts_with(">>>>>>> ") && opened.is_some() {
            return opened;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflict_needs_both_markers() {
        assert_eq!(first_marker("a\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> other\n"), Some(2));
        for text in ["<<<<<<< \nlone\n", ">>>>>>> b\n<<<<<<< a\n", "  <<<<<<< HEAD\n>>>>>>> b\n"] {
            assert_eq!(first_marker(text), None, "{text}");
        }
    }
}
