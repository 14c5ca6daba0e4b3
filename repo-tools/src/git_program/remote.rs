//! Remotes: what an address may be, and which addresses a repository's configuration gives a name.
//!
//! The configuration of a repository can come from a stranger, in an archive. Only the addresses of remotes are read from it.
//! A setting in it that names a program, or another address, is an error, because the transfer would not do what the
//! repository asks for.

use std::path::{Path, PathBuf};

use gix::bstr::{BStr, ByteSlice as _};
use gix::config::Source;

use super::SETTINGS;

/// The schemes of addresses that git itself handles.
const SCHEMES: [&str; 7] = ["file", "git", "git+ssh", "http", "https", "ssh", "ssh+git"];
/// What `git receive-pack` of a repository on this machine must not do: change files, and so run filters, and collect garbage.
const RECEIVE_SETTINGS: [&str; 3] =
    ["core.alternateRefsCommand=true", "receive.denyCurrentBranch=refuse", "receive.autogc=false"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// Its name, or its address.
    pub name: String,
    /// The settings of the name, `url` and `pushurl`; empty for an address, and for a name of the user's configuration.
    pub addresses: Vec<(&'static str, String)>,
    /// Whether it is, or has among its addresses, a repository on this machine.
    pub is_local: bool,
    /// The directory in which a relative address begins, if it is not that of the process.
    pub directory: Option<PathBuf>,
}

/// Why nothing is exchanged with a remote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// The name is an option or has blanks, or the address names a program.
    #[error("`{0}` is no remote: addresses of files, ssh, https, http and git are, and names of them")]
    Address(String),
    /// The repository's configuration has a setting that names a program or another address.
    #[error(
        "`{key}` in the configuration of this repository is not used, because the configuration can come from a stranger: \
         move it to your own with `git config --global`, under `includeIf \"gitdir:...\"` if it is for this repository \
         alone, and remove it with `git config --local --unset-all {key}`"
    )]
    Setting {
        /// The setting.
        key: String,
    },
}

/// Whether a text can name a remote: neither an option nor several words, nor the address of a program (`ext::`).
pub fn is_remote(name: &str) -> bool {
    !name.contains(char::is_whitespace) && is_address(name)
}

/// Whether git itself handles an address, or a name.
fn is_address(address: &str) -> bool {
    if address.is_empty() || address.starts_with('-') || address.contains(char::is_control) {
        return false;
    }
    let scheme_end = address.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')));
    let (scheme, rest) = address.split_at(scheme_end.unwrap_or(address.len()));
    if rest.starts_with("::") {
        return false;
    }
    !rest.starts_with("://") || SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme))
}

/// Whether an address is a path, as git sees it: no `host:path`, and no scheme but `file`.
fn is_local(address: &str) -> bool {
    let before_colon = address.split_once(':').map(|(before, _)| before);
    address.starts_with("file://") || before_colon.is_none_or(|before| before.contains('/') || before.contains('\\'))
}

impl Remote {
    /// The remote that a name or an address refers to. Relative addresses of the configuration begin in `directory`.
    pub(crate) fn find(repository: &gix::Repository, name: &str, directory: &Path) -> Result<Self, RemoteError> {
        let snapshot = repository.config_snapshot();
        let config = snapshot.plumbing();
        let refused = |address: &str| RemoteError::Address(address.escape_debug().to_string());
        if !is_remote(name) {
            return Err(refused(name));
        }
        let mut addresses = Vec::new();
        for key in ["url", "pushurl"] {
            let values = config.raw_values_by("remote", name, key).unwrap_or_default();
            addresses.extend(values.iter().map(|value| (key, value.to_str_lossy().into_owned())));
        }
        let named: Vec<&str> = addresses.iter().map(|(_, address)| address.as_str()).collect();
        let effective = if named.is_empty() { vec![name] } else { named };
        if let Some(address) = effective.iter().find(|address| !is_address(address)) {
            return Err(refused(address));
        }
        if let Some(key) = foreign_setting(config, name, &effective) {
            return Err(RemoteError::Setting { key });
        }
        Ok(Self {
            is_local: effective.iter().any(|address| is_local(address)),
            directory: (!addresses.is_empty()).then(|| directory.to_owned()),
            name: name.to_owned(),
            addresses,
        })
    }

