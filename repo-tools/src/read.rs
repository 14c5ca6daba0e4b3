//! Reading one file of a worktree, whatever it turns out to be.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::blob::BlobId;
use crate::path::{PathError, RelPath};
use crate::secret::is_secret;
use crate::worktree::Worktree;

/// A NUL byte within this many bytes makes a file binary, as git judges it.
const BINARY_WINDOW: usize = 8 * 1024;

/// The text of a file at the moment it was read.
#[derive(Debug, Clone)]
pub struct FileText {
    /// The content without a byte order mark. Bytes that are not UTF-8 became U+FFFD: a Latin-1 comment should not
    /// hide a source file, and line numbers stay right. CRLF is kept; a line ends at `\n`.
    pub text: String,
    /// The id of the raw bytes.
    pub blob: BlobId,
    /// How many raw bytes there were.
    pub size: u64,
    /// The modification time that the open file had before its first byte was read.
    pub modified: SystemTime,
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It does not exist, or leads out of the worktree.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Its name says that it holds a secret.
    #[error("{path} looks like a file of secrets")]
    Secret {
        /// The file.
        path: RelPath,
    },
    /// A directory, a pipe, a device.
    #[error("{path} is not a regular file")]
    NotAFile {
        /// The file.
        path: RelPath,
    },
    /// More bytes than the caller wants to have.
    #[error("{path} has more than {cap} bytes")]
    TooLarge {
        /// The file.
        path: RelPath,
        /// The caller's limit, in bytes.
        cap: u64,
    },
    /// A NUL byte near its start, or content that git would refuse.
    #[error("{path} is binary")]
    Binary {
        /// The file.
        path: RelPath,
    },
    /// It was replaced by another file between the check and the opening.
    #[error("{path} changed while it was opened")]
    Changed {
        /// The file.
        path: RelPath,
    },
    /// The file system refused.
    #[error("cannot read {path}")]
    Io {
        /// The file.
        path: RelPath,
        /// What the file system said.
        source: io::Error,
    },
}

/// Reads a text file of at most `cap` bytes.
///
/// The limit holds while reading, so a file that grows meanwhile costs no more memory than one that does not.
///
/// # Errors
/// One for each kind of file that is not packed; see [`ReadError`].
pub fn read_text(worktree: &Worktree, path: &RelPath, cap: u64) -> Result<FileText, ReadError> {
    let (file, metadata) = open(worktree, path)?;
    let too_large = || ReadError::TooLarge {
        path: path.clone(),
        cap,
    };
    if metadata.len() > cap {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    file.take(cap.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|source| ReadError::Io {
            path: path.clone(),
            source,
        })?;
    let size = bytes.len() as u64;
    if size > cap {
        return Err(too_large());
    }
    let binary = || ReadError::Binary { path: path.clone() };
    if memchr::memchr(0, &bytes[..bytes.len().min(BINARY_WINDOW)]).is_some() {
        return Err(binary());
    }
    let blob = BlobId::of(&bytes).ok_or_else(binary)?;
    Ok(FileText {
        text: decode(bytes),
        blob,
        size,
        modified: metadata.modified().unwrap_or(UNIX_EPOCH),
    })
}

/// Size and modification time of a regular file of the worktree, without opening it.
///
/// # Errors
/// As [`read_text`], as far as the name and the metadata tell.
pub fn stat(worktree: &Worktree, path: &RelPath) -> Result<(u64, SystemTime), ReadError> {
    let real = worktree.resolve(path)?;
    let metadata = real.symlink_metadata().map_err(|source| ReadError::Io {
        path: path.clone(),
        source,
    })?;
    if !metadata.is_file() {
        return Err(ReadError::NotAFile { path: path.clone() });
    }
    Ok((metadata.len(), metadata.modified().unwrap_or(UNIX_EPOCH)))
}

/// Opens a file and proves that what was opened is what was resolved.
///
/// A directory on the way can be swapped for a symlink between the two steps. Comparing the open file with what the
/// resolved path, still free of symlinks, names afterwards closes that gap without platform flags. Pipes and devices
/// are refused before the opening, which could block on them.
fn open(worktree: &Worktree, path: &RelPath) -> Result<(File, Metadata), ReadError> {
    if is_secret(path) {
        return Err(ReadError::Secret { path: path.clone() });
    }
    let io = |source| ReadError::Io {
        path: path.clone(),
        source,
    };
    let real = worktree.resolve(path)?;
    if !real.symlink_metadata().map_err(io)?.is_file() {
        return Err(ReadError::NotAFile { path: path.clone() });
    }
    if let Ok(target) = RelPath::from_relative(real.strip_prefix(worktree.root()).unwrap_or(&real)).ok_or(())
        && is_secret(&target)
    {
        return Err(ReadError::Secret { path: path.clone() });
    }
    let file = File::open(&real).map_err(io)?;
    let opened = file.metadata().map_err(io)?;
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
    fn strips_the_mark_and_keeps_line_endings() {
        let repo = Fixture::with(&[("a.txt", "\u{feff}one\r\ntwo\r\n")]);
        let file = read(&repo, "a.txt").unwrap();
        assert_eq!(file.text, "one\r\ntwo\r\n");
        assert_eq!(file.size, 13);
        assert_eq!(
            file.blob.to_string(),
            repo.git(&["hash-object", "--no-filters", "a.txt"]).trim()
        );
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
        assert!(matches!(
            read(&repo, "big.txt"),
            Err(ReadError::TooLarge { cap: 1000, .. })
        ));
        assert!(matches!(read(&repo, ".env"), Err(ReadError::Secret { .. })));
        assert!(matches!(read(&repo, "dir"), Err(ReadError::NotAFile { .. })));
        assert!(matches!(
            read(&repo, "gone"),
            Err(ReadError::Path(PathError::NotFound { .. }))
        ));
        assert_eq!(stat(&repo.worktree(), &RelPath::new("dir/a").unwrap()).unwrap().0, 1);
    }

    #[cfg(unix)]
    #[test]
    fn follows_no_symlink_out_or_to_a_secret_and_no_pipe() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("passwd"), "root").unwrap();
        let repo = Fixture::with(&[(".env", "KEY=1")]);
        let link = |to: &std::path::Path, name: &str| std::os::unix::fs::symlink(to, repo.path(name)).unwrap();
        link(&outside.path().join("passwd"), "out.txt");
        link(std::path::Path::new(".env"), "settings.txt");
        link(std::path::Path::new("loop.txt"), "loop.txt");
        assert!(matches!(
            read(&repo, "out.txt"),
            Err(ReadError::Path(PathError::Outside { .. }))
        ));
        assert!(matches!(read(&repo, "settings.txt"), Err(ReadError::Secret { .. })));
        assert!(matches!(
            read(&repo, "loop.txt"),
            Err(ReadError::Path(PathError::Io { .. }))
        ));
        let made = std::process::Command::new("mkfifo").arg(repo.path("pipe")).status();
        if made.is_ok_and(|status| status.success()) {
            assert!(matches!(read(&repo, "pipe"), Err(ReadError::NotAFile { .. })));
        }
    }
}
