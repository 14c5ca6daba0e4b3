//! Finding the files and lines that a question names: paths, and stack frames of many languages.

use muninn_base::RelPath;
use muninn_index::language;

/// Maximum number of named paths.
const MAX_PATHS: usize = 32;
/// File extensions without a language.
const OTHER_EXTENSIONS: &[&str] =
    &["adoc", "cfg", "conf", "csproj", "env", "gradle", "ini", "lock", "mod", "rst", "txt"];

/// A path that a question names, with an optional line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedPath {
    /// The path in lower case, with slashes, without a leading `./` or drive.
    pub(crate) path: String,
    pub(crate) line: Option<u32>,
}

/// Returns the paths in a text: words with a slash between them, or a file name with an extension. The line is read
/// from `:LINE`, `(LINE)`, `, line LINE`, `:line LINE` or ` on line LINE` behind the path.
pub(super) fn named_paths(text: &str) -> Vec<NamedPath> {
    let mut paths: Vec<NamedPath> = Vec::new();
    for line in text.lines() {
        let pieces: Vec<&str> = line.split(separates).filter(|piece| !piece.is_empty()).collect();
        let opened = |piece: &str| {
            let end = piece.as_ptr() as usize - line.as_ptr() as usize + piece.len();
            line[end..].starts_with('(')
        };
        for (at, &piece) in pieces.iter().enumerate() {
            let Some(mut named) = path_of(piece, &pieces[at + 1..], opened(piece)) else {
                continue;
            };
            if let Some(folder) = at.checked_sub(1).and_then(|before| package(pieces[before], &named.path)) {
                named.path = folder + "/" + &named.path;
            }
            if !paths.contains(&named) && paths.len() < MAX_PATHS {
                paths.push(named);
            }
        }
    }
    paths
}

fn separates(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '<' | '>' | ',' | ';')
}

/// Reads a piece of a line as a path, with the line number in it or in the pieces behind it.
fn path_of(piece: &str, behind: &[&str], opened: bool) -> Option<NamedPath> {
    let piece = piece.trim_end_matches(['.', ':', '!', '?']);
    let piece = local(piece)?;
    let (path, rest) = piece.split_once(':').unwrap_or((piece, ""));
    let path = path.replace('\\', "/");
    let path = path.trim_start_matches("./").trim_matches('/');
    // In code, a backslash is not only a path separator.
    if !is_path(path) || piece.contains('\\') && !has_extension(path) {
        return None;
    }
    let line = match rest.split([':', '-']).next() {
        Some("line") => line_number(&[&["line"][..], behind].concat(), false),
        Some("") | None => line_number(behind, opened),
        Some(number) => number.parse().ok(),
    };
    Some(NamedPath { path: path.to_lowercase(), line })
}

/// Removes the scheme or the drive of a local file. `None` for another URL.
fn local(piece: &str) -> Option<&str> {
    let schemes = ["file:///", "file://", "webpack:///", "webpack-internal:///"];
    let piece = schemes.iter().find_map(|scheme| piece.strip_prefix(scheme)).unwrap_or(piece);
    let bytes = piece.as_bytes();
    let drive = matches!(bytes, [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    let piece = if drive { &piece[2..] } else { piece };
    (!piece.contains("://")).then_some(piece)
}

/// Returns the line number behind a path: in parentheses directly behind it, as in `x.php(3)`, or after the word
/// `line`.
fn line_number(behind: &[&str], attached: bool) -> Option<u32> {
    let number = |text: &str| text.trim_end_matches([':', '.']).parse().ok();
    match behind {
        ["line", line, ..] | ["on", "line", line, ..] => number(line),
        [line, ..] if attached => number(line),
        _ => None,
    }
}

/// Returns the folder of a JVM stack frame, which only the class name has: `at com.acme.Parser.parse(Parser.java:7)`.
fn package(before: &str, file: &str) -> Option<String> {
    let (stem, extension) = file.rsplit_once('.')?;
    if !["java", "kt", "scala", "groovy"].contains(&extension) || file.contains('/') {
        return None;
    }
    let before = before.to_lowercase();
    // Newer versions print `module/com.acme...`.
    let before = before.rsplit('/').next()?;
    let parts: Vec<&str> = before.split(['.', '$']).collect();
    let class = parts.iter().position(|part| *part == stem)?;
    (class > 0).then(|| parts[..class].join("/"))
}

/// Returns whether a text is a path: it has folders, or a known file extension. Other names with a dot are too
/// frequent.
fn is_path(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '@' | '+');
    let folders = text.split('/').filter(|part| part.len() > 1).count() > 1;
    text.len() > 3 && text.chars().all(plain) && (folders || has_extension(text))
}

fn has_extension(text: &str) -> bool {
    let known = |path: &RelPath| !language(path).0.is_empty() || OTHER_EXTENSIONS.contains(&path.extension());
    text.contains('.') && RelPath::new(text).is_ok_and(|path| known(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(String, Option<u32>)> {
        let named = named_paths(text);
        named.into_iter().map(|named| (named.path, named.line)).collect()
    }

    #[test]
    fn paths_are_found_in_prose() {
        assert_eq!(
            of("see ./src/Lib.rs:42 and `gateway/inject`."),
            [("src/lib.rs".to_owned(), Some(42)), ("gateway/inject".to_owned(), None)]
        );
        assert_eq!(of("lines a/b.go:3-9 of"), [("a/b.go".to_owned(), Some(3))]);
        assert_eq!(of("e.g. and/or 3.14 http://x.org/a.html v1.2"), [("and/or".to_owned(), None)]);
    }

    #[test]
    fn stack_frames_of_each_language() {
        for (frame, path, line) in [
            ("  File \"/srv/app/a/b.py\", line 30, in f", "srv/app/a/b.py", 30),
            ("tests/test_a.py:12: AssertionError", "tests/test_a.py", 12),
            ("thread 'main' panicked at src/a/mod.rs:14:9:", "src/a/mod.rs", 14),
            ("             at ./src/main.rs:3:5", "src/main.rs", 3),
            ("  --> crates/x/src/lib.rs:7:1", "crates/x/src/lib.rs", 7),
            ("    at Object.f (/srv/lib/app.js:10:15)", "srv/lib/app.js", 10),
            ("    at f (file:///srv/lib/app.mjs:1:2)", "srv/lib/app.mjs", 1),
            ("src/app.ts(12,5): error TS2345: no", "src/app.ts", 12),
            ("\t/srv/cmd/main.go:44 +0x1b", "srv/cmd/main.go", 44),
            ("\tat com.acme.io.Parser.parse(Parser.java:70)", "com/acme/io/parser.java", 70),
            ("\tat app//com.acme.Outer$Inner.run(Outer.java:3)", "com/acme/outer.java", 3),
            ("   at Acme.P.Run(String s) in C:\\src\\Acme\\P.cs:line 9", "src/acme/p.cs", 9),
            ("lib/a/b.rb:5:in `run'", "lib/a/b.rb", 5),
            ("#0 /srv/src/Kernel.php(21): App\\Kernel->boot()", "srv/src/kernel.php", 21),
            ("PHP Fatal error: x in /srv/src/a.php on line 8", "srv/src/a.php", 8),
        ] {
            assert_eq!(of(frame), [(path.to_owned(), Some(line))], "{frame}");
        }
    }
}
