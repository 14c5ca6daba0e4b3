//! The list of models: those of every backend, those that the configuration names, and the built-in model.

use std::time::{Duration, Instant};

use http::HeaderMap;
use muninn_wire::{ANTHROPIC_VERSION, Dialect, WireFormat};
use serde_json::{Value, json};

use super::discovery::{MAX_LIST_BYTES, ModelList};
use super::{Allowed, Backend, CONTEXT_MODEL, Outgoing, Router, Transport, apply_credentials};

/// Claude Code waits for three seconds.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Lists the models of every backend that this client can reach and may use, as pairs of a model's id and a backend's
/// name: what the backends list, their default models, and the patterns of routes that are names. A backend that does not
/// answer is listed by the names that it had within a day.
pub async fn list_models(
    router: &Router,
    transport: &Transport,
    headers: &HeaderMap,
    allowed: Allowed<'_>,
) -> Vec<(String, String)> {
    let is_configured = !router.backends().is_empty();
    let mut backends = router.backends().to_vec();
    if !is_configured {
        backends.extend(router.vendor(headers));
        backends.extend(router.discovered().await);
    }
    backends.retain(|backend| allowed(&backend.name));
    let lists = backends.iter().map(|backend| list(backend, transport, headers));
    let lists = futures_util::future::join_all(lists).await;
    let mut models: Vec<(String, String)> = Vec::new();
    for (backend, list) in backends.iter().zip(lists) {
        // What a vendor lists depends on the client's key.
        let ids = if is_configured { router.known.of(backend, list, Instant::now()) } else { list.unwrap_or_default() };
        models.extend(ids.into_iter().map(|id| (id, backend.name.clone())));
    }
    let defaults = backends.iter().filter_map(|backend| Some((backend.default_model.as_deref()?, &**backend)));
    let aliases = router.aliases().filter(|(_, backend)| allowed(&backend.name));
    for (id, backend) in defaults.chain(aliases) {
        if !models.iter().any(|(known, _)| *known == id) {
            models.push((id.to_owned(), backend.name.clone()));
        }
    }
    models.push((CONTEXT_MODEL.to_owned(), "muninn".to_owned()));
    models
}

/// The models that a backend lists; `None` if it does not answer.
async fn list(backend: &Backend, transport: &Transport, client: &HeaderMap) -> Option<Vec<String>> {
    let format = backend.format_for(WireFormat::Chat);
    let mut headers = HeaderMap::new();
    for name in ["authorization", "x-api-key", "anthropic-version", "anthropic-beta"] {
        if let Some(value) = client.get(name) {
            headers.insert(name, value.clone());
        }
    }
    // Anthropic lists 20 models unless it is asked for more.
    let mut path = "/v1/models".to_owned();
    if format == WireFormat::Messages {
        path += "?limit=1000";
        headers.entry("anthropic-version").or_insert(http::HeaderValue::from_static(ANTHROPIC_VERSION));
    }
    apply_credentials(&mut headers, backend, format);
    let listing = async {
        let request =
            Outgoing { method: http::Method::GET, path, headers, body: bytes::Bytes::new(), is_judged: false };
        let answer = transport.send(backend, request).await.ok()?;
        let body = axum::body::to_bytes(answer.into_body(), MAX_LIST_BYTES).await.ok()?;
        let list: ModelList = serde_json::from_slice(&body).ok()?;
        Some(list.data.into_iter().map(|model| model.id).collect())
    };
    tokio::time::timeout(TIMEOUT, listing).await.ok().flatten()
}

/// Renders pairs of a model's id and a backend's name in the vendor's format.
pub fn render_models(models: &[(String, String)], dialect: Dialect) -> Value {
    match dialect {
        Dialect::OpenAi => {
            let model =
                |(id, owner): &(String, String)| json!({"id": id, "object": "model", "created": 0, "owned_by": owner});
            json!({"object": "list", "data": models.iter().map(model).collect::<Vec<_>>()})
        }
        Dialect::Anthropic => {
            let model = |(id, _): &(String, String)| json!({"type": "model", "id": id, "display_name": id, "created_at": "1970-01-01T00:00:00Z"});
            let id = |entry: Option<&(String, String)>| entry.map(|(id, _)| id.clone());
            json!({
                "data": models.iter().map(model).collect::<Vec<_>>(), "has_more": false,
                "first_id": id(models.first()), "last_id": id(models.last()),
            })
        }
    }
}
