//! Files of one JSON value a line.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::at;

/// Reads the values in a file, without blank lines. A file without values is an error.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text = fs::read_to_string(path).with_context(at(path))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let value = |(at, line)| serde_json::from_str(line).with_context(|| format!("{path:?}, line {}", at + 1));
    let values = lines.map(value).collect::<Result<Vec<T>>>()?;
    ensure!(!values.is_empty(), "{path:?} holds no line");
    Ok(values)
}

/// Writes values to a file, if one is named.
pub(crate) fn write<T: Serialize>(path: Option<&Path>, values: impl IntoIterator<Item = T>) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    let mut file = BufWriter::new(File::create(path).with_context(at(path))?);
    for value in values {
        serde_json::to_writer(&mut file, &value)?;
        file.write_all(b"\n")?;
    }
    file.flush().with_context(at(path))
}
