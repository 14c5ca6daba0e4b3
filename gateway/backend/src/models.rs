//! The list of models: those of every backend, those that the configuration names, and the built-in model.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use http::HeaderMap;
use muninn_wire::{ANTHROPIC_VERSION, Dialect, WireFormat};
use serde_json::{Value, json};

use super::discovery::{MAX_LIST_BYTES, Model, ModelList};
use super::{Allowed, Backend, CONTEXT_MODEL, Outgoing, Router, Transport, apply_credentials};

/// Claude Code waits for three seconds.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A model of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedModel {
    pub id: String,
    /// The name of the backend that answers for it.
    pub backend: String,
    /// The name that the backend shows to people.
    display_name: Option<String>,
    description: Option<String>,
}

impl ListedModel {
    pub(crate) fn named(id: &str, backend: &str) -> ListedModel {
        ListedModel { id: id.to_owned(), backend: backend.to_owned(), display_name: None, description: None }
    }

    /// The entry in the vendor's format.
    pub fn render(&self, dialect: Dialect) -> Value {
        match dialect {
            Dialect::OpenAi => json!({"id": self.id, "object": "model", "created": 0, "owned_by": self.backend}),
            Dialect::Anthropic => {
                let name = self.display_name.as_ref().unwrap_or(&self.id);
                let mut entry =
                    json!({"type": "model", "id": self.id, "display_name": name, "created_at": "1970-01-01T00:00:00Z"});
                if let Some(description) = &self.description {
                    entry["description"] = description.as_str().into();
                }
                entry
            }
        }
    }
}

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

/// A part of the list that a client of Anthropic asks for: at most `limit` models after or before one of them.
#[derive(Debug, Default, Clone)]
pub struct ModelPage {
    pub limit: Option<usize>,
    pub after_id: Option<String>,
    pub before_id: Option<String>,
}

/// Renders a list in the vendor's format. Only that of Anthropic has pages; without `limit`, a page has all models.
pub fn render_models(models: &[ListedModel], dialect: Dialect, page: &ModelPage) -> Value {
    let (models, has_more) = match dialect {
        Dialect::OpenAi => (models, false),
        Dialect::Anthropic => page.of(models),
    };
    let data: Vec<Value> = models.iter().map(|model| model.render(dialect)).collect();
    match dialect {
        Dialect::OpenAi => json!({"object": "list", "data": data}),
        Dialect::Anthropic => {
            let id = |entry: Option<&ListedModel>| entry.map(|model| model.id.clone());
            json!({"data": data, "has_more": has_more, "first_id": id(models.first()), "last_id": id(models.last())})
        }
    }
}

impl ModelPage {
    /// The models of the page, and whether there are more in its direction. An unknown id has none.
    fn of<'m>(&self, models: &'m [ListedModel]) -> (&'m [ListedModel], bool) {
        let limit = self.limit.unwrap_or(models.len());
        let place = |id: &str| models.iter().position(|model| model.id == id);
        if let Some(before) = &self.before_id {
            let rest = &models[..place(before).unwrap_or(0)];
            let first = rest.len().saturating_sub(limit);
            return (&rest[first..], first > 0);
        }
        let start = self.after_id.as_ref().map_or(0, |after| place(after).map_or(models.len(), |at| at + 1));
        let rest = &models[start..];
        (&rest[..limit.min(rest.len())], rest.len() > limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_go_on_after_and_before_a_model() {
        let models = ["a", "b", "c", "d"].map(|id| ListedModel::named(id, "x"));
        let page = |limit, after_id: Option<&str>, before_id: Option<&str>| {
            let page =
                ModelPage { limit, after_id: after_id.map(str::to_owned), before_id: before_id.map(str::to_owned) };
            let list = render_models(&models, Dialect::Anthropic, &page);
            let ids: Vec<_> =
                list["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
            assert_eq!(
                (list["first_id"].as_str(), list["last_id"].as_str()),
                (ids.first().copied(), ids.last().copied())
            );
            (ids.concat(), list["has_more"] == true)
        };
        let cases = [
            (page(None, None, None), ("abcd", false)),
            (page(Some(1), None, None), ("a", true)),
            (page(Some(2), Some("b"), None), ("cd", false)),
            (page(Some(1), Some("b"), None), ("c", true)),
            (page(None, Some("d"), None), ("", false)),
            (page(None, Some("x"), None), ("", false)),
            (page(Some(2), None, Some("d")), ("bc", true)),
            (page(Some(3), None, Some("d")), ("abc", false)),
            (page(Some(3), None, Some("a")), ("", false)),
            (page(None, None, Some("x")), ("", false)),
            (page(Some(9), None, None), ("abcd", false)),
        ];
        for (index, ((ids, has_more), expected)) in cases.into_iter().enumerate() {
            assert_eq!((&*ids, has_more), expected, "{index}");
        }
        let all = render_models(&models, Dialect::OpenAi, &ModelPage { limit: Some(1), ..ModelPage::default() });
        assert_eq!(all["data"].as_array().unwrap().len(), 4, "the format of OpenAI has no pages");
    }
}
