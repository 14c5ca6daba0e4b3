//! Fetching a model: the index's page, the archive, its files; then one rename, so that a model is there whole or not.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ring::digest::{Context, SHA256};

use super::{Pin, PullError, index, unpack};

const CONNECT: Duration = Duration::from_secs(20);
/// How long a server may say nothing.
const SILENCE: Duration = Duration::from_secs(60);
/// A package with many versions has a page of some hundred kB.
const LARGEST_PAGE: usize = 16 << 20;

/// Fetches a model from a package index, and says where it lies. `index` is the address under which each package has its
/// page, as for pip. `progress` is told how many bytes of how many are there.
///
/// Everything is written beside the place where it belongs, and moved there at the end. Dropping the future, or any
/// error, removes what was written.
///
/// # Errors
/// [`PullError`].
pub async fn pull(
    pin: &Pin,
    index: &str,
    models: &Path,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<PathBuf, PullError> {
    let client = reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .read_timeout(SILENCE)
        .build()
        .map_err(|error| fetching(index, &error))?;
    let archive_url = locate(&client, pin, index).await?;
    let written = |path: &Path, source| PullError::Write {
        path: path.to_owned(),
        source,
    };
    std::fs::create_dir_all(models).map_err(|source| written(models, source))?;
    let work = tempfile::Builder::new()
        .prefix("partial-")
        .tempdir_in(models)
        .map_err(|source| written(models, source))?;
    let mut archive = tempfile::tempfile_in(work.path()).map_err(|source| written(work.path(), source))?;
    download(&client, pin, &archive_url, &mut archive, progress).await?;
    let made = work.path().join("model");
    std::fs::create_dir(&made).map_err(|source| written(&made, source))?;
    archive.rewind().map_err(|source| written(work.path(), source))?;
    unpack::unpack(pin, archive, &made)?;
    let place = models.join(&pin.name);
    let old = work.path().join("old");
    if place.exists() {
        std::fs::rename(&place, &old).map_err(|source| written(&place, source))?;
    }
    if let Err(source) = std::fs::rename(&made, &place) {
        // Nothing was there, or it goes back.
        let _as_it_was = std::fs::rename(&old, &place);
        return Err(written(&place, source));
    }
    Ok(place)
}

/// Asks the index where the archive is.
async fn locate(client: &reqwest::Client, pin: &Pin, index: &str) -> Result<reqwest::Url, PullError> {
    let page = format!("{}/{}/", index.trim_end_matches('/'), pin.package);
    let page_url: reqwest::Url = page.parse().map_err(|error| PullError::Url {
        url: index.to_owned(),
        reason: format!("{error}"),
    })?;
    let shown = shown(&page_url);
    let mut answer = client
        .get(page_url)
        .header("accept", index::ACCEPT)
        .send()
        .await
        .and_then(reqwest::Response::error_for_status)
        .map_err(|error| fetching(&shown, &error))?;
    // Links are relative to where redirects led.
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
    let address = address.ok_or_else(|| PullError::NotListed {
        url: shown,
        archive: pin.archive.clone(),
    })?;
    base.join(&address).map_err(|error| PullError::Url {
        url: address,
        reason: error.to_string(),
    })
}

/// Fetches the archive into a file, no byte more than it should have.
async fn download(
    client: &reqwest::Client,
    pin: &Pin,
    url: &reqwest::Url,
    file: &mut File,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<(), PullError> {
    let shown = shown(url);
    let mismatch = |reason: String| PullError::Mismatch {
        what: pin.archive.clone(),
        reason,
    };
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
        file.write_all(&chunk).map_err(|source| PullError::Write {
            path: PathBuf::from(&pin.archive),
            source,
        })?;
        progress(done, pin.size);
    }
    let found = unpack::hexadecimal(context);
    if found == pin.sha256 {
        Ok(())
    } else {
        Err(mismatch(format!("it has {done} bytes and the SHA-256 {found}")))
    }
}

fn fetching(url: &str, error: &reqwest::Error) -> PullError {
    let reason = match error.status() {
        Some(status) => format!("it answered {status}"),
        None => crate::backend::innermost(error),
    };
    PullError::Fetch {
        url: url.to_owned(),
        reason,
    }
}

/// An address without the user and password that an index of a company may have in it.
fn shown(url: &reqwest::Url) -> String {
    let mut url = url.clone();
    let _no_user_in_such_a_url = url.set_username("").and_then(|()| url.set_password(None));
    url.to_string()
}
