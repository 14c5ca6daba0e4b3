//! Fetching a model: the index's page, the archive and its files, or an archive or a folder of this machine. A final rename
//! makes the model appear atomically.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ring::digest::{Context, SHA256};

use super::{Pin, PullError, index, unpack};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// The longest time without data from a server.
const READ_TIMEOUT: Duration = Duration::from_secs(60);
/// The most bytes of an index page. A package with many versions has a page of some hundred kB.
const LARGEST_PAGE: usize = 16 << 20;

/// Fetches a model from a package index and returns its directory. `index` is the address of the index, as for pip:
/// each package has a page below it. `progress` gets the received and the total bytes. Dropping the future leaves no files.
pub async fn pull(
    pin: &Pin,
    index: &str,
    models: &Path,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<PathBuf, PullError> {
    let client = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .build()
        .map_err(|error| fetching(index, &error))?;
    let archive_url = locate(&client, pin, index).await?;
    let staged = Staged::new(pin, models)?;
    let unwritable = |source| PullError::Write { path: models.to_owned(), source };
    let mut archive = tempfile::tempfile_in(models).map_err(unwritable)?;
    download(&client, pin, &archive_url, &mut archive, progress).await?;
    archive.rewind().map_err(unwritable)?;
    unpack::unpack(pin, archive, &staged.directory)?;
    staged.install()
}

/// Takes a model from its archive, or from a folder with its files, and returns its directory.
pub fn install(pin: &Pin, from: &Path, models: &Path) -> Result<PathBuf, PullError> {
    let staged = Staged::new(pin, models)?;
    let unreadable = |source| PullError::Read { path: from.to_owned(), source };
    if from.is_dir() {
        for file in &pin.files {
            let source = from.join(file.name());
            let unreadable = |error| PullError::Read { path: source.clone(), source: error };
            unpack::copy(file, File::open(&source).map_err(unreadable)?, &staged.directory)?;
        }
    } else {
        unpack::unpack(pin, File::open(from).map_err(unreadable)?, &staged.directory)?;
    }
    staged.install()
}

/// A directory for the files of a model, next to that of the model. Without [`Staged::install`] it is removed.
struct Staged {
    work: tempfile::TempDir,
    directory: PathBuf,
    target: PathBuf,
}

impl Staged {
    fn new(pin: &Pin, models: &Path) -> Result<Self, PullError> {
        let unwritable = |source| PullError::Write { path: models.to_owned(), source };
        std::fs::create_dir_all(models).map_err(unwritable)?;
        let work = tempfile::Builder::new().prefix("partial-").tempdir_in(models).map_err(unwritable)?;
        let directory = work.path().join("model");
        std::fs::create_dir(&directory).map_err(unwritable)?;
        Ok(Self { work, directory, target: models.join(&pin.name) })
    }

    /// Makes the files the model, in place of an earlier one.
    fn install(self) -> Result<PathBuf, PullError> {
        let unwritable = |source| PullError::Write { path: self.target.clone(), source };
        let old = self.work.path().join("old");
        if self.target.exists() {
            std::fs::rename(&self.target, &old).map_err(unwritable)?;
        }
        if let Err(source) = std::fs::rename(&self.directory, &self.target) {
            // Restores the earlier model, if there was one.
            std::fs::rename(&old, &self.target).ok();
            return Err(unwritable(source));
        }
        Ok(self.target)
    }
}

/// Finds the archive's address on the index.
async fn locate(client: &reqwest::Client, pin: &Pin, index: &str) -> Result<reqwest::Url, PullError> {
    let page = format!("{}/{}/", index.trim_end_matches('/'), pin.package);
    let page_url: reqwest::Url =
        page.parse().map_err(|error| PullError::Url { url: index.to_owned(), reason: format!("{error}") })?;
    let shown = shown(&page_url);
    let mut answer = client
        .get(page_url)
        .header("accept", index::ACCEPT)
        .send()
        .await
        .and_then(reqwest::Response::error_for_status)
        .map_err(|error| fetching(&shown, &error))?;
    // Links are relative to the address after redirects.
    let base = answer.url().clone();
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| fetching(&shown, &error))? {
        body.extend_from_slice(&chunk);
        if body.len() > LARGEST_PAGE {
            return Err(PullError::Fetch {
                url: shown,
                reason: format!("its page has more than {LARGEST_PAGE} bytes"),
            });
        }
    }
    let address = index::address_of(&String::from_utf8_lossy(&body), &pin.archive);
    let address = address.ok_or_else(|| PullError::NotListed { url: shown, archive: pin.archive.clone() })?;
    base.join(&address).map_err(|error| PullError::Url { url: address, reason: error.to_string() })
}

/// Downloads the archive into a file, and stops if it is longer than its pin.
async fn download(
    client: &reqwest::Client,
    pin: &Pin,
    url: &reqwest::Url,
    file: &mut File,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<(), PullError> {
    let shown = shown(url);
    let mismatch = |reason: String| PullError::Mismatch { file: pin.archive.clone(), reason };
    let mut answer = client
        .get(url.clone())
        .send()
        .await
        .and_then(reqwest::Response::error_for_status)
        .map_err(|error| fetching(&shown, &error))?;
    let mut context = Context::new(&SHA256);
    let mut done = 0;
    while let Some(chunk) = answer.chunk().await.map_err(|error| fetching(&shown, &error))? {
        done += chunk.len() as u64;
        if done > pin.size {
            return Err(mismatch(format!("it has more than {} bytes", pin.size)));
        }
        context.update(&chunk);
        file.write_all(&chunk).map_err(|source| PullError::Write { path: PathBuf::from(&pin.archive), source })?;
        progress(done, pin.size);
    }
    let found = unpack::hexadecimal(context);
    if found == pin.sha256 { Ok(()) } else { Err(mismatch(format!("it has {done} bytes and the SHA-256 {found}"))) }
}

fn fetching(url: &str, error: &reqwest::Error) -> PullError {
    let reason = match error.status() {
        Some(status) => format!("it answered {status}"),
        None => muninn_backend::innermost(error),
    };
    PullError::Fetch { url: url.to_owned(), reason }
}

/// Returns an address without user and password, which the address of a company's index may contain.
fn shown(url: &reqwest::Url) -> String {
    let mut url = url.clone();
    // Fails only for addresses that cannot have a user.
    url.set_username("").and_then(|()| url.set_password(None)).ok();
    url.to_string()
}

#[cfg(test)]
mod tests;
