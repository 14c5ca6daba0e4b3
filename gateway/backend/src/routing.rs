//! Routing: the backends that may answer a request, best first.

use std::sync::Arc;
use std::time::Instant;

use http::HeaderMap;
use muninn_config::{ChosenModel, Config, ExploreConfig, FallbackConfig, LimitsConfig, RouteConfig};
use muninn_ledger::{Counters, LocalCounters};
use muninn_wire::WireFormat;

use super::affinity::Places;
use super::known_models::KnownModels;
use super::target::{Candidate, NoRoute, Target};
use super::{
    Announcement, Backend, CONTEXT_MODEL, CircuitReport, Circuits, Conversation, Discovery, client_credential_vendor,
};
use crate::pattern::{captures, filled};

/// Whether a caller may use a backend, by the backend's name.
pub type Allowed<'a> = &'a (dyn Fn(&str) -> bool + Sync);

/// The backends and routes of one configuration.
pub struct Router {
    backends: Vec<Arc<Backend>>,
    routes: Vec<RouteConfig>,
    discovery: Option<Discovery>,
    limits: LimitsConfig,
    circuits: Circuits,
    places: Arc<Places>,
    pub(crate) known: Arc<KnownModels>,
    config_path: String,
}

/// What a reload keeps, beside the circuits.
#[derive(Default)]
struct State {
    places: Arc<Places>,
    known: Arc<KnownModels>,
}

impl Router {
    /// Creates a router with circuits of its own, for a process without a shared store. Every circuit is closed.
    pub fn new(config: &Config, own_port: u16) -> Router {
        Router::with_counters(config, own_port, Arc::new(LocalCounters::default()))
    }

    /// Creates a router with circuits whose state is in `counters`.
    pub fn with_counters(config: &Config, own_port: u16, counters: Arc<dyn Counters>) -> Router {
        Router::with_state(config, own_port, Circuits::new(config.limits.circuit, counters), State::default())
    }

    /// Creates the router of a reloaded configuration. A backend with the same name and address keeps the state of its
    /// circuit. A changed backend starts with a closed circuit. Conversations stay where they are.
    pub fn renewed(&self, config: &Config, own_port: u16) -> Router {
        let circuits = self.circuits.renewed(config.limits.circuit, |name, url| {
            let mut backends = config.backends.iter();
            config.backends.is_empty() || backends.any(|backend| backend.name == name && backend.url.base == url)
        });
        let state = State { places: Arc::clone(&self.places), known: Arc::clone(&self.known) };
        Router::with_state(config, own_port, circuits, state)
    }

    fn with_state(config: &Config, own_port: u16, circuits: Circuits, state: State) -> Router {
        let backend = |backend| Arc::new(Backend::new(Clone::clone(backend), &circuits));
        let backends: Vec<_> = config.backends.iter().map(backend).collect();
        let path = config.file.clone().or_else(|| muninn_config::paths::config_file().ok());
        let config_path = path.map_or_else(|| "muninn.toml".to_owned(), |path| path.display().to_string());
        let ports = config.test.discovery_ports.as_deref();
        Router {
            discovery: (config.discover && backends.is_empty())
                .then(|| Discovery::new(ports, own_port, &config.limits, circuits.clone(), &config_path)),
            backends,
            routes: config.routes.clone(),
            limits: config.limits.clone(),
            circuits,
            places: state.places,
            known: state.known,
            config_path,
        }
    }

    /// Returns the target of a request by a caller who may use the `allowed` backends.
    ///
    /// # Errors
    /// [`NoRoute::NothingConnected`] if no backend exists; [`NoRoute::NotAllowed`] if the caller may use none of the
    /// model's backends.
    pub async fn route_for(
        &self,
        format: WireFormat,
        model: &str,
        headers: &HeaderMap,
        allowed: Allowed<'_>,
    ) -> Result<Target, NoRoute> {
        if model == CONTEXT_MODEL {
            return Ok(Target::Context);
        }
        let candidates = if self.backends.is_empty() {
            self.unconfigured(format, model, headers, allowed).await?
        } else {
            self.configured(format, model, allowed)
        };
        if candidates.is_empty() {
            let model = model.to_owned();
            return Err(NoRoute::NotAllowed { model });
        }
        Ok(Target::Candidates(candidates))
    }

