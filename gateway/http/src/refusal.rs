//! The client of a request, and the log of refused requests.

use std::time::Instant;

use axum::body::Body;
use http::Response;
use muninn_backend::access::Forbidden;
use muninn_text::redact;
use muninn_wire::WireFormat;
use muninn_wire::error::ErrorKind;

use super::refusal_log::Client;
use super::{Shared, Worker, reply};

/// Logs a refused request.
pub(super) fn log(shared: &Shared, client: &Client, kind: ErrorKind, message: &str) {
    let Some(unlogged) = shared.refusals.admit(client, Instant::now()) else {
        return;
    };
    tracing::warn!(
        status = kind.status().as_u16(),
        key = client.key,
        client = client.shown(),
        unlogged,
        "refused: {}",
        redact(message)
    );
}

/// Logs and counts a request that the caller's key does not allow, and returns the error response.
pub(super) fn forbid(worker: &Worker, format: WireFormat, client: &Client, forbidden: &Forbidden) -> Response<Body> {
    let message = forbidden.to_string();
    log(&worker.shared, client, ErrorKind::Permission, &message);
    worker.app.metrics.refused(&client.key, ErrorKind::Permission);
    reply::error(format, ErrorKind::Permission, &message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal_log::MOST_CLIENTS;
    use crate::refusal_log::MOST_LINES;
    use crate::refusal_log::RefusalLog;
    use crate::refusal_log::WINDOW;

    #[test]
    fn looping_client_gets_few_log_lines() {
        let log = RefusalLog::default();
        let client = |key: &str| Client { key: key.to_owned(), address: Some(([127, 0, 0, 1], 4000).into()) };
        let now = Instant::now();
        let lines = (0..1000).filter_map(|_| log.admit(&client("loops"), now)).count();
        assert_eq!(lines, MOST_LINES as usize);
        assert_eq!(log.admit(&client("other"), now), Some(0));
        let later = now + WINDOW;
        assert_eq!(log.admit(&client("loops"), later), Some(990));
        assert_eq!(log.admit(&client("loops"), later), Some(0));
        for number in 0..2 * MOST_CLIENTS {
            log.admit(&client(&number.to_string()), later);
        }
        assert!(log.0.lock().len() <= MOST_CLIENTS);
    }
}
