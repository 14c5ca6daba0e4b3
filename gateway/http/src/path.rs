//! Canonical paths.
//!
//! Servers disagree about `/v1//messages`, `/v1/messages/`, `/v1/%6dessages` and `/v1/../admin`. A spelling that a backend
//! would accept for a known endpoint must reach that endpoint here too; otherwise the request would get no context and
//! escape the limits of its key. No path may leave `/v1/`.

use http::Uri;
use http::uri::PathAndQuery;
use muninn_backend::percent;

/// The paths that are handled here, or checked before they are forwarded.
const KNOWN: [&str; 12] = [
    "/v1/chat/completions",
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/responses",
    "/v1/responses/compact",
    "/v1/responses/input_tokens",
    "/v1/models",
    "/v1/embeddings",
    "/v1/completions",
    "/healthz",
    "/metrics",
    "/mcp",
];

/// The path has a segment `.` or `..`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DotSegment;

/// The canonical URI of a known path, without empty segments, trailing slash and escapes. `None` if the URI is canonical
/// already, or its path is unknown.
///
/// # Errors
/// [`DotSegment`] if the path has a segment `.` or `..`, at any level of escaping.
pub(super) fn canonical(uri: &Uri) -> Result<Option<Uri>, DotSegment> {
    let decoded = percent::decode(uri.path().as_bytes());
    let decoded = String::from_utf8_lossy(&decoded);
    let segments = || decoded.split(['/', '\\']);
    if segments().any(|segment| matches!(segment, "." | "..")) {
        return Err(DotSegment);
    }
    let plain: String = segments().filter(|segment| !segment.is_empty()).flat_map(|segment| ["/", segment]).collect();
    if plain == uri.path() || !KNOWN.contains(&plain.as_str()) {
        return Ok(None);
    }
    let with_query = match uri.query() {
        Some(query) => format!("{plain}?{query}"),
        None => plain,
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = PathAndQuery::try_from(with_query).ok();
    Ok(Uri::from_parts(parts).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(uri: &'static str) -> Result<Option<String>, DotSegment> {
        canonical(&Uri::from_static(uri)).map(|uri| uri.map(|uri| uri.to_string()))
    }

    #[test]
    fn known_paths_have_one_spelling() {
        for path in [
            "/v1//chat/completions",
            "/v1/chat/completions/",
            "//v1/chat///completions//",
            "/v1/chat%2Fcompletions",
            "/v1/%63hat/completions",
            "/v1/%2563hat/completions",
            "/v1/chat\\completions",
        ] {
            let Ok(uri) = path.parse::<Uri>() else { continue };
            let found = canonical(&uri).unwrap().map(|uri| uri.to_string());
            assert_eq!(found.as_deref(), Some("/v1/chat/completions"), "{path}");
        }
        assert_eq!(of("/v1/messages/?beta=%2F"), Ok(Some("/v1/messages?beta=%2F".to_owned())));
        assert_eq!(of("http://localhost:1/v1/models/"), Ok(Some("http://localhost:1/v1/models".to_owned())));
        assert_eq!(of("/healthz/"), Ok(Some("/healthz".to_owned())));
    }

    #[test]
    fn other_paths_stay_as_they_are() {
        for path in [
            "/",
            "/v1/messages?x=/../",
            "/v1/files/",
            "/v1//files",
            "/v1/models/org%2Fmodel",
            "/v1/models/model-1.5..2",
            "/v1/files/100%",
            "/v1/files/%zz%2",
            "/v1/...",
        ] {
            assert_eq!(of(path), Ok(None), "{path}");
        }
    }

    #[test]
    fn dot_segments_are_refused_in_every_spelling() {
        for path in [
            "/v1/../admin",
            "/v1/..",
            "/v1/./messages",
            "/v1/%2e%2e/admin",
            "/v1/%2E./admin",
            "/v1/.%2e%2fadmin",
            "/v1/files%2f..%2fadmin",
            "/v1/%252e%252e/admin",
            "/v1/%25252e%25252e%25252fadmin",
            "/v1/..%5cadmin",
            "/v1/x%5C..",
        ] {
            assert_eq!(of(path), Err(DotSegment), "{path}");
        }
    }
}
