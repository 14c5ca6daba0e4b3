//! Files that only their owner can read and that several processes write.
//!
//! They are in the user's state directory and in the cache, whose index contains text of the repository.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

/// Options for opening a file that only its owner can read.
#[must_use]
pub fn options() -> fs::OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "a mode is for unix"))]
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a directory and its parents, readable by its owner only.
///
/// # Errors
/// Any error of the file system.
pub fn dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Writes a directory to the disk, which makes the renaming of a file in it durable.
///
/// # Errors
/// Any error of the file system.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(path)?.sync_all()
    } else {
        Ok(())
    }
}

/// Opens a file for appending, readable by its owner only, and creates it if it is missing.
///
/// # Errors
/// Any error of the file system.
pub fn append(path: &Path) -> io::Result<File> {
    let file = options().create(true).append(true).open(path)?;
    restrict(path, 0o600)?;
    Ok(file)
}

/// Creates a file, or removes other users' rights from an existing one. An existing file is not opened: closing it
/// would release SQLite's locks on it.
///
/// # Errors
/// Any error of the file system.
pub fn make(path: &Path) -> io::Result<()> {
    match options().write(true).create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => restrict(path, 0o600),
        made => made.map(drop),
    }
}

/// Creates a directory, or removes other users' rights from an existing one if it is ours.
///
/// # Errors
/// If it cannot be created.
pub fn own_dir(path: &Path) -> io::Result<()> {
    dir(path)?;
    // A mounted volume can belong to another user.
    restrict(path, 0o700).ok();
    Ok(())
}

fn restrict(path: &Path, mode: u32) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mut permissions = fs::metadata(path)?.permissions();
        if permissions.mode() & 0o777 & !mode != 0 {
            permissions.set_mode(mode);
            fs::set_permissions(path, permissions)?;
        }
    }
    #[cfg(not(unix))]
    let _ = (path, mode);
    Ok(())
}

/// Acquires a file lock, waiting for it. Closing the file releases it.
///
/// # Errors
/// If the file cannot be created or locked.
pub fn lock(path: &Path) -> io::Result<File> {
    let file = options().create(true).truncate(false).write(true).open(path)?;
    file.lock()?;
    Ok(file)
}

/// Returns whether a file's last line has no end: a writer was killed, or an editor writes none.
///
/// # Errors
/// Any error of the file system.
pub(crate) fn ends_within_a_line(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    if size == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::Start(size - 1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// Replaces a file as a whole. The caller must hold a lock, because concurrent calls would share a temporary file.
///
/// # Errors
/// If the file cannot be written; then it is unchanged.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    let mut file = options().write(true).create(true).truncate(true).open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}
