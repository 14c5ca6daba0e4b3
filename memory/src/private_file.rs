//! Files that are nobody else's to read, and several processes' to write: those of the user's state directory, and the
//! cache, whose index holds the text of the repository.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// Options to open a file with that only its owner may read.
#[must_use]
pub fn options() -> fs::OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "a mode is for unix"))]
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes a directory, and those above it, that only its owner may look into.
///
/// # Errors
/// Where the system refuses.
pub fn dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Writes a directory to the disk: only then a renamed file in it is there for good.
///
/// # Errors
/// Where the system refuses.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(path)?.sync_all()
    } else {
        Ok(())
    }
}

/// Opens a file for appending that only its owner can read, making it where it is missing.
///
/// # Errors
/// Where the system refuses.
pub fn append(path: &Path) -> io::Result<File> {
    let file = options().create(true).append(true).open(path)?;
    keep(path, 0o600)?;
    Ok(file)
}

/// Makes a file, or keeps one that is there and takes it from everybody else. It is not opened then: closing it would take
/// the locks away that SQLite holds on it.
///
/// # Errors
/// Where the system refuses.
pub fn make(path: &Path) -> io::Result<()> {
    match options().write(true).create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => keep(path, 0o600),
        made => made.map(drop),
    }
}

/// Makes a directory, or keeps one that is there and takes it from everybody else, as far as it is ours to do so.
///
/// # Errors
/// Where it cannot be made.
pub fn own_dir(path: &Path) -> io::Result<()> {
    dir(path)?;
    // A volume that is mounted there may belong to somebody else.
    let _not_ours = keep(path, 0o700);
    Ok(())
}

fn keep(path: &Path, mode: u32) -> io::Result<()> {
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
    let _no_modes = (path, mode);
    Ok(())
}

/// Takes the lock that this file stands for, and waits for it. It is given back when the file is closed.
///
/// # Errors
/// Where the file cannot be made or locked.
pub fn lock(path: &Path) -> io::Result<File> {
    let file = options().create(true).truncate(false).write(true).open(path)?;
    file.lock()?;
    Ok(file)
}

/// Puts a file in place as a whole. For whoever holds a lock: two that do it at once would share a temporary file.
///
/// # Errors
/// Where the disk does not take it; the file is as it was then.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    let mut file = options().write(true).create(true).truncate(true).open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}
