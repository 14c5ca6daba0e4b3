//! Files that only their owner can read and that several processes write.
//!
//! They are in the user's state directory, in personal memory, and in the cache, whose index contains text of the
//! repository. All of them are opened here. A symbolic link in place of such a file would have Muninn read or write
//! another file, and a named pipe would block it, so both are refused.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

/// The most bytes of a file that [`read_whole`] reads.
const MOST_WHOLE: u64 = 64 << 20;

/// Options for files that are readable by their owner only. Symbolic links are not followed, and named pipes do not block.
fn options() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "modes and flags are for unix"))]
    let mut options = File::options();
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    options
}

/// Opens a regular file. Anything else at the path is an error that says what it is.
fn opened(options: &OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.open(path).map_err(|error| {
        if path.is_symlink() {
            io::Error::other("it is a symbolic link, which is not followed: remove it")
        } else {
            error
        }
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file")) }
}

/// Opens a file for reading.
///
/// # Errors
/// If there is none, or no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    opened(options().read(true), path)
}

/// Reads a file of at most `most` bytes.
///
/// # Errors
/// As [`open`], and if the file is larger.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let mut bytes = Vec::new();
    if file.take(most.saturating_add(1)).read_to_end(&mut bytes)? as u64 > most {
        return Err(io::Error::other(format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// Reads a file of the state directory.
///
/// # Errors
/// As [`read`]; these files are far smaller than the limit.
pub fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    read(path, MOST_WHOLE)
}

/// Reads the first bytes of a file, at most `most`.
///
/// # Errors
/// As [`open`].
pub fn read_start(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Creates a directory and its parents, readable by its owner only.
pub fn dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Writes a directory to the disk, which makes the renaming of a file in it durable.
pub fn sync_dir(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// Opens a file for appending, readable by its owner only, and creates it if it is missing.
pub fn append(path: &Path) -> io::Result<File> {
    let file = opened(options().create(true).read(true).append(true), path)?;
    restrict_file(&file)?;
    Ok(file)
}

/// Creates a file that does not exist yet.
pub fn create_new(path: &Path) -> io::Result<File> {
    options().write(true).create_new(true).open(path)
}

/// Creates a file, or removes other users' rights from an existing one. An existing file is not opened: closing it
/// would release SQLite's locks on it.
pub fn make(path: &Path) -> io::Result<()> {
    match create_new(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if !fs::symlink_metadata(path)?.is_file() {
                return Err(io::Error::other("it is no regular file: remove it"));
            }
            restrict(path, 0o600)
        }
        made => made.map(drop),
    }
}

/// Creates a directory, or removes other users' rights from an existing one if it is ours.
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

#[cfg(unix)]
fn restrict_file(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = file.metadata()?.permissions();
    if permissions.mode() & 0o177 != 0 {
        permissions.set_mode(0o600);
        file.set_permissions(permissions)?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn restrict_file(_: &File) -> io::Result<()> {
    Ok(())
}

/// Opens a lock file, and creates it if it is missing. The caller locks it.
///
/// # Errors
/// If it cannot be created, or is no regular file.
pub fn lock_file(path: &Path) -> io::Result<File> {
    opened(options().create(true).truncate(false).write(true), path)
}

/// Acquires a file lock, waiting for it. Closing the file releases it.
pub fn lock(path: &Path) -> io::Result<File> {
    let file = lock_file(path)?;
    file.lock()?;
    Ok(file)
}

/// Returns whether a file's last line has no end: a writer was killed, or an editor writes none.
pub fn ends_within_a_line(path: &Path) -> io::Result<bool> {
    let mut file = open(path)?;
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
    // One that a killed process left, or a link that somebody put there.
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = create_new(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rusqlite::OpenFlags;

    use super::*;

    /// Links and pipes lie where logs, locks, databases and their logs are opened; none is followed, and none blocks.
    #[test]
    fn nothing_but_a_regular_file_is_opened() {
        type Opens = fn(&Path) -> bool;
        let opens: [(&str, Opens); 9] = [
            ("open", |path| open(path).is_ok()),
            ("read", |path| read_whole(path).is_ok()),
            ("read_start", |path| read_start(path, 3).is_ok()),
            ("append", |path| append(path).is_ok()),
            ("make", |path| make(path).is_ok()),
            ("create_new", |path| create_new(path).is_ok()),
            ("lock", |path| lock(path).is_ok()),
            ("ends_within_a_line", |path| ends_within_a_line(path).is_ok()),
            ("database", |path| crate::database::open(path, OpenFlags::default()).is_ok()),
        ];
        type Plants = fn(&Path, &Path);
        let plants: [(&str, Plants); 5] = [
            ("link", |path, victim| symlink(victim, path).unwrap()),
            ("dangling link", |path, victim| {
                symlink(victim.with_extension("new"), path).unwrap();
            }),
            ("link to a device", |path, _| symlink("/dev/zero", path).unwrap()),
            ("directory", |path, _| fs::create_dir(path).unwrap()),
            ("pipe", |path, _| {
                assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
            }),
        ];
        for (plant, plants) in plants {
            for (name, opens) in opens {
                let folder = tempfile::tempdir().unwrap();
                let (path, victim) = (folder.path().join("file"), folder.path().join("victim"));
                fs::write(&victim, "kept").unwrap();
                let before = fs::metadata(&victim).unwrap().permissions();
                plants(&path, &victim);
                assert!(!opens(&path), "{name} of a {plant}");
                assert_eq!(fs::read_to_string(&victim).unwrap(), "kept", "{name} of a {plant}");
                assert_eq!(fs::metadata(&victim).unwrap().permissions(), before, "{name} of a {plant}");
                assert!(!victim.with_extension("new").exists(), "{name} of a {plant}");
            }
        }
    }

    #[test]
    fn replacing_writes_through_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let (path, victim) = (folder.path().join("file"), folder.path().join("victim"));
        for link in [&path, &path.with_extension("tmp")] {
            fs::write(&victim, "kept").unwrap();
            symlink(&victim, link).unwrap();
            replace(&path, b"new").unwrap();
            assert_eq!(fs::read_to_string(&victim).unwrap(), "kept");
            assert!(!path.is_symlink() && fs::read_to_string(&path).unwrap() == "new");
        }
    }

    #[test]
    fn log_of_a_database_is_no_link() {
        for suffix in ["-wal", "-shm"] {
            let folder = tempfile::tempdir().unwrap();
            // The directory may be below a link, as the home is on some systems.
            let real = folder.path().join("real");
            fs::create_dir(&real).unwrap();
            symlink(&real, folder.path().join("link")).unwrap();
            let path = folder.path().join("link/state.db");
            let victim = folder.path().join("victim");
            symlink(&victim, folder.path().join(format!("real/state.db{suffix}"))).unwrap();
            let connection = crate::database::open(&path, OpenFlags::default()).unwrap();
            let written = crate::database::write_ahead(&connection)
                .and_then(|()| connection.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)"));
            assert!(!victim.exists(), "{suffix}: {written:?}");
        }
    }

    #[test]
    fn read_ends_at_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        // A terabyte on the disk of nobody.
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(read(&path, 1_000).is_err());
        assert_eq!(read_start(&path, 1_000).unwrap().len(), 1_000);
        fs::write(&path, [b'x'; 1_000]).unwrap();
        assert_eq!(read(&path, 1_000).unwrap().len(), 1_000);
    }
}
