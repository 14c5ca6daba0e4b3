//! Hashing, and extracting files from an archive.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use ring::digest::{Context, SHA256};

use super::{Pin, PinnedFile, PullError};

/// Returns a digest in hexadecimal digits.
pub(super) fn hexadecimal(context: Context) -> String {
    context.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the SHA-256 of everything in a reader.
pub(super) fn sha256(mut source: impl Read) -> std::io::Result<String> {
    let mut context = Context::new(&SHA256);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match source.read(&mut buffer)? {
            0 => return Ok(hexadecimal(context)),
            count => context.update(&buffer[..count]),
        }
    }
}

/// Extracts the pinned files from an archive into a directory and checks their hashes. Entry names of the archive are
/// never used as paths.
pub(super) fn unpack(pin: &Pin, archive: File, directory: &Path) -> Result<(), PullError> {
    let broken = |reason: String| PullError::Archive { archive: pin.archive.clone(), reason };
    let mut archive = zip::ZipArchive::new(archive).map_err(|error| broken(error.to_string()))?;
    for file in &pin.files {
        let entry = archive.by_name(&file.path).map_err(|error| broken(format!("{}: {error}", file.path)))?;
        copy(file, entry, directory)?;
    }
    Ok(())
}

/// Copies a pinned file into a directory and checks its hash.
pub(super) fn copy(file: &PinnedFile, source: impl Read, directory: &Path) -> Result<(), PullError> {
    let path = directory.join(file.name());
    let unwritable = |source| PullError::Write { path: path.clone(), source };
    let mut out = File::create(&path).map_err(unwritable)?;
    // One byte beyond the pinned size is enough to notice a longer file.
    let mut limited = source.take(file.size + 1);
    let mut context = Context::new(&SHA256);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = limited
            .read(&mut buffer)
            .map_err(|error| PullError::Archive { archive: file.path.clone(), reason: error.to_string() })?;
        if count == 0 {
            break;
        }
        context.update(&buffer[..count]);
        out.write_all(&buffer[..count]).map_err(unwritable)?;
    }
    out.sync_all().map_err(unwritable)?;
    let found = hexadecimal(context);
    if found == file.sha256 {
        Ok(())
    } else {
        Err(PullError::Mismatch { file: file.path.clone(), reason: format!("its SHA-256 is {found}") })
    }
}