    /// Returns the candidates if no backend is configured: the vendor of the client's key, else the servers on
    /// loopback.
    async fn unconfigured(
        &self,
        format: WireFormat,
        model: &str,
        headers: &HeaderMap,
        allowed: Allowed<'_>,
    ) -> Result<Vec<Candidate>, NoRoute> {
        let vendor = self.vendor(headers).filter(|vendor| vendor.speaks(format));
        if let Some(vendor) = vendor.filter(|vendor| allowed(&vendor.name)) {
            return Ok(vec![candidate(&vendor, format, None)]);
        }
        let found = self.discovered().await;
        if found.is_empty() {
            return Err(NoRoute::NothingConnected {
                tried: self
                    .discovery
                    .as_ref()
                    .map_or_else(|| "loopback (discovery is switched off)".to_owned(), Discovery::describe),
                config: self.config_path.clone(),
            });
        }
        let found = found.iter().filter(|backend| allowed(&backend.name));
        let best = best(found, |backend| {
            let serves = backend.models.iter().any(|known| known == model);
            (serves, backend.speaks(format))
        });
        Ok(best.map(|backend| candidate(backend, format, None)).into_iter().collect())
    }

    /// Returns the candidates by the configuration. The first matching route decides. Routes with the same pattern share
    /// their models by load, if their backends speak the client's format, or if none does. Routes whose backends the
    /// caller may not use are skipped.
    fn configured(&self, format: WireFormat, model: &str, allowed: Allowed<'_>) -> Vec<Candidate> {
        let matching = || self.routes.iter().filter(|route| captures(&route.model, model).is_some());
        let usable = |route: &&RouteConfig| {
            allowed(&self.backends[route.backend].name)
                || route.fallbacks.iter().any(|fallback| allowed(&self.backends[fallback.backend].name))
        };
        if let Some(first) = matching().find(usable) {
            let equal = matching().filter(|route| route.model == first.model).filter(usable);
            let native = |route: &&RouteConfig| self.backends[route.backend].speaks(format);
            let is_any_native = equal.clone().any(|route| native(&route));
            let chosen: Vec<_> = equal.filter(|route| native(route) || !is_any_native).collect();
            let firsts = chosen.iter().map(|route| self.first_of(route, format, model, allowed));
            let mut candidates: Vec<_> = firsts.flatten().collect();
            self.places.sort_by_load(&mut candidates, Instant::now());
            for fallback in chosen.iter().flat_map(|route| self.fallbacks_of(route, format, model, allowed)) {
                if !candidates.iter().any(|known| known.is_same(&fallback)) {
                    candidates.push(fallback);
                }
            }
            return candidates;
        }
        if matching().next().is_some() {
            return Vec::new();
        }
        let usable = self.backends.iter().filter(|backend| allowed(&backend.name));
        let best = best(usable, |backend| (backend.default_model.as_deref() == Some(model), backend.speaks(format)));
        let Some(backend) = best else {
            return Vec::new();
        };
        let mut candidates = self.with_every_key(backend, format, None);
        candidates.extend(self.fallbacks(&backend.fallbacks, format, &[model], allowed));
        candidates
    }

    /// Returns a route's backend with each of its keys; nothing if the caller may not use it.
    fn first_of(&self, route: &RouteConfig, format: WireFormat, model: &str, allowed: Allowed<'_>) -> Vec<Candidate> {
        let captured = captures(&route.model, model).unwrap_or_default();
        let backend = &self.backends[route.backend];
        let rename = route.rename.as_ref().map(|rename| filled(rename, &captured));
        if allowed(&backend.name) { self.with_every_key(backend, format, rename) } else { Vec::new() }
    }

    /// Returns a route's fallbacks, without those that the caller may not use.
    fn fallbacks_of(
        &self,
        route: &RouteConfig,
        format: WireFormat,
        model: &str,
        allowed: Allowed<'_>,
    ) -> Vec<Candidate> {
        let captured = captures(&route.model, model).unwrap_or_default();
        self.fallbacks(&route.fallbacks, format, &captured, allowed)
    }

    /// Returns a backend with each of its keys, those with the least load first.
    fn with_every_key(&self, backend: &Arc<Backend>, format: WireFormat, rename: Option<String>) -> Vec<Candidate> {
        let keys = std::iter::once(backend).chain(&backend.further);
        let mut candidates: Vec<_> = keys.map(|backend| candidate(backend, format, rename.clone())).collect();
        self.places.sort_by_load(&mut candidates, Instant::now());
        candidates
    }

    /// Returns a conversation of a caller with a model.
    pub fn conversation(&self, caller: &str, name: &str, model: &str) -> Conversation {
        Conversation::new(&self.places, [caller, name, model])
    }

    fn fallbacks(
        &self,
        fallbacks: &[FallbackConfig],
        format: WireFormat,
        captured: &[&str],
        allowed: Allowed<'_>,
    ) -> Vec<Candidate> {
        let resolve = |fallback: &FallbackConfig| {
            let backend = &self.backends[fallback.backend];
            let rename = fallback.rename.as_ref().map(|rename| filled(rename, captured));
            if allowed(&backend.name) { self.with_every_key(backend, format, rename) } else { Vec::new() }
        };
        fallbacks.iter().flat_map(resolve).collect()
    }

