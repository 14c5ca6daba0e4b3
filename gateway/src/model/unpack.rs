//! Hashes, and files out of an archive.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use ring::digest::{Context, SHA256};

use super::{Pin, PullError};

/// A digest in hexadecimal.
pub(super) fn hexadecimal(context: Context) -> String {
    context
        .finish()
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The SHA-256 of all that can be read.
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

/// Takes the pinned files out of an archive into a directory, each held against its hash. The names of the archive's
/// own entries never become paths.
pub(super) fn unpack(pin: &Pin, archive: File, directory: &Path) -> Result<(), PullError> {
    let broken = |reason: String| PullError::Archive {
        archive: pin.archive.clone(),
        reason,
    };
    let mut archive = zip::ZipArchive::new(archive).map_err(|error| broken(error.to_string()))?;
    for file in &pin.files {
        let entry = archive
            .by_name(&file.path)
            .map_err(|error| broken(format!("{}: {error}", file.path)))?;
        let path = directory.join(file.name());
        let written = |source| PullError::Write {
            path: path.clone(),
            source,
        };
        let mut out = File::create(&path).map_err(written)?;
        // One byte more than there should be is enough to see that it is another file.
        let mut limited = entry.take(file.size + 1);
        let mut context = Context::new(&SHA256);
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = limited.read(&mut buffer).map_err(|error| broken(error.to_string()))?;
            if count == 0 {
                break;
            }
            context.update(&buffer[..count]);
            out.write_all(&buffer[..count]).map_err(written)?;
        }
        out.sync_all().map_err(written)?;
        let found = hexadecimal(context);
        if found != file.sha256 {
            return Err(PullError::Mismatch {
                what: file.path.clone(),
                reason: format!("its SHA-256 is {found}"),
            });
        }
    }
    Ok(())
}
