//! The outermost step of every request: may it come in, and who is it?
//!
//! Behind the door a request has its [`Caller`] among its extensions and no access key among its headers, so nothing
//! further in can pass one on.

use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use http::{HeaderMap, HeaderValue, Response, header};

use super::refusal::{self, Client};
use super::{Worker, body, guard, path, reply};
use crate::access::{Access, Caller, Denied, names_key, remove_keys};
use crate::wire::WireFormat;
use crate::wire::error::ErrorKind;

/// Lets a request in, or answers it.
pub(super) async fn door(State(worker): State<Worker>, mut request: Request, next: Next) -> Response<Body> {
    let settings = worker.app.settings();
    // A page whose own host name leads here brings a foreign Host; on an address that others use by name so does
    // everybody, and there a page does not know the key.
    let hosts = match worker.app.exposed && !settings.access.is_open() {
        true => guard::Hosts::Any,
        false => guard::Hosts::Named(&settings.config.allowed_hosts),
    };
    let refuse = |kind, reason: &str| {
        let client = Client::with(&Caller::anonymous(), request.extensions());
        refusal::log(&worker.shared, &client, kind, reason);
        reply::error(WireFormat::of_path(request.uri().path()), kind, reason)
    };
    if let Some(reason) = guard::refusal(request.headers(), request.uri(), hosts) {
        return refuse(ErrorKind::Permission, &reason);
    }
    if names_key(request.uri()) {
        let reason = "an access key does not belong in an address, where logs would keep it; send it as `x-muninn-key`";
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
        // Whether the process lives may be asked without a key; no more than that is said then.
        Err(_) if request.uri().path() == "/healthz" => {}
        Err((key, denied)) => return turn_away(&worker, request, &key, &denied).await,
    }
    remove_keys(request.headers_mut());
    next.run(request).await
}

/// The caller, or the name of the key that was refused and why.
async fn admit(worker: &Worker, access: &Access, headers: &HeaderMap, path: &str) -> Result<Caller, (String, Denied)> {
    let caller = known(worker.app.exposed, access, headers).map_err(|denied| (String::new(), denied))?;
    // Looking at the gateway itself is not what a limit is for.
    if path.starts_with("/v1/") {
        let admitted = caller.admit(&*worker.app.counters, Instant::now()).await;
        admitted.map_err(|denied| (caller.name().to_owned(), denied))?;
    }
    Ok(caller)
}

fn known(exposed: bool, access: &Access, headers: &HeaderMap) -> Result<Caller, Denied> {
    // The address cannot change while we run, the keys can: without any the network would be let in.
    match exposed && access.is_open() {
        true => Err(Denied::Missing),
        false => access.authenticate(headers),
    }
}

async fn turn_away(worker: &Worker, request: Request, key: &str, denied: &Denied) -> Response<Body> {
    let kind = denied.kind();
    let client = Client {
        key: key.to_owned(),
        ..Client::with(&Caller::anonymous(), request.extensions())
    };
    refusal::log(&worker.shared, &client, kind, &denied.to_string());
    worker.app.metrics.refused(key, kind);
    let format = WireFormat::of_path(request.uri().path());
    // A client that is still sending would see a broken connection instead of the answer.
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
    fn an_address_that_others_reach_is_shut_once_the_keys_are_gone() {
        let (open, nothing) = (Access::new(&[]), HeaderMap::new());
        assert!(known(false, &open, &nothing).is_ok());
        assert_eq!(known(true, &open, &nothing).err(), Some(Denied::Missing));
    }
}
