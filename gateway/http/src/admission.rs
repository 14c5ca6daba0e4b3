//! Admission of requests: the outermost layer, which checks host, origin and path, and identifies the caller.
//!
//! An admitted request has its [`Caller`] among its extensions and no access key among its headers, so no inner layer can
//! forward a key. Its route's [`gate`](super::gate) then decides whether the caller may use it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use http::{HeaderMap, Response};
use muninn_backend::access::{Access, Caller, Denied, Peer, contains_key, remove_keys};
use muninn_wire::error::ErrorKind;

use super::refusal_log::Client;
use super::{Worker, guard, path, refusal, reply};

/// Admits a request, or answers it with an error.
pub(super) async fn admit_request(State(worker): State<Worker>, mut request: Request, next: Next) -> Response<Body> {
    let settings = worker.app.settings();
    // A web page whose host name resolves to this machine sends a foreign Host header. On an address that other machines
    // use by name every client does, so there the access key is the protection: a page does not know it.
    let hosts = if worker.app.exposed && !settings.access.is_open() {
        guard::AllowedHosts::Any
    } else {
        guard::AllowedHosts::Named(&settings.config.allowed_hosts)
    };
    let refuse = |kind, reason: &str| {
        let client = Client::with(&Caller::without_key(Denied::Missing), request.extensions());
        refusal::log(&worker.shared, &client, kind, reason);
        reply::refusal(request.uri().path(), kind, reason)
    };
    if contains_key(request.uri()) {
        let reason = "an access key must not be in the URL, where logs would keep it; send it as `x-muninn-key`";
        return refuse(ErrorKind::InvalidRequest, reason);
    }
    if let Some(reason) = guard::refusal(request.headers(), request.uri(), hosts) {
        return refuse(ErrorKind::Permission, &reason);
    }
    match path::canonical(request.uri()) {
        Ok(Some(canonical)) => *request.uri_mut() = canonical,
        Ok(None) => {}
        Err(path::DotSegment) => {
            return refuse(ErrorKind::InvalidRequest, "a path must not have a segment `.` or `..`");
        }
    }
    let peer = request.extensions().get::<Arc<Peer>>();
    let caller = identify(worker.app.exposed, &settings.access, request.headers(), peer);
    request.extensions_mut().insert(caller);
    remove_keys(request.headers_mut());
    next.run(request).await
}

fn identify(exposed: bool, access: &Access, headers: &HeaderMap, peer: Option<&Arc<Peer>>) -> Caller {
    // A reload may remove all keys but not change the address; without keys every machine would be admitted.
    let authenticated = match peer {
        Some(peer) if !(exposed && access.is_open()) => access.authenticate(headers, peer),
        _ => Err(Denied::Missing),
    };
    authenticated.unwrap_or_else(Caller::without_key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use muninn_backend::access::{Door, Peer};
    use muninn_backend::socket_owner::SocketOwner;
    use muninn_config::load_text;

    #[test]
    fn exposed_address_without_keys_admits_nobody() {
        let (open, nothing) = (Access::new(&load_text("").unwrap()), HeaderMap::new());
        let peer = Arc::new(Peer::owned_by(SocketOwner::Own));
        let may = |exposed, peer| identify(exposed, &open, &nothing, peer).may(Door::Converse);
        assert!(may(false, Some(&peer)).is_ok());
        assert_eq!(may(true, Some(&peer)), Err(Denied::Missing.into()));
        assert_eq!(may(false, None), Err(Denied::Missing.into()));
    }
}
