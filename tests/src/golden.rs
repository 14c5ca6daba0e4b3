//! Golden files: reviewed output in the repository, which tests compare with the current output.

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
