//! The spool's files: appended to in one write, or replaced as a whole.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use super::Durability;

/// Whether a file has a line; a file that is not there has none.
pub(super) fn has_line(path: &Path, line: &str) -> io::Result<bool> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text.lines().any(|other| other == line)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Appends in one write; what a killed or failed writer left of a line is parted from it.
pub(super) fn append(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    let mut file = private_options().read(true).append(true).create(true).open(path)?;
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
    // On a full disk, a part of a record is worth nothing.
    written.inspect_err(|_| {
        let _as_good_as_it_gets = file.set_len(length);
    })
}

/// Puts a file in place as a whole.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    let mut file = private_options()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

fn private_options() -> fs::OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "a mode is for unix"))]
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

pub(super) fn private_dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