    /// Whether the configuration contains this exact name, as a route's pattern or a backend's default model.
    pub fn names(&self, model: &str) -> bool {
        self.routes.iter().any(|route| route.model == model)
            || self.backends.iter().any(|backend| backend.default_model.as_deref() == Some(model))
    }

    /// The models that routes name without a `*`, and the backend of each.
    pub(crate) fn aliases(&self) -> impl Iterator<Item = (&str, &Backend)> {
        let exact = self.routes.iter().filter(|route| !route.model.contains('*'));
        exact.map(|route| (&*route.model, &*self.backends[route.backend]))
    }

    /// The configured backends.
    pub fn backends(&self) -> &[Arc<Backend>] {
        &self.backends
    }

    /// Returns the configured backend and model for exploring, if any. The permissions of a caller are not checked
    /// here.
    pub fn explorer(&self, config: &ExploreConfig) -> Option<Candidate> {
        self.chosen(config.explorer.as_ref()?)
    }

    /// Returns the backend and model that the configuration names for a task of Muninn.
    pub fn chosen(&self, chosen: &ChosenModel) -> Option<Candidate> {
        let backend = self.backends.get(chosen.backend)?;
        self.with_every_key(backend, WireFormat::Chat, Some(chosen.model.clone())).into_iter().next()
    }

    /// Returns the servers that answer on loopback, or none if discovery is off.
    pub async fn discovered(&self) -> Vec<Arc<Backend>> {
        match &self.discovery {
            Some(discovery) => discovery.find().await,
            None => Vec::new(),
        }
    }

    /// Returns the lines for the user about programs on the ports of discovery. Each line is returned, or logged at a
    /// request, once.
    pub async fn announcements(&self) -> Vec<Announcement> {
        match &self.discovery {
            Some(discovery) => discovery.announcements().await,
            None => Vec::new(),
        }
    }

    /// Returns the vendor of the client's credential.
    pub fn vendor(&self, headers: &HeaderMap) -> Option<Arc<Backend>> {
        let vendor = client_credential_vendor(headers)?;
        Some(Arc::new(Backend::vendor(vendor, &self.limits, &self.circuits)))
    }

    /// Returns the states of the circuits of all used or configured backends, by name.
    pub async fn circuits(&self) -> Vec<CircuitReport> {
        self.circuits.report(Instant::now()).await
    }

    /// Whether this client has any backend: a configured one, the vendor of its credential, or a server on loopback.
    pub async fn is_connected(&self, headers: &HeaderMap) -> bool {
        !self.backends.is_empty() || self.vendor(headers).is_some() || !self.discovered().await.is_empty()
    }

    /// Returns the backend and model for a question from the command line.
    pub async fn default_model(&self) -> Option<(Arc<Backend>, String)> {
        let found = if self.backends.is_empty() { self.discovered().await } else { self.backends.clone() };
        let model = |backend: &Backend| backend.default_model.clone().or_else(|| backend.models.first().cloned());
        let with_models = found.iter().filter(|backend| model(backend).is_some());
        let best = best(with_models, |backend| backend.speaks(WireFormat::Chat))?;
        Some((Arc::clone(best), model(best)?))
    }
}

fn candidate(backend: &Arc<Backend>, client: WireFormat, rename: Option<String>) -> Candidate {
    Candidate { backend: Arc::clone(backend), format: backend.format_for(client), rename }
}

