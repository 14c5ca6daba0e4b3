use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use muninn_base::private_file;
use muninn_notebooks::personal::layout::{self, LeftOut, MemoryFile};
use serde::Serialize;

use super::error::{ArchiveError, io_error};

/// The level of the compression: zstd's default.
const LEVEL: i32 = 3;

/// What an archive was made of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// The number of files in it.
    pub files: usize,
    /// What lies in the directory and is no part of a memory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<LeftOut>,
}

/// Writes the files of a memory to an archive, which must not exist.
///
/// # Errors
/// [`ArchiveError`]; the archive is not there then.
pub fn export(root: &Path, archive: &Path) -> Result<Exported, ArchiveError> {
    let failed = io_error(archive);
    // Beside the archive, so that a full disk leaves no half of one.
    let folder = match archive.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    if archive.exists() {
        return Err(failed(io::ErrorKind::AlreadyExists.into()));
    }
    let temporary = tempfile::Builder::new().prefix(layout::UNFINISHED).tempfile_in(folder);
    let temporary = temporary.map_err(&failed)?;
    let encoder = zstd::Encoder::new(BufWriter::new(temporary.as_file()), LEVEL).map_err(&failed)?;
    let mut tar = tar::Builder::new(encoder);
    tar.follow_symlinks(false);
    let listing = layout::list(root).map_err(io_error(root))?;
    for MemoryFile { path, .. } in &listing.files {
        let from = root.join(path);
        let mut file = private_file::open(&from).map_err(io_error(&from))?;
        tar.append_file(path, &mut file).map_err(io_error(&from))?;
    }
    let finish = |tar: tar::Builder<zstd::Encoder<'_, BufWriter<&File>>>| {
        tar.into_inner()?.finish()?.flush()?;
        temporary.as_file().sync_all()
    };
    finish(tar).map_err(&failed)?;
    temporary.persist_noclobber(archive).map_err(|error| failed(error.error))?;
    Ok(Exported { files: listing.files.len(), left: listing.left })
}

#[cfg(test)]
mod tests;
