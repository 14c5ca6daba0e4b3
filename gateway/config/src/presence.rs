//! The gateways that run on this machine, by their port.
//!
//! A gateway holds the lock on a file that is named after its port. The system releases the lock when the process ends,
//! however it ends, so a file without a lock means nothing.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use http::Uri;
use muninn_base::private_file;

use crate::env_vars;

/// The mark of a running gateway. Dropping it removes the mark.
#[derive(Debug)]
pub struct Presence {
    path: PathBuf,
    /// The open file holds the lock.
    file: File,
}

impl Presence {
    /// Marks a gateway of this process.
    pub fn announce(state_dir: &Path, port: u16) -> io::Result<Presence> {
        private_file::dir(state_dir)?;
        let path = path(state_dir, port);
        loop {
            let file = private_file::lock(&path)?;
            let presence = Presence { path: path.clone(), file };
            // The gateway that had the port before removed its file in between.
            if presence.is_in_place() {
                return Ok(presence);
            }
        }
    }

    /// Whether the path still names the locked file.
    #[cfg(unix)]
    fn is_in_place(&self) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        let id = |metadata: io::Result<std::fs::Metadata>| metadata.ok().map(|it| (it.dev(), it.ino()));
        let placed = id(self.path.metadata());
        placed.is_some() && placed == id(self.file.metadata())
    }

    /// On other systems the file is not removed.
    #[cfg(not(unix))]
    fn is_in_place(&self) -> bool {
        let _ = &self.file;
        true
    }
}

impl Drop for Presence {
    /// Gateways on ports of their own would leave a file each.
    fn drop(&mut self) {
        if cfg!(unix) && self.is_in_place() {
            std::fs::remove_file(&self.path).ok();
        }
    }
}

/// Whether a URL names a gateway that runs on this machine.
pub fn is_gateway(state_dir: &Path, url: &str) -> bool {
    loopback_port(url).is_some_and(|port| is_held(&path(state_dir, port)))
}

/// Whether any gateway of this user runs on this machine.
pub fn is_any_gateway(state_dir: &Path) -> bool {
    let entries = std::fs::read_dir(state_dir).into_iter().flatten().flatten();
    let mut ports = entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("gateway-")?.parse().ok());
    ports.any(|port| is_held(&path(state_dir, port)))
}

fn is_held(path: &Path) -> bool {
    private_file::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// The port of a URL with a loopback address.
pub fn loopback_port(url: &str) -> Option<u16> {
    let url: Uri = url.trim().parse().ok()?;
    let host = url.host()?.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = host.eq_ignore_ascii_case("localhost")
        || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
    let default = match url.scheme_str() {
        Some("https") => 443,
        _ => 80,
    };
    is_loopback.then(|| url.port_u16().unwrap_or(default))
}

fn path(state_dir: &Path, port: u16) -> PathBuf {
    state_dir.join(format!("gateway-{port}"))
}

/// The environment variables by which clients find a gateway.
pub fn client_variables(url: &str) -> Vec<(&'static str, String)> {
    let mut exceptions: Vec<String> =
        ["no_proxy", "NO_PROXY"].iter().filter_map(|name| std::env::var(name).ok()).collect();
    exceptions.truncate(1);
    exceptions.push("127.0.0.1,localhost".to_owned());
    let exceptions = exceptions.join(",");
    vec![
        ("ANTHROPIC_BASE_URL", url.to_owned()),
        ("ANTHROPIC_API_BASE", url.to_owned()),
        ("OPENAI_BASE_URL", format!("{url}/v1")),
        ("OPENAI_API_BASE", format!("{url}/v1")),
        (env_vars::URL, url.to_owned()),
        ("NO_PROXY", exceptions.clone()),
        ("no_proxy", exceptions),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gateway_is_present_until_its_process_drops_the_mark() {
        let state = tempfile::tempdir().unwrap();
        let url = "http://127.0.0.1:4747/v1";
        assert!(!is_gateway(state.path(), url) && !is_any_gateway(state.path()));
        let presence = Presence::announce(state.path(), 4747).unwrap();
        assert!(is_any_gateway(state.path()));
        assert!(is_gateway(state.path(), url));
        assert!(is_gateway(state.path(), "http://localhost:4747"));
        assert!(!is_gateway(state.path(), "http://127.0.0.1:4748"));
        assert!(!is_gateway(state.path(), "http://192.0.2.1:4747"));
        drop(presence);
        assert!(!is_gateway(state.path(), url));
        std::fs::write(path(state.path(), 4747), "").unwrap();
        std::fs::write(state.path().join("gateway-x"), "").unwrap();
        let any = is_gateway(state.path(), url) || is_any_gateway(state.path());
        assert!(!any, "the file alone means nothing");
        std::fs::remove_file(state.path().join("gateway-x")).unwrap();
        let again = Presence::announce(state.path(), 4747).unwrap();
        assert!(is_gateway(state.path(), url));
        drop(again);
        assert_eq!(state.path().read_dir().unwrap().count(), 0, "no file is left");
    }

    #[test]
    fn port_is_read_from_loopback_urls_only() {
        let ports = [
            ("http://[::1]:81/x", Some(81)),
            ("https://localhost", Some(443)),
            ("http://127.1.2.3", Some(80)),
            ("https://api.anthropic.com:4747", None),
            ("not a url", None),
            ("", None),
        ];
        for (url, port) in ports {
            assert_eq!(loopback_port(url), port, "{url}");
        }
    }
}
