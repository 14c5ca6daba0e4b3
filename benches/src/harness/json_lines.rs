//! Files of one JSON value a line.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;

use crate::command_line::at;

/// Reads the values in a file. Blank lines do not count.
///
/// # Errors
/// When the file cannot be read, a line does not parse, or there is no value.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text = fs::read_to_string(path).with_context(at(path))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let value = |(at, line)| serde_json::from_str(line).with_context(|| format!("{path:?}, line {}", at + 1));
    let values = lines.map(value).collect::<Result<Vec<T>>>()?;
    ensure!(!values.is_empty(), "{path:?} holds no line");
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_line_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("i.jsonl");
        let read = |text: &str| {
            fs::write(&path, text).unwrap();
            super::read::<u8>(&path)
        };
        assert_eq!(read("\n1\n\n2\n").unwrap(), [1, 2]);
        assert!(read("1\n\n{}\n").unwrap_err().to_string().ends_with("line 3"));
        assert!(read("\n").is_err());
    }
}
