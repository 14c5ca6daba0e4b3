//! A serialized index in one file, which a start reads instead of rebuilding the index.
//!
//! The file is written to a temporary name and renamed, so a reader sees the old or the new file. A checksum detects
//! damage. The reader compares the listed files with the disk.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::private_file;

/// The name and version of a kind of image.
pub struct ImageFormat {
    /// Prefix of file names.
    pub prefix: &'static str,
    /// First bytes of the files; increased whenever the format or meaning of the content changes.
    pub magic: &'static [u8],
}

const CHECKSUM: usize = 32;
/// Suffix of a temporary file.
const PART: &str = ".part";
/// Age at which a temporary file is abandoned: its writer was killed.
const ABANDONED: Duration = Duration::from_secs(3600);

/// The image of values that can be derived again, for the next process.
pub struct DerivedImage {
    form: &'static ImageFormat,
    dir: PathBuf,
    root: PathBuf,
    /// The number of texts that the image lacks.
    pub unsaved: usize,
}

/// Why an image cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The image is damaged or outdated.
    #[error("{} is damaged or of another version", path.display())]
    Unusable { path: PathBuf },
    /// The image cannot be read or written.
    #[error("cannot use {}", path.display())]
    Io {
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl DerivedImage {
    /// The image of a root, in a directory that need not exist.
    pub fn new(form: &'static ImageFormat, dir: &Path, root: &Path) -> DerivedImage {
        DerivedImage { form, dir: dir.to_owned(), root: root.to_owned(), unsaved: 0 }
    }

    /// Whether there is an image, usable or not.
    pub fn exists(&self) -> bool {
        exists(self.form, &self.dir, &self.root)
    }

    /// The value of an earlier process; the default without a usable image.
    pub fn read<T: DeserializeOwned + Default>(&self) -> T {
        read(self.form, &self.dir, &self.root).ok().flatten().unwrap_or_default()
    }

    /// Writes a value. If this fails, the next process derives it again.
    pub fn write(&mut self, value: &impl Serialize) {
        self.unsaved = 0;
        if private_file::dir(&self.dir).is_ok() {
            write(self.form, &self.dir, &self.root, value).ok();
        }
    }
}

/// Reads the image of a worktree; `None` if there is none.
pub fn read<T: DeserializeOwned>(form: &ImageFormat, dir: &Path, root: &Path) -> Result<Option<T>, ImageError> {
    let path = path(form, dir, root);
    let io = |source| ImageError::Io { path: path.clone(), source };
    let mut bytes = Vec::new();
    match private_file::open(&path) {
        Ok(mut file) => file.read_to_end(&mut bytes).map_err(io)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
    };
    let unusable = || ImageError::Unusable { path: path.clone() };
    let body = bytes.strip_prefix(form.magic).ok_or_else(unusable)?;
    let (checksum, body) = body.split_at_checked(CHECKSUM).ok_or_else(unusable)?;
    if blake3::hash(body).as_bytes() != checksum {
        return Err(unusable());
    }
    postcard::from_bytes(body).map(Some).map_err(|_| unusable())
}

/// Whether there is an image of a worktree, usable or not.
pub fn exists(form: &ImageFormat, dir: &Path, root: &Path) -> bool {
    path(form, dir, root).is_file()
}

/// Writes an image, and removes abandoned temporary files.
pub fn write(form: &ImageFormat, dir: &Path, root: &Path, what: &impl Serialize) -> Result<(), ImageError> {
    let path = path(form, dir, root);
    let written = || -> io::Result<()> {
        let body = postcard::to_allocvec(what).map_err(io::Error::other)?;
        // Another process can write at the same time, so each needs a name of its own.
        let mut beside = tempfile::Builder::new().prefix(form.prefix).suffix(PART).tempfile_in(dir)?;
        // The time comes from the file system's clock, which also dated the other files.
        sweep(form, dir, beside.as_file().metadata()?.modified()?);
        for part in [form.magic, blake3::hash(&body).as_bytes(), &body] {
            beside.write_all(part)?;
        }
        beside.persist(&path)?;
        Ok(())
    };
    written().map_err(|source| ImageError::Io { path: path.clone(), source })
}

/// Removes the image of a deleted worktree.
pub fn remove(form: &ImageFormat, dir: &Path, root: &Path) {
    // A file that remains only costs disk space.
    fs::remove_file(path(form, dir, root)).ok();
}

fn sweep(form: &ImageFormat, dir: &Path, now: SystemTime) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let age = entry.metadata().and_then(|metadata| metadata.modified());
        let age = age.map(|modified| now.duration_since(modified).unwrap_or_default());
        if name.starts_with(form.prefix) && name.ends_with(PART) && age.is_ok_and(|age| age > ABANDONED) {
            fs::remove_file(entry.path()).ok();
        }
    }
}

fn path(form: &ImageFormat, dir: &Path, root: &Path) -> PathBuf {
    let name = blake3::hash(root.as_os_str().as_encoded_bytes());
    dir.join(format!("{}{}.idx", form.prefix, &name.to_hex()[..16]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: ImageFormat = ImageFormat { prefix: "worktree-", magic: b"muninn worktree index 1\n" };

    fn numbers(dir: &Path, root: &Path) -> Result<Option<Vec<u32>>, ImageError> {
        read(&FORM, dir, root)
    }

    #[test]
    fn damaged_image_is_an_error_and_missing_one_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let root = Path::new("/some/worktree");
        assert!(numbers(dir.path(), root).unwrap().is_none());
        write(&FORM, dir.path(), root, &vec![7u32]).unwrap();
        assert_eq!(numbers(dir.path(), root).unwrap(), Some(vec![7]));
        assert!(numbers(dir.path(), Path::new("/other")).unwrap().is_none());

        let path = path(&FORM, dir.path(), root);
        let whole = fs::read(&path).unwrap();
        for damaged in [
            whole[..whole.len() - 1].to_vec(),
            whole[..FORM.magic.len() + 3].to_vec(),
            Vec::new(),
            [b"muninn worktree index 0\n", &whole[FORM.magic.len()..]].concat(),
            [&whole[..whole.len() - 1], &[whole[whole.len() - 1] ^ 1]].concat(),
        ] {
            fs::write(&path, damaged).unwrap();
            assert!(matches!(numbers(dir.path(), root), Err(ImageError::Unusable { .. })));
        }
    }

    #[test]
    fn abandoned_temporary_files_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let left = ["worktree-0123.77.part", "worktree-x.part.idx", "else.part"];
        for name in left {
            fs::write(dir.path().join(name), "half").unwrap();
        }
        let there = || left.map(|name| dir.path().join(name).exists());
        write(&FORM, dir.path(), Path::new("/some/worktree"), &vec![7u32]).unwrap();
        assert_eq!(there(), [true; 3], "another process may be writing them");
        sweep(&FORM, dir.path(), SystemTime::now() + 2 * ABANDONED);
        assert_eq!(there(), [false, true, true]);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
    }

    #[test]
    fn failed_write_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let root = Path::new("/some/worktree");
        fs::create_dir(path(&FORM, dir.path(), root)).unwrap();
        assert!(matches!(write(&FORM, dir.path(), root, &vec![7u32]), Err(ImageError::Io { .. })));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
