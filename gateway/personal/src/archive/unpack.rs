//! Reading an archive of unknown origin into a staging directory: only files that a memory holds, within limits that are
//! applied to what comes out of it.

use std::cell::Cell;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use muninn_base::private_file;
use muninn_notebooks::personal::layout::{FileKind, LeftOut, MemoryFile, NO_PART, folded, is_folder};
use tar::{Entry, EntryType, PaxExtensions};

use super::{ArchiveError, io_error};

/// The most bytes that an archive unpacks to, left files included. The largest memory that is known has 20 MB.
const MOST_BYTES: u64 = 256 << 20;
/// The most entries of an archive, left ones included.
const MOST_ENTRIES: usize = 40_000;
/// The most files of a memory.
const MOST_FILES: usize = 10_000;
/// The most bytes of an entry that tells of the next one, and of a path. No system has longer paths.
const MOST_EXTENSION: u64 = 64 << 10;
const MOST_PATH: usize = 4096;
/// The most left files that are named, and the most characters of a name.
const MOST_LEFT: usize = 200;
const MOST_SHOWN: usize = 300;
/// The memory for unpacking, as a power of two: the window of zstd's level 19. A larger one is refused.
const WINDOW_LOG: u32 = 23;

/// A file in the staging directory.
pub(super) struct StagedFile {
    /// Its place in the memory.
    pub(super) file: MemoryFile,
    /// Its place now.
    pub(super) staged: PathBuf,
}

/// What an archive holds.
#[derive(Default)]
pub(super) struct Unpacked {
    pub(super) files: Vec<StagedFile>,
    pub(super) left: Left,
}

/// What is not taken.
#[derive(Default)]
pub(super) struct Left {
    /// The first ones.
    pub(super) named: Vec<LeftOut>,
    /// The number of the others.
    pub(super) more: usize,
}

impl Left {
    pub(super) fn add(&mut self, name: &str, why: &'static str) {
        if self.named.len() < MOST_LEFT {
            let name = name.chars().take(MOST_SHOWN).collect();
            self.named.push(LeftOut { name, why });
        } else {
            self.more += 1;
        }
    }
}

/// Unpacks an archive. Nothing is written outside of `staging`, where files have numbers for names.
///
/// # Errors
/// [`ArchiveError`] if the archive is damaged, goes over a limit, or holds what no memory could: links, devices, and paths
/// that lead elsewhere.
pub(super) fn unpack(archive: &Path, staging: &Path) -> Result<Unpacked, ArchiveError> {
    let file = File::open(archive).map_err(io_error(archive))?;
    let left = Rc::new(Cell::new(MOST_BYTES));
    let unpacked = read(file, &left, staging);
    unpacked.map_err(|fault| match fault {
        // The reader has stopped there, whatever was made of its error.
        _ if left.get() == 0 => ArchiveError::Limit {
            path: archive.to_owned(),
            limit: format!("it unpacks to more than {} MB", MOST_BYTES >> 20),
        },
        Fault::Limit(limit) => ArchiveError::Limit { path: archive.to_owned(), limit },
        Fault::Foreign(message) => ArchiveError::Foreign { path: archive.to_owned(), message },
        Fault::Staging(source) => ArchiveError::Io { path: staging.to_owned(), source },
    })
}

/// Why an archive is refused.
enum Fault {
    Foreign(String),
    Limit(String),
    Staging(io::Error),
}

fn foreign(error: impl ToString) -> Fault {
    Fault::Foreign(error.to_string())
}

/// Stops at the limit, with an error.
struct Metered<R> {
    inner: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let left = self.left.get().saturating_sub(count as u64);
        self.left.set(left);
        if left == 0 {
            return Err(io::Error::other("too many bytes"));
        }
        Ok(count)
    }
}

/// The name of the next entry, from an entry of its own.
#[derive(Default)]
struct NextName(Option<Vec<u8>>);

