//! Admission of requests: the outermost layer, which checks origin, path, access key and rate limit.
//!
//! An admitted request has its [`Caller`] among its extensions and no access key among its headers, so no inner layer can
//! forward a key.

use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use http::{HeaderMap, HeaderValue, Response, header};

use super::refusal::{self, Client};
use super::{Worker, body, guard, path, reply};
use crate::access::{Access, Caller, Denied, contains_key, remove_keys};
use crate::wire::WireFormat;
use crate::wire::error::ErrorKind;

/// Admits a request, or answers it with an error.
pub(super) async fn admit_request(State(worker): State<Worker>, mut request: Request, next: Next) -> Response<Body> {
    let settings = worker.app.settings();
    // A web page whose host name resolves to this machine sends a foreign Host header. On an address that other machines
    // use by name every client does, so there the access key is the protection: a page does not know it.
    let hosts = match worker.app.exposed && !settings.access.is_open() {
        true => guard::AllowedHosts::Any,
        false => guard::AllowedHosts::Named(&settings.config.allowed_hosts),
    };
    let refuse = |kind, reason: &str| {
        let client = Client::with(&Caller::anonymous(), request.extensions());
        refusal::log(&worker.shared, &client, kind, reason);
        reply::error(WireFormat::of_path(request.uri().path()), kind, reason)
    };
    if let Some(reason) = guard::refusal(request.headers(), request.uri(), hosts) {
        return refuse(ErrorKind::Permission, &reason);
    }
    if contains_key(request.uri()) {
        let reason = "an access key must not be in the URL, where logs would keep it; send it as `x-muninn-key`";
        return refuse(ErrorKind::InvalidRequest, reason);
    }
    match path::canonical(request.uri()) {
        Ok(Some(canonical)) => *request.uri_mut() = canonical,
        Ok(None) => {}
        Err(path::DotSegment) => {
            return refuse(ErrorKind::InvalidRequest, "a path must not have a segment `.` or `..`");
        }
    }
    let path = request.uri().path();
    match admit(&worker, &settings.access, request.headers(), path).await {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
        }
        // `/healthz` without a key says only that the process runs.
        Err(_) if request.uri().path() == "/healthz" => {}
        Err((key, denied)) => return refuse_caller(&worker, request, &key, &denied).await,
    }
    remove_keys(request.headers_mut());
    next.run(request).await
}

/// The caller, or the name of the key that was refused and why.
async fn admit(worker: &Worker, access: &Access, headers: &HeaderMap, path: &str) -> Result<Caller, (String, Denied)> {
    let caller = authenticate(worker.app.exposed, access, headers).map_err(|denied| (String::new(), denied))?;
    // The gateway's other endpoints are not rate limited.
    if path.starts_with("/v1/") || path == "/mcp" {
        let admitted = caller.admit(&*worker.app.counters, Instant::now()).await;
        admitted.map_err(|denied| (caller.name().to_owned(), denied))?;
    }
    Ok(caller)
}

fn authenticate(exposed: bool, access: &Access, headers: &HeaderMap) -> Result<Caller, Denied> {
    // A reload may remove all keys but not change the address; without keys every machine would be admitted.
    match exposed && access.is_open() {
        true => Err(Denied::Missing),
        false => access.authenticate(headers),
    }
}

async fn refuse_caller(worker: &Worker, request: Request, key: &str, denied: &Denied) -> Response<Body> {
    let kind = denied.kind();
    let client = Client {
        key: key.to_owned(),
        ..Client::with(&Caller::anonymous(), request.extensions())
    };
    refusal::log(&worker.shared, &client, kind, &denied.to_string());
    worker.app.metrics.refused(key, kind);
    let format = WireFormat::of_path(request.uri().path());
    // A client that is still sending would see a broken connection instead of the error.
    body::drain(request.into_body()).await;
    let mut response = reply::error(format, kind, &denied.to_string());
    let headers = response.headers_mut();
    if kind == ErrorKind::Authentication {
        headers.insert(
            header::WWW_AUTHENTICATE,
            HeaderValue::from_static("Bearer realm=\"muninn\""),
        );
    }
    if let Some(seconds) = denied.retry_after() {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exposed_address_without_keys_admits_nobody() {
        let (open, nothing) = (Access::new(&[]), HeaderMap::new());
        assert!(authenticate(false, &open, &nothing).is_ok());
        assert_eq!(authenticate(true, &open, &nothing).err(), Some(Denied::Missing));
    }
}
