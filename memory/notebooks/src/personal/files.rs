//! Paths below the directory. Nothing on the way to a file is a link, which could lead out of the directory.

use std::path::{Path, PathBuf};
use std::{fs, io};

use muninn_base::private_file;

/// The path of a file or a directory of the memory, which need not exist.
///
/// # Errors
/// If a directory on the way to it is a link, or no directory.
pub(super) fn path_below(root: &Path, name: &str) -> io::Result<PathBuf> {
    let mut path = root.to_owned();
    let mut parts = name.split('/').peekable();
    while let Some(part) = parts.next() {
        path.push(part);
        if parts.peek().is_some() {
            check_folder(&path)?;
        }
    }
    Ok(path)
}

/// Checks that a path below the directory is a directory, or nothing.
///
/// # Errors
/// If it is a link or a file.
pub(super) fn check_folder(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(_) => Err(io::Error::other(format!(
            "{} is no directory; links in personal memory are not followed",
            path.display()
        ))),
        Err(error) => Err(error),
    }
}

/// Reads a file of the memory of at most `most` bytes.
///
/// # Errors
/// If there is none, or it is a link, or larger.
pub(super) fn read(root: &Path, name: &str, most: u64) -> io::Result<Vec<u8>> {
    private_file::read(&path_below(root, name)?, most)
}

/// Reads the first bytes of a file of the memory, at most `most`.
///
/// # Errors
/// If there is none, or it is a link.
pub(super) fn read_start(root: &Path, name: &str, most: u64) -> io::Result<Vec<u8>> {
    private_file::read_start(&path_below(root, name)?, most)
}
