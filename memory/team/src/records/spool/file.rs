//! Appends to the spool's files.

use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use muninn_base::private_file;

use super::Durability;

/// Appends in one write. A partial line that a killed writer left is terminated first.
pub(super) fn append(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    let mut file = private_file::append(path)?;
    let length = file.seek(SeekFrom::End(0))?;
    let torn = length > 0 && {
        file.seek(SeekFrom::Start(length - 1))?;
        let mut last = [0];
        file.read_exact(&mut last)?;
        last != *b"\n"
    };
    let parted = if torn { [b"\n", bytes].concat() } else { bytes.to_vec() };
    let written = file.write_all(&parted).and_then(|()| match durability {
        Durability::Append => file.sync_data(),
        Durability::Segment => Ok(()),
    });
    // On a full disk, a partial record is removed.
    written.inspect_err(|_| {
        file.set_len(length).ok();
    })
}
