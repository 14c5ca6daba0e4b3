//! Adding lines to a file of the team. Git merges these files by the union of their lines.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use crate::{Links, read_regular};

/// The largest file that gets lines.
const MOST_BYTES: u64 = 4 << 20;

/// Adds those lines that a file lacks, below a heading that may be empty. Creates the file if it is missing. Returns the
/// number of added lines.
pub fn add_missing_lines<L: AsRef<str>>(path: &Path, heading: &str, lines: &[L]) -> io::Result<usize> {
    let there = match read_regular(path, Links::Refuse, MOST_BYTES) {
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        read => read?,
    };
    let there = String::from_utf8_lossy(&there);
    let known: Vec<&str> = there.lines().collect();
    let new = lines.iter().map(AsRef::as_ref).filter(|line| !known.contains(line));
    let new: Vec<&str> = new.collect();
    if new.is_empty() {
        return Ok(0);
    }
    let end = if there.is_empty() || there.ends_with('\n') { "" } else { "\n" };
    let heading = if known.contains(&heading.trim()) { "" } else { heading };
    let text = new.join("\n");
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(format!("{end}{heading}{text}\n").as_bytes())?;
    file.sync_all()?;
    Ok(new.len())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn file_gets_the_lines_that_it_lacks() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".gitattributes");
        fs::write(&path, "memory/*.jsonl merge=union\nown -text").unwrap();
        let lines = ["memory/** linguist-generated", "memory/*.jsonl merge=union"];
        assert_eq!(add_missing_lines(&path, "", &lines).unwrap(), 1);
        let completed = "memory/*.jsonl merge=union\nown -text\nmemory/** linguist-generated\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), completed);
        assert_eq!(add_missing_lines(&path, "", &lines).unwrap(), 0);
        assert_eq!(add_missing_lines(&path, "# More\n", &["other"]).unwrap(), 1);
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{completed}# More\nother\n"));
        #[cfg(unix)]
        {
            let link = dir.path().join("link");
            std::os::unix::fs::symlink(&path, &link).unwrap();
            assert!(add_missing_lines(&link, "", &["a link is not followed"]).is_err());
        }
    }
}
