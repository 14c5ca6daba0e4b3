//! An archive of the personal memory, for a move to another machine.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};

use muninn_memory::private_file;
use serde::Serialize;
use thiserror::Error;

/// The largest file that is read from an archive.
const MOST_FILE: u64 = 256 << 20;
/// Names that an archive leaves out: the index, files of running programs, and the git repository.
const LEFT_OUT: [&str; 5] = [".index", ".git", ".daemon.pid", ".daemon.log", ".pending-context"];
/// How the name of an archive begins while it is written.
const UNFINISHED: &str = ".muninn-export";
/// The level of the compression: zstd's default.
const LEVEL: i32 = 3;

/// Why nothing more was read or written.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// A file of the memory, or the archive.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The archive is not one of `export`, or it is damaged.
    #[error("{} is no archive of personal memory: {message}", path.display())]
    Foreign {
        /// The archive.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
}

/// What an archive brought.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// New files.
    pub added: usize,
    /// Files of lines that got those they lacked.
    pub merged: usize,
    /// Files that were replaced.
    pub replaced: usize,
    /// Files that are the same.
    pub unchanged: usize,
    /// Files that differ and stay as they are.
    pub kept: Vec<String>,
}

/// Writes all files of the directory to an archive, which must not exist. Returns their number.
///
/// # Errors
/// [`ArchiveError`]; the archive is not there then.
pub fn export(root: &Path, archive: &Path) -> Result<usize, ArchiveError> {
    let failed = io_error(archive);
    // Beside the archive, so that a full disk leaves no half of one.
    let folder = match archive.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    if archive.exists() {
        return Err(failed(io::ErrorKind::AlreadyExists.into()));
    }
    let temporary = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder);
    let temporary = temporary.map_err(&failed)?;
    let encoder = zstd::Encoder::new(BufWriter::new(temporary.as_file()), LEVEL).map_err(&failed)?;
    let mut tar = tar::Builder::new(encoder);
    tar.follow_symlinks(false);
    let mut count = 0;
    for path in files(root, root)? {
        let inside = path.strip_prefix(root).unwrap_or(&path);
        tar.append_path_with_name(&path, inside).map_err(io_error(&path))?;
        count += 1;
    }
    let finish = |tar: tar::Builder<zstd::Encoder<'_, BufWriter<&File>>>| {
        tar.into_inner()?.finish()?.flush()?;
        temporary.as_file().sync_all()
    };
    finish(tar).map_err(&failed)?;
    temporary
        .persist_noclobber(archive)
        .map_err(|error| failed(error.error))?;
    Ok(count)
}

/// The files below a directory that an archive contains, in the order of their names.
fn files(root: &Path, directory: &Path) -> Result<Vec<PathBuf>, ArchiveError> {
    let entries = fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut paths: Vec<PathBuf> = entries
        .map_err(io_error(directory))?
        .iter()
        .map(fs::DirEntry::path)
        .collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_left_out = directory == root && (LEFT_OUT.contains(&&*name) || name.starts_with(UNFINISHED));
        let kind = fs::symlink_metadata(&path).map_err(io_error(&path))?.file_type();
        if kind.is_dir() && !is_left_out {
            found.extend(files(root, &path)?);
        } else if kind.is_file() && !is_left_out {
            found.push(path);
        }
    }
    Ok(found)
}

/// Adds the files of an archive to the directory. Files of lines get the lines that they lack; other files that differ stay
/// as they are, or are replaced with `force`.
///
/// # Errors
/// [`ArchiveError`]; what was added stays.
pub fn import(root: &Path, archive: &Path, force: bool) -> Result<Imported, ArchiveError> {
    let failed = io_error(archive);
    let foreign = |message: String| ArchiveError::Foreign {
        path: archive.to_owned(),
        message,
    };
    let file = File::open(archive).map_err(&failed)?;
    let decoder = zstd::Decoder::new(file).map_err(|error| foreign(error.to_string()))?;
    let mut tar = tar::Archive::new(decoder);
    let mut imported = Imported::default();
    private_file::dir(root).map_err(io_error(root))?;
    for entry in tar.entries().map_err(|error| foreign(error.to_string()))? {
        let mut entry = entry.map_err(|error| foreign(error.to_string()))?;
        let name = entry.path().map_err(|error| foreign(error.to_string()))?.into_owned();
        if entry.header().entry_type().is_dir() {
            continue;
        }
        let is_plain = name.components().all(|part| matches!(part, Component::Normal(_)));
        let is_left_out = LEFT_OUT.iter().any(|left_out| name.starts_with(left_out));
        if !entry.header().entry_type().is_file() || !is_plain || is_left_out || name == Path::new("") {
            return Err(foreign(format!("it has an entry `{}`", name.display())));
        }
        if entry.size() > MOST_FILE {
            return Err(foreign(format!("`{}` is too large", name.display())));
        }
        let mut bytes = Vec::new();
        entry
            .read_to_end(&mut bytes)
            .map_err(|error| foreign(error.to_string()))?;
        add(root, &name, &bytes, force, &mut imported)?;
    }
    Ok(imported)
}

