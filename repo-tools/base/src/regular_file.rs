//! Opening files that somebody else may have made: regular files only, and never more than a number of bytes.
//!
//! A clone, an archive or a shared directory can hold a pipe, a socket, a link to an endless device or a huge file under
//! any name. Opening a pipe blocks until somebody writes, and reading a device never ends.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The treatment of a path whose last component is a symlink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Its target is opened, if that is a regular file.
    Follow,
    Refuse,
}

/// Why a file is not opened, as the source of an [`io::Error`].
#[derive(Debug, thiserror::Error)]
pub enum RegularFileError {
    /// A directory, a pipe, a socket, a device, or a symlink that may not be followed.
    #[error("it is not a regular file")]
    NotRegular,
    /// The file is larger than the caller's limit.
    #[error("it has more than {cap} bytes")]
    TooLarge {
        /// The limit.
        cap: u64,
    },
}

impl From<RegularFileError> for io::Error {
    fn from(error: RegularFileError) -> Self {
        let kind = match error {
            RegularFileError::NotRegular => ErrorKind::InvalidInput,
            RegularFileError::TooLarge { .. } => ErrorKind::FileTooLarge,
        };
        Self::new(kind, error)
    }
}

/// Opens a regular file for reading, without blocking.
///
/// The kind is checked before the file is opened, because opening some devices has an effect, and again afterwards,
/// because the file may have been replaced meanwhile.
pub fn open_regular(path: &Path, links: Links) -> io::Result<(File, Metadata)> {
    let named = match links {
        Links::Follow => path.metadata().map_err(of_link)?,
        Links::Refuse => path.symlink_metadata()?,
    };
    if !named.is_file() {
        return Err(RegularFileError::NotRegular.into());
    }
    let file = options(links).read(true).open(path).map_err(of_link)?;
    let metadata = file.metadata()?;
    if metadata.is_file() { Ok((file, metadata)) } else { Err(RegularFileError::NotRegular.into()) }
}

/// Reads a regular file of at most `cap` bytes. The limit also applies to a file that grows meanwhile.
pub fn read_regular(path: &Path, links: Links, cap: u64) -> io::Result<Vec<u8>> {
    let (file, metadata) = open_regular(path, links)?;
    read_at_most(file, metadata.len(), cap)
}

/// Like [`read_regular`], for UTF-8.
pub fn read_regular_text(path: &Path, links: Links, cap: u64) -> io::Result<String> {
    let bytes = read_regular(path, links, cap)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error.utf8_error()))
}

/// Reads a file whose size was `len` when it was opened.
pub fn read_at_most(file: File, len: u64, cap: u64) -> io::Result<Vec<u8>> {
    let too_large = || io::Error::from(RegularFileError::TooLarge { cap });
    if len > cap {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or(0));
    file.take(cap.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > cap {
        return Err(too_large());
    }
    Ok(bytes)
}

/// Replaces the error for a link that leads to itself, or may not be followed.
fn of_link(error: io::Error) -> io::Error {
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return RegularFileError::NotRegular.into();
    }
    error
}

/// Options that neither block on a pipe nor follow a refused symlink.
#[cfg(unix)]
fn options(links: Links) -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::OFlags;
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    if links == Links::Refuse {
        flags |= OFlags::NOFOLLOW;
    }
    let mut options = OpenOptions::new();
    options.custom_flags(flags.bits().cast_signed());
    options
}

#[cfg(not(unix))]
fn options(_: Links) -> OpenOptions {
    OpenOptions::new()
}
/// Reads the beginning of a regular file.
pub fn beginning(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let (file, _) = open_regular(path, Links::Follow)?;
    let mut text = Vec::new();
    file.take(max_bytes).read_to_end(&mut text)?;
    Ok(text)
}
