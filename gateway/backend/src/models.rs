//! The list of models: those of every backend, those that the configuration names, and the built-in model.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use http::HeaderMap;
use muninn_wire::{ANTHROPIC_VERSION, WireFormat};

use super::discovery::{MAX_LIST_BYTES, Model, ModelList};
use super::model_list::ListedModel;
use super::{Allowed, Backend, CONTEXT_MODEL, Outgoing, Router, Transport, apply_credentials};

/// Claude Code waits for three seconds.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Lists the models of every backend that this client can reach and may use: what the backends list, their default models,
/// and the patterns of routes that are names. A backend that does not answer is listed by the names that it had within a
/// day. A model of several backends is that of the first.
pub async fn list_models(
    router: &Router,
    transport: &Transport,
    headers: &HeaderMap,
    allowed: Allowed<'_>,
) -> Vec<ListedModel> {
    let is_configured = !router.backends().is_empty();
    let mut backends = router.backends().to_vec();
    if !is_configured {
        backends.extend(router.vendor(headers));
        backends.extend(router.discovered().await);
    }
    backends.retain(|backend| allowed(&backend.name));
    let lists = backends.iter().map(|backend| list(backend, transport, headers));
    let lists = futures_util::future::join_all(lists).await;
    let listed = backends.iter().zip(lists).flat_map(|(backend, list)| {
        // What a vendor lists depends on the client's key.
        if is_configured { router.known.of(backend, list, Instant::now()) } else { list.unwrap_or_default() }
    });
    let listed: Vec<ListedModel> = listed.collect();
    let defaults = backends
        .iter()
        .filter_map(|backend| Some(ListedModel::named(backend.default_model.as_deref()?, &backend.name)));
    let aliases = router.aliases().filter(|(_, backend)| allowed(&backend.name));
    let aliases = aliases.map(|(id, backend)| ListedModel::named(id, &backend.name));
    let own = std::iter::once(ListedModel::named(CONTEXT_MODEL, "muninn"));
    let mut seen = HashSet::new();
    let each = listed.into_iter().chain(defaults).chain(aliases).chain(own);
    each.filter(|model| seen.insert(model.id.clone())).collect()
}

/// The model of this name, if it is one that only Muninn knows: its own, or the pattern of a route.
pub fn own_model(router: &Router, id: &str) -> Option<ListedModel> {
    if id == CONTEXT_MODEL {
        return Some(ListedModel::named(id, "muninn"));
    }
    let (id, backend) = router.aliases().find(|(alias, _)| *alias == id)?;
    Some(ListedModel::named(id, &backend.name))
}

/// The models that a backend lists; `None` if it does not answer.
async fn list(backend: &Backend, transport: &Transport, client: &HeaderMap) -> Option<Vec<ListedModel>> {
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
        let listed = |Model { id, display_name, description, .. }: Model| {
            let backend = backend.name.clone();
            ListedModel { id, backend, display_name, description }
        };
        Some(list.data.into_iter().map(listed).collect())
    };
    tokio::time::timeout(TIMEOUT, listing).await.ok().flatten()
}