fn add(root: &Path, name: &Path, bytes: &[u8], force: bool, imported: &mut Imported) -> Result<(), ArchiveError> {
    let path = root.join(name);
    let failed = io_error(&path);
    let mut folder = root.to_owned();
    for part in name.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        // A link would lead out of the directory.
        if folder.is_symlink() {
            return Err(failed(io::Error::other("a symbolic link is in the way")));
        }
        private_file::dir(&folder).map_err(io_error(&folder))?;
    }
    let known = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            private_file::replace(&path, bytes).map_err(&failed)?;
            imported.added += 1;
            return Ok(());
        }
        metadata if metadata.as_ref().is_ok_and(fs::Metadata::is_file) => fs::read(&path).map_err(&failed)?,
        _ => return Err(failed(io::Error::other("it is no ordinary file"))),
    };
    if known == bytes {
        imported.unchanged += 1;
    } else if name.extension().is_some_and(|extension| extension == "jsonl") {
        let missing = missing_lines(&known, bytes);
        match missing.is_empty() {
            true => imported.unchanged += 1,
            false => {
                let mut file = private_file::append(&path).map_err(&failed)?;
                file.write_all(&missing).map_err(&failed)?;
                imported.merged += 1;
            }
        }
    } else if force {
        private_file::replace(&path, bytes).map_err(&failed)?;
        imported.replaced += 1;
    } else {
        imported.kept.push(name.display().to_string());
    }
    Ok(())
}

/// The lines that a file lacks, to be appended to it.
fn missing_lines(known: &[u8], other: &[u8]) -> Vec<u8> {
    let lines = |bytes| <[u8]>::split(bytes, |byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let there: HashSet<&[u8]> = lines(known).collect();
    let missing = lines(other).filter(|line| !there.contains(line));
    let mut text = Vec::new();
    for line in missing {
        if text.is_empty() && !known.is_empty() && !known.ends_with(b"\n") {
            text.push(b'\n');
        }
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text
}

fn io_error(path: &Path) -> impl Fn(io::Error) -> ArchiveError {
    let path = path.to_owned();
    move |source| ArchiveError::Io {
        path: path.clone(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn archive_brings_what_is_missing_and_replaces_nothing_unasked() {
        let folder = tempfile::tempdir().unwrap();
        let (here, there, archive) = (
            folder.path().join("here"),
            folder.path().join("there"),
            folder.path().join("me.tar.zst"),
        );
        write(
            &here,
            &[
                ("identity.md", "# Ann\n"),
                ("journal/2027-01-01.jsonl", "{\"a\":1}\n{\"b\":2}\n"),
                ("entities/people/jörg.md", "# Jörg\n"),
                ("reminders/tea.json", "{}"),
                (".index/x", "rebuilt"),
                (".git/HEAD", "ref"),
                (".daemon.pid", "1"),
            ],
        );
        assert_eq!(export(&here, &archive).unwrap(), 4);
        assert!(
            matches!(export(&here, &archive), Err(ArchiveError::Io { .. })),
            "an archive is not overwritten"
        );
        write(
            &there,
            &[
                ("identity.md", "# Somebody\n"),
                ("journal/2027-01-01.jsonl", "{\"c\":3}\n{\"b\":2}"),
            ],
        );
        let imported = import(&there, &archive, false).unwrap();
        let read = |name: &str| fs::read_to_string(there.join(name)).unwrap();
        assert_eq!(
            (imported.added, imported.merged, imported.kept),
            (2, 1, vec!["identity.md".to_owned()])
        );
        assert_eq!(read("identity.md"), "# Somebody\n");
        assert_eq!(read("journal/2027-01-01.jsonl"), "{\"c\":3}\n{\"b\":2}\n{\"a\":1}\n");
        assert_eq!(read("entities/people/jörg.md"), "# Jörg\n");
        assert!(!there.join(".git").exists() && !there.join(".index").exists());
        assert_eq!(import(&there, &archive, false).unwrap().unchanged, 3);
        assert_eq!(import(&there, &archive, true).unwrap().replaced, 1);
        assert_eq!(read("identity.md"), "# Ann\n");
    }

    #[test]
    fn archive_writes_nothing_outside_of_the_directory() {
        let folder = tempfile::tempdir().unwrap();
        let (root, archive) = (folder.path().join("me"), folder.path().join("bad.tar.zst"));
        for name in ["../x", "/tmp/muninn-x", "a/../../x", ".git/hooks/post-commit"] {
            let mut header = tar::Header::new_gnu();
            // The safe way refuses such names.
            header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_size(1);
            header.set_mode(0o600);
            header.set_cksum();
            let mut tar = tar::Builder::new(zstd::Encoder::new(File::create(&archive).unwrap(), LEVEL).unwrap());
            tar.append(&header, &b"x"[..]).unwrap();
            tar.into_inner().unwrap().finish().unwrap();
            assert!(
                matches!(import(&root, &archive, true), Err(ArchiveError::Foreign { .. })),
                "{name}"
            );
        }
        fs::write(&archive, "text").unwrap();
        assert!(matches!(
            import(&root, &archive, true),
            Err(ArchiveError::Foreign { .. })
        ));
        assert!(fs::read_dir(&root).unwrap().next().is_none());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_neither_exported_nor_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (here, there, archive) = (
            folder.path().join("here"),
            folder.path().join("there"),
            folder.path().join("me.tar.zst"),
        );
        write(&here, &[("entities/people/a.md", "a")]);
        std::os::unix::fs::symlink("/etc/passwd", here.join("entities/people/b.md")).unwrap();
        assert_eq!(export(&here, &archive).unwrap(), 1);
        fs::create_dir_all(&there).unwrap();
        std::os::unix::fs::symlink(folder.path(), there.join("entities")).unwrap();
        assert!(matches!(import(&there, &archive, true), Err(ArchiveError::Io { .. })));
        assert!(!folder.path().join("people").exists());
    }
}