/// Returns the first backend with the highest rank.
fn best<'b, R: Ord>(
    backends: impl Iterator<Item = &'b Arc<Backend>>,
    rank: impl Fn(&Backend) -> R,
) -> Option<&'b Arc<Backend>> {
    backends.reduce(|best, next| if rank(next) > rank(best) { next } else { best })
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use muninn_config::load_text;

    /// `a` speaks the OpenAI formats, `b` messages, `c` chat alone.
    fn router(more: &str) -> Router {
        let backend = |name: &str, dialect: &str, more: &str| {
            format!("[[backends]]\nname = \"{name}\"\nurl = \"http://{name}\"\ndialect = \"{dialect}\"\n{more}")
        };
        let text = [
            backend("a", "openai", "fallbacks = [\"b\", { backend = \"c\", rename = \"c/*\" }]\n"),
            backend("b", "anthropic", "default_model = \"opus\"\n"),
            backend("c", "chat", "default_model = \"qwen\"\n"),
            more.to_owned(),
        ]
        .concat();
        Router::new(&config(&text), 0)
    }

    fn config(text: &str) -> Config {
        load_text(text).unwrap()
    }

    /// The candidates in short: name, format, and the new model name.
    fn routed(router: &Router, format: WireFormat, model: &str, allowed: Allowed<'_>) -> Vec<String> {
        let show = |candidate: Candidate| {
            let rename = candidate.rename.map(|rename| format!("={rename}")).unwrap_or_default();
            format!("{}:{}{rename}", candidate.backend.name, candidate.format.path())
        };
        router.configured(format, model, allowed).into_iter().map(show).collect()
    }

    const CHAT: &str = "/v1/chat/completions";

    #[test]
    fn the_explorer_is_the_configured_model() {
        let router = router("");
        let explorer = |backend, model: &str| {
            let model = model.to_owned();
            let explorer = Some(ChosenModel { backend, model });
            let candidate = router.explorer(&ExploreConfig { explorer, ..config("").explore })?;
            Some((candidate.backend.name.clone(), candidate.format, candidate.rename?))
        };
        let expected = |name: &str, format| Some((name.to_owned(), format, "m".to_owned()));
        assert_eq!(explorer(0, "m"), expected("a", WireFormat::Chat));
        assert_eq!(explorer(1, "m"), expected("b", WireFormat::Messages));
        assert!(router.explorer(&config("").explore).is_none());
    }

    #[test]
    fn without_a_route_the_model_decides_and_then_the_format() {
        let router = router("");
        let all: Allowed<'_> = &|_| true;
        for (format, model, expected) in [
            (WireFormat::Messages, "unknown", vec!["b:/v1/messages".to_owned()]),
            (WireFormat::Messages, "qwen", vec![format!("c:{CHAT}")]),
            (WireFormat::Responses, "opus", vec!["b:/v1/messages".to_owned()]),
            (
                WireFormat::Chat,
                "unknown",
                vec![format!("a:{CHAT}"), "b:/v1/messages".to_owned(), format!("c:{CHAT}=c/unknown")],
            ),
        ] {
            assert_eq!(routed(&router, format, model, all), expected, "{model}");
        }
    }

    #[test]
    fn a_matching_route_wins_even_with_a_conversion() {
        let route = "[[routes]]\nmodel = \"claude-*\"\nbackend = \"c\"\nrename = \"qwen-*\"\nfallbacks = [\"b\"]\n";
        let router = router(route);
        let all: Allowed<'_> = &|_| true;
        assert_eq!(
            routed(&router, WireFormat::Messages, "claude-opus", all),
            [format!("c:{CHAT}=qwen-opus"), "b:/v1/messages".to_owned()],
            "a fallback without `rename` gets the client's model name"
        );
        assert_eq!(routed(&router, WireFormat::Chat, "gpt", all)[0], format!("a:{CHAT}"), "the route does not match");
    }

    #[test]
    fn among_routes_for_the_same_models_the_format_decides() {
        let route = |backend: &str| format!("[[routes]]\nmodel = \"*\"\nbackend = \"{backend}\"\n");
        let router = router(&format!("{}{}", route("a"), route("b")));
        let all: Allowed<'_> = &|_| true;
        assert_eq!(routed(&router, WireFormat::Messages, "m", all), ["b:/v1/messages"]);
        assert_eq!(routed(&router, WireFormat::Responses, "m", all), ["a:/v1/responses"]);
    }

    #[test]
    fn a_restricted_caller_gets_allowed_backends_only() {
        let route = "[[routes]]\nmodel = \"claude-*\"\nbackend = \"b\"\nfallbacks = [\"c\"]\n";
        let router = router(route);
        assert_eq!(routed(&router, WireFormat::Messages, "claude-x", &|name| name == "c"), [format!("c:{CHAT}")]);
        assert!(routed(&router, WireFormat::Messages, "claude-x", &|name| name == "a").is_empty());
        assert_eq!(
            routed(&router, WireFormat::Chat, "m", &|name| name != "b"),
            [format!("a:{CHAT}"), format!("c:{CHAT}=c/m")]
        );
        assert!(routed(&router, WireFormat::Chat, "m", &|_| false).is_empty());
    }

    #[test]
    fn a_circuit_survives_a_reload_if_its_backend_keeps_name_and_address() {
        let text = |port: u16| {
            format!(
                "[[backends]]\nname = \"a\"\nurl = \"http://127.0.0.1:{port}\"\ndialect = \"chat\"\n[limits]\ncircuit_failures = {port}\n"
            )
        };
        let before = Router::new(&config(&text(2)), 0);
        let circuits = |router: &Router| router.circuits().now_or_never().unwrap();
        let admitted = before.backends()[0].circuit.admit(Instant::now());
        admitted.now_or_never().unwrap().unwrap().fail();
        let same = before.renewed(&config(&text(2)), 0);
        assert_eq!(circuits(&same)[0].failures, 1);
        let moved = same.renewed(&config(&text(3)), 0);
        assert_eq!((circuits(&moved).len(), circuits(&moved)[0].failures), (1, 0));
        let back = moved.renewed(&config(&text(2)), 0);
        assert_eq!(circuits(&back)[0].failures, 0);
    }
}
