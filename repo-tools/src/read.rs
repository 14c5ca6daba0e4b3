//! Reading one text file of a worktree.

use std::fs::{File, Metadata};
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use muninn_base::{Links, PathError, RelPath, open_regular, read_at_most, utf16};

use crate::blob::BlobId;
use crate::hashed;
use crate::secret::is_secret;
use crate::worktree::Worktree;

/// A file with a NUL byte within this many bytes is binary, by the rule of git.
const BINARY_WINDOW: usize = 8 * 1024;

/// The text of a file at the moment it was read.
#[derive(Debug, Clone)]
pub struct FileText {
    /// The content without a byte order mark. UTF-16 with a mark is decoded. Bytes that are not UTF-8 become U+FFFD, so that a
    /// source file with a Latin-1 comment is still read and line numbers stay correct. CRLF is kept; a line ends at `\n`.
    pub text: String,
    /// The blob id of the raw bytes.
    pub blob: BlobId,
    /// The number of raw bytes.
    pub size: u64,
    /// The modification time of the open file before its first byte was read.
    pub modified: SystemTime,
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The path does not exist, or leads out of the worktree.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The file has the name of a secret.
    #[error("{path} looks like a file of secrets")]
    Secret {
        /// The file.
        path: RelPath,
    },
    /// The path is a directory, a pipe or a device.
    #[error("{path} is not a regular file")]
    NotAFile {
        /// The file.
        path: RelPath,
    },
    /// The file is larger than the caller's limit.
    #[error("{path} has more than {cap} bytes")]
    TooLarge {
        /// The file.
        path: RelPath,
        /// The caller's limit, in bytes.
        cap: u64,
    },
    /// The file has a NUL byte near its start, or content for which git refuses a blob id.
    #[error("{path} is binary")]
    Binary {
        /// The file.
        path: RelPath,
    },
    /// The file was replaced between the check and the opening.
    #[error("{path} changed while it was opened")]
    Changed {
        /// The file.
        path: RelPath,
    },
    /// The file system reported an error.
    #[error("cannot read {path}")]
    Io {
        /// The file.
        path: RelPath,
        /// The error of the file system.
        source: io::Error,
    },
}

/// Reads a text file of at most `cap` bytes.
///
/// The limit also applies to a file that grows during the read.
///
/// # Errors
/// [`ReadError`] names the reason for which a file is not read.
pub fn read_text(worktree: &Worktree, path: &RelPath, cap: u64) -> Result<FileText, ReadError> {
    let (file, metadata) = open(worktree, path)?;
    let bytes = read_at_most(file, metadata.len(), cap).map_err(|source| match source.kind() {
        io::ErrorKind::FileTooLarge => ReadError::TooLarge { path: path.clone(), cap },
        _ => ReadError::Io { path: path.clone(), source },
    })?;
    let size = bytes.len() as u64;
    let binary = || ReadError::Binary { path: path.clone() };
    let wide = utf16(&bytes);
    if wide.is_none() && memchr::memchr(0, &bytes[..bytes.len().min(BINARY_WINDOW)]).is_some() {
        return Err(binary());
    }
    let blob = hashed::blob_id(worktree, &bytes, &metadata).ok_or_else(binary)?;
    let text = wide.unwrap_or_else(|| decode(bytes));
    Ok(FileText { text, blob, size, modified: metadata.modified().unwrap_or(UNIX_EPOCH) })
}

/// Returns the size and the modification time of a regular file of the worktree, without opening it.
pub fn stat(worktree: &Worktree, path: &RelPath) -> Result<(u64, SystemTime), ReadError> {
    let real = worktree.resolve(path)?;
    let metadata = real.symlink_metadata().map_err(|source| ReadError::Io { path: path.clone(), source })?;
    if !metadata.is_file() {
        return Err(ReadError::NotAFile { path: path.clone() });
    }
    Ok((metadata.len(), metadata.modified().unwrap_or(UNIX_EPOCH)))
}

/// Opens a file and verifies that the open file is the resolved one.
///
/// After the path is resolved, a directory in it can be replaced by a symlink before the file is opened. Therefore the
/// path is resolved again after the opening, and its file is compared with the open file. This check needs no platform
/// flags.
fn open(worktree: &Worktree, path: &RelPath) -> Result<(File, Metadata), ReadError> {
    if is_secret(path) {
        return Err(ReadError::Secret { path: path.clone() });
    }
    let io = |source| ReadError::Io { path: path.clone(), source };
    let real = worktree.resolve(path)?;
    if !real.symlink_metadata().map_err(io)?.is_file() {
        return Err(ReadError::NotAFile { path: path.clone() });
    }
    if let Ok(target) = RelPath::from_relative(real.strip_prefix(worktree.root()).unwrap_or(&real)).ok_or(())
        && is_secret(&target)
    {
        return Err(ReadError::Secret { path: path.clone() });
    }
    let (file, opened) = open_regular(&real, Links::Refuse).map_err(io)?;
    let named = real.symlink_metadata().map_err(io)?;
    if worktree.resolve(path)? != real || !same_file(&opened, &named) {
        return Err(ReadError::Changed { path: path.clone() });
    }
    Ok((file, opened))
}

