//! Golden files: reviewed output in the repository, which tests compare with the current output.

use std::fmt::Write as _;
use std::path::Path;

/// Compares a page of `docs/reference/` with `text`, which is generated from `source`. `UPDATE_GOLDEN=1` writes the
/// page.
///
/// # Panics
/// If the page is outdated or was edited by hand.
pub fn assert_reference_page(page: &str, source: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference").join(page);
    let note = format!("<!-- Generated from {source}. Do not edit: `UPDATE_GOLDEN=1 cargo test` writes this page. -->");
    assert_golden(&path, &format!("{note}\n\n{text}"));
}

/// Compares `actual` with a golden file, and ignores trailing white space. `UPDATE_GOLDEN=1` writes the file first;
/// review the difference.
///
/// # Panics
/// If they differ, or the file is missing. The message shows the first different line.
pub fn assert_golden(path: &Path, actual: &str) {
    let actual = format!("{}\n", actual.trim_end());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, &actual).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap_or_default();
    if golden == actual {
        return;
    }
    let (golden, actual): (Vec<&str>, Vec<&str>) = (golden.lines().collect(), actual.lines().collect());
    let first = golden.iter().zip(&actual).take_while(|(one, other)| one == other).count();
    panic!(
        "{}:{} differs; UPDATE_GOLDEN=1 writes it\n golden: {}\n actual: {}",
        path.display(),
        first + 1,
        golden.get(first).unwrap_or(&"(end of file)"),
        actual.get(first).unwrap_or(&"(end of file)"),
    );
}

/// Indents JSON text. Keys keep their order and numbers their digits.
pub fn pretty(json: &str) -> String {
    let (mut out, mut depth, mut in_string, mut escaped) = (String::new(), 0, false, false);
    let mut characters = json.chars().peekable();
    while let Some(character) = characters.next() {
        if in_string {
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
            out.push(character);
            continue;
        }
        let break_line = |out: &mut String, depth: usize| write!(out, "\n{}", "  ".repeat(depth)).unwrap();
        match character {
            '{' | '[' => {
                out.push(character);
                if !matches!(characters.peek(), Some('}' | ']')) {
                    depth += 1;
                    break_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                if !out.ends_with(['{', '[']) {
                    depth -= 1;
                    break_line(&mut out, depth);
                }
                out.push(character);
            }
            ',' => {
                out.push(',');
                break_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            character if character.is_whitespace() => {}
            character => {
                in_string = character == '"';
                out.push(character);
            }
        }
    }
    out
}
