//! Golden files: output that people have read, kept in the repository and compared with today's.

use std::path::Path;

/// Compares `actual` with a golden file, trailing white space aside. With `UPDATE_GOLDEN=1` the file is written anew
/// instead; the difference is then for people to read.
///
/// # Panics
/// When they differ, with the first line that does; where there is no such file.
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
    let first = golden
        .iter()
        .zip(&actual)
        .take_while(|(one, other)| one == other)
        .count();
    panic!(
        "{}:{} differs; UPDATE_GOLDEN=1 writes it anew\n golden: {}\n actual: {}",
        path.display(),
        first + 1,
        golden.get(first).unwrap_or(&"(end of file)"),
        actual.get(first).unwrap_or(&"(end of file)"),
    );
}