#[cfg(unix)]
pub(crate) fn same_file(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    a.is_file() && b.is_file() && (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
pub(crate) fn same_file(a: &Metadata, b: &Metadata) -> bool {
    a.is_file() && b.is_file() && a.len() == b.len() && a.created().ok() == b.created().ok()
}

fn decode(bytes: Vec<u8>) -> String {
    let text = String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    fn read(repo: &Fixture, path: &str) -> Result<FileText, ReadError> {
        read_text(&repo.worktree(), &RelPath::new(path).unwrap(), 1000)
    }

    #[test]
    fn byte_order_mark_is_removed_and_line_endings_kept() {
        let repo = Fixture::with(&[("a.txt", "\u{feff}one\r\ntwo\r\n")]);
        let file = read(&repo, "a.txt").unwrap();
        assert_eq!(file.text, "one\r\ntwo\r\n");
        assert_eq!(file.size, 13);
        assert_eq!(file.blob.to_string(), repo.git(&["hash-object", "--no-filters", "a.txt"]).trim());
    }

    #[test]
    fn utf_16_with_a_mark_is_read() {
        let repo = Fixture::with(&[]);
        let units = "int größe;\n".encode_utf16();
        let bytes: Vec<u8> = [0xff, 0xfe].into_iter().chain(units.flat_map(u16::to_le_bytes)).collect();
        repo.write("wide.c", &bytes);
        let file = read(&repo, "wide.c").unwrap();
        assert_eq!((&*file.text, file.size), ("int größe;\n", bytes.len() as u64));
        assert_eq!(file.blob.to_string(), repo.git(&["hash-object", "--no-filters", "wide.c"]).trim());
        repo.write("bare.c", &bytes[2..]);
        assert!(matches!(read(&repo, "bare.c"), Err(ReadError::Binary { .. })));
    }

    #[test]
    fn latin_1_is_read_and_binary_is_not() {
        let repo = Fixture::with(&[]);
        repo.write("latin.c", b"// caf\xe9\nint x;\n");
        repo.write("image.png", b"\x89PNG\r\n\0\0\0");
        assert_eq!(read(&repo, "latin.c").unwrap().text, "// caf\u{fffd}\nint x;\n");
        assert!(matches!(read(&repo, "image.png"), Err(ReadError::Binary { .. })));
    }

    #[test]
    fn refuses_by_size_name_and_kind() {
        let repo = Fixture::with(&[("big.txt", &"x".repeat(1001)), (".env", "KEY=1"), ("dir/a", "x")]);
        assert!(matches!(read(&repo, "big.txt"), Err(ReadError::TooLarge { cap: 1000, .. })));
        assert!(matches!(read(&repo, ".env"), Err(ReadError::Secret { .. })));
        assert!(matches!(read(&repo, "dir"), Err(ReadError::NotAFile { .. })));
        assert!(matches!(read(&repo, "gone"), Err(ReadError::Path(PathError::NotFound { .. }))));
        assert_eq!(stat(&repo.worktree(), &RelPath::new("dir/a").unwrap()).unwrap().0, 1);
    }

    #[cfg(unix)]
    #[test]
    fn symlinks_out_or_to_a_secret_and_pipes_are_refused() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("passwd"), "root").unwrap();
        let repo = Fixture::with(&[(".env", "KEY=1")]);
        let link = |to: &std::path::Path, name: &str| std::os::unix::fs::symlink(to, repo.path(name)).unwrap();
        link(&outside.path().join("passwd"), "out.txt");
        link(std::path::Path::new(".env"), "settings.txt");
        link(std::path::Path::new("loop.txt"), "loop.txt");
        assert!(matches!(read(&repo, "out.txt"), Err(ReadError::Path(PathError::Outside { .. }))));
        assert!(matches!(read(&repo, "settings.txt"), Err(ReadError::Secret { .. })));
        assert!(matches!(read(&repo, "loop.txt"), Err(ReadError::Path(PathError::Io { .. }))));
        let made = std::process::Command::new("mkfifo").arg(repo.path("pipe")).status();
        if made.is_ok_and(|status| status.success()) {
            assert!(matches!(read(&repo, "pipe"), Err(ReadError::NotAFile { .. })));
        }
    }
}