    /// The program for `git push --receive-pack` to a repository on this machine. Its hooks and its configuration would run
    /// here; on another machine, they are that machine's.
    pub fn receive_pack(&self) -> Option<String> {
        let settings = SETTINGS.iter().chain(&RECEIVE_SETTINGS);
        let settings: String = settings.map(|setting| format!(" -c {setting}")).collect();
        self.is_local.then(|| format!("git{settings} receive-pack"))
    }
}

/// The first setting of the repository that would start a program, or go to another address, in an exchange with a remote.
fn foreign_setting(config: &gix::config::File, name: &str, addresses: &[&str]) -> Option<String> {
    let of_repository = |source| matches!(source, Source::Local | Source::Worktree);
    for section in config.sections().filter(|section| of_repository(section.meta().source)) {
        let header = section.header();
        let subsection = header.subsection_name();
        let is_remote = subsection.is_some_and(|of| of == BStr::new(name));
        for key in section.value_names() {
            let key = key.to_ascii_lowercase();
            let is_set = || section.values(&key).iter().any(|value| !value.is_empty());
            let is_prefix = |value: &BStr| addresses.iter().any(|address| address.as_bytes().starts_with(value));
            let is_foreign = match header.name().to_str_lossy().to_ascii_lowercase().as_str() {
                "core" => matches!(&*key, "sshcommand" | "gitproxy" | "askpass") && is_set(),
                "credential" => key == "helper" && is_set(),
                "remote" if is_remote => matches!(&*key, "vcs" | "uploadpack" | "receivepack" | "proxy") && is_set(),
                "http" => matches!(&*key, "proxy") && is_set(),
                "url" if matches!(&*key, "insteadof" | "pushinsteadof") => {
                    section.values(&key).iter().any(|value| is_prefix(value.as_ref()))
                }
                _ => false,
            };
            if is_foreign {
                let between = subsection.map_or_else(String::new, |of| format!(".{}", of.to_str_lossy()));
                return Some(format!("{}{between}.{key}", header.name()).escape_debug().to_string());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_that_start_no_program_are_remotes() {
        let good = [
            "origin",
            "a/b",
            ".",
            "../other",
            "/srv/git/a.git",
            "file:///srv/a.git",
            "https://example.com/a.git",
            "HTTPS://example.com/a.git",
            "http://[::1]:8080/a.git",
            "ssh://git@example.com/a.git",
            "git+ssh://example.com/a",
            "git://example.com/a.git",
            "git@example.com:a/b.git",
            "[::1]:a.git",
            "example.com:a::b",
            "C:\\repositories\\a",
        ];
        for address in good {
            assert!(is_remote(address), "{address}");
        }
        let bad = [
            "",
            "fd::",
            "fd::17/foo",
            "ext::sh -c touch% x",
            "ext::sh",
            "EXT::sh",
            "::",
            "http::https://example.com/",
            "a-b+c.d::e",
            "testgit::/srv/a",
            "ext://x",
            "fd://17",
            "ftp://example.com/a",
            "hg://example.com/a",
            "rsync://example.com/a",
            "a.b-c+d://x",
            "--upload-pack=touch",
            "-x",
            "a b",
            "a\nb",
            "a\u{1b}b",
        ];
        for address in bad {
            assert!(!is_remote(address), "{address}");
        }
    }

    #[test]
    fn paths_are_local_and_hosts_are_not() {
        for (address, local) in [
            ("/srv/a.git", true),
            ("../a", true),
            ("./a:b", true),
            ("file:///srv/a", true),
            ("git@example.com:a", false),
            ("https://example.com/a", false),
            ("ssh://example.com/a", false),
        ] {
            assert_eq!(is_local(address), local, "{address}");
        }
    }
}
