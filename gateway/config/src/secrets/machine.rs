//! A random secret of this machine, created once. It distinguishes caches made here from caches that came with a clone.

use std::io::Write;
use std::path::Path;

use muninn_base::private_file;

/// Returns the 32 bytes of the state directory's `secret` file, which is created on first use.
pub fn machine_secret(state_dir: &Path) -> std::io::Result<[u8; 32]> {
    let path = state_dir.join("secret");
    if let Some(secret) = read(&path)? {
        return Ok(secret);
    }
    private_file::dir(state_dir)?;
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(std::io::Error::other)?;
    // The first process wins. A second one reads the file of the first.
    let temporary = state_dir.join(format!("secret.{}", std::process::id()));
    private_file::create_new(&temporary)?.write_all(&secret)?;
    let linked = std::fs::hard_link(&temporary, &path);
    std::fs::remove_file(&temporary)?;
    match linked {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => read(&path)?.ok_or_else(|| std::io::Error::other("the secret file is not 32 bytes long")),
    }
}

fn read(path: &Path) -> std::io::Result<Option<[u8; 32]>> {
    match private_file::read_whole(path) {
        Ok(bytes) => Ok(bytes.try_into().ok()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_is_created_once_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let first = machine_secret(&state).unwrap();
        assert_eq!(machine_secret(&state).unwrap(), first);
        assert_ne!(first, [0; 32]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(state.join("secret")).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