fn read(file: File, left: &Rc<Cell<u64>>, staging: &Path) -> Result<Unpacked, Fault> {
    // The input is limited too: parts of a zstd stream unpack to nothing.
    let mut decoder = zstd::Decoder::new(file.take(MOST_BYTES)).map_err(foreign)?;
    decoder.window_log_max(WINDOW_LOG).map_err(foreign)?;
    let mut tar = tar::Archive::new(Metered { inner: decoder, left: Rc::clone(left) });
    let mut unpacked = Unpacked::default();
    let mut taken = HashSet::new();
    let mut next = NextName::default();
    // Raw, because the library reads names of any length into memory.
    for (number, entry) in tar.entries().map_err(foreign)?.raw(true).enumerate() {
        if number >= MOST_ENTRIES {
            return Err(Fault::Limit(format!("it has more than {MOST_ENTRIES} entries")));
        }
        let mut entry = entry.map_err(foreign)?;
        if next.read_from(&mut entry)? {
            continue;
        }
        let name = next.0.take().unwrap_or_else(|| entry.path_bytes().into_owned());
        let name = plain_name(&name)?;
        match entry.header().entry_type() {
            EntryType::Directory => {
                if !name.is_empty() && !is_folder(&name) {
                    unpacked.left.add(&name, NO_PART);
                }
                continue;
            }
            EntryType::Regular | EntryType::Continuous => {}
            other => return Err(Fault::Foreign(format!("`{name}` is {}", kind_name(other)))),
        }
        let Some(kind) = FileKind::of(&name) else {
            unpacked.left.add(&name, NO_PART);
            continue;
        };
        if !taken.insert(folded(&name)) {
            unpacked.left.add(&name, "another entry has this name, or one that some systems take for it");
            continue;
        }
        if unpacked.files.len() >= MOST_FILES {
            return Err(Fault::Limit(format!("it has more than {MOST_FILES} files")));
        }
        let staged = staging.join(unpacked.files.len().to_string());
        copy(&mut entry, &name, kind, &staged)?;
        let file = MemoryFile { path: name, kind };
        unpacked.files.push(StagedFile { file, staged });
    }
    Ok(unpacked)
}

/// Copies a file. It may be shorter than its header says; it cannot be longer.
fn copy(entry: &mut Entry<'_, impl Read>, name: &str, kind: FileKind, staged: &Path) -> Result<(), Fault> {
    let most = kind.most_bytes();
    let size = entry.size();
    if size > most {
        return Err(Fault::Limit(format!("`{name}` has more than {most} bytes")));
    }
    let mut out = private_file::create_new(staged).map_err(Fault::Staging)?;
    let copied = io::copy(entry, &mut out).map_err(foreign)?;
    if copied == size { Ok(()) } else { Err(Fault::Foreign(format!("it ends within `{name}`"))) }
}

impl NextName {
    /// Reads an entry that tells of the next one. Returns whether it was such an entry.
    fn read_from(&mut self, entry: &mut Entry<'_, impl Read>) -> Result<bool, Fault> {
        let kind = entry.header().entry_type();
        if kind.is_gnu_longlink() {
            return Ok(true);
        }
        let is_long_name = kind.is_gnu_longname();
        if !is_long_name && !kind.is_pax_local_extensions() && !kind.is_pax_global_extensions() {
            return Ok(false);
        }
        if entry.size() > MOST_EXTENSION {
            return Err(Fault::Limit("it has an extended header of more than 64 kB".to_owned()));
        }
        let mut bytes = Vec::new();
        entry.take(MOST_EXTENSION).read_to_end(&mut bytes).map_err(foreign)?;
        if is_long_name {
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            self.0 = Some(bytes[..end].to_owned());
            return Ok(true);
        }
        for extension in PaxExtensions::new(&bytes) {
            let extension = extension.map_err(foreign)?;
            match extension.key_bytes() {
                b"path" if kind.is_pax_local_extensions() => self.0 = Some(extension.value_bytes().to_owned()),
                // Programs disagree about which of two sizes or names is meant.
                key @ (b"path" | b"size") => {
                    let key = String::from_utf8_lossy(key);
                    return Err(Fault::Foreign(format!("it has a second `{key}` for an entry")));
                }
                key if key.starts_with(b"GNU.sparse.") => return Err(foreign("it has a sparse file")),
                _ => {}
            }
        }
        Ok(true)
    }
}

/// The path of an entry without `./` at its beginning and `/` at its end. One that leads elsewhere is refused with the archive:
/// no honest program writes it.
fn plain_name(bytes: &[u8]) -> Result<String, Fault> {
    if bytes.len() > MOST_PATH {
        return Err(Fault::Limit(format!("it has a path of more than {MOST_PATH} bytes")));
    }
    let is_up = |name: &[u8]| name.split(|byte| *byte == b'/').any(|part| part == b"..");
    // Splitting every path of a large archive would take seconds.
    let may_be_up = memchr::memmem::find(bytes, b"..").is_some();
    let name = String::from_utf8_lossy(bytes);
    if name.starts_with('/') || name.contains('\0') || (may_be_up && is_up(bytes)) {
        return Err(Fault::Foreign(format!("the path `{name}` leads out of it")));
    }
    let mut name = name.trim_end_matches('/');
    while let Some(rest) = name.strip_prefix("./") {
        name = rest;
    }
    Ok(if name == "." { "" } else { name }.to_owned())
}

fn kind_name(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Link => "a hard link",
        EntryType::Symlink => "a symbolic link",
        EntryType::Char | EntryType::Block => "a device",
        EntryType::Fifo => "a named pipe",
        EntryType::GNUSparse => "a sparse file",
        _ => "no file",
    }
}
