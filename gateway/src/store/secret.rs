//! A random secret of this machine, made once: it tells what this user made from what came with a clone.

use std::io::{Read, Write};
use std::path::Path;

/// The 32 bytes in the state directory's `secret` file, made on first use.
///
/// # Errors
/// Where the file can neither be read nor made.
pub fn machine_secret(state_dir: &Path) -> std::io::Result<[u8; 32]> {
    let path = state_dir.join("secret");
    if let Some(secret) = read(&path)? {
        return Ok(secret);
    }
    private_dir(state_dir)?;
    let mut secret = [0; 32];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut secret))
        .or_else(|_| fallback(&mut secret))?;
    // Whoever is first wins; a second process reads what the first one wrote.
    let temporary = state_dir.join(format!("secret.{}", std::process::id()));
    private_file(&temporary)?.write_all(&secret)?;
    let linked = std::fs::hard_link(&temporary, &path);
    std::fs::remove_file(&temporary)?;
    match linked {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => read(&path)?.ok_or_else(|| std::io::Error::other("the secret file is not 32 bytes long")),
    }
}

fn read(path: &Path) -> std::io::Result<Option<[u8; 32]>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(bytes.try_into().ok()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Where there is no `/dev/urandom`: the randomness of the standard library's hash maps, which is the system's.
fn fallback(secret: &mut [u8; 32]) -> std::io::Result<()> {
    use std::hash::{BuildHasher, Hasher, RandomState};
    for part in secret.chunks_mut(8) {
        let word = RandomState::new().build_hasher().finish().to_le_bytes();
        part.copy_from_slice(&word[..part.len()]);
    }
    Ok(())
}

/// Makes a directory that only its owner can enter.
pub(crate) fn private_dir(path: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Opens a file for appending that only its owner can read, making it where it is missing.
pub(crate) fn private_file(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok(file)
}

/// Opens a private file for appending, making its directory as well.
///
/// # Errors
/// Where either cannot be made.
pub fn private_file_in_private_dir(path: &Path) -> std::io::Result<std::fs::File> {
    if let Some(parent) = path.parent() {
        private_dir(parent)?;
    }
    private_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_is_made_once_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let first = machine_secret(&state).unwrap();
        assert_eq!(machine_secret(&state).unwrap(), first);
        assert_ne!(first, [0; 32]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(
                std::fs::metadata(state.join("secret")).unwrap().permissions().mode() & 0o777,
                0o600
            );
        }
    }
}
