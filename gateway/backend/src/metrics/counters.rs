//! The metrics with their names and labels, and recording requests in them.

use std::collections::HashSet;

use muninn_base::TaskReport;
use muninn_config::UNCONFIGURED;
use muninn_ledger::{CircuitState, Receipt};
use muninn_wire::WireFormat;
use muninn_wire::convert::answer::Usage;
use muninn_wire::error::ErrorKind;
use parking_lot::{Mutex, RwLock};
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::labels::{
    BackendLabel, FieldLabels, FormatLabel, ForwardLabels, OutcomeLabel, RefusalLabels, RequestLabels, TaskLabel,
    TokenLabels,
};
use super::recent::{AddedTimes, RecentTimes};
use super::{FinishedRequest, ForwardedRequest};
use crate::CONTEXT_MODEL;

/// The label value of unknown names.
const OTHER: &str = "other";
/// The label value of an absent backend or format.
const NONE: &str = "none";
/// The most dropped fields that are counted by name. The APIs have fewer fields, but clients may send any name.
const FIELD_NAMES: usize = 200;
const LONGEST_FIELD_NAME: usize = 48;

/// Buckets in seconds, from a local model server's time to a large prompt's prefill.
const FIRST_BYTE: [f64; 13] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
/// Buckets in seconds. Muninn's own share is a fraction of a millisecond without a search for context. With one it is
/// bounded by the deadline.
const ADDED: [f64; 12] = [0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0];

/// All metrics of one process.
pub struct Metrics {
    registry: Registry,
    backends: RwLock<HashSet<String>>,
    fields: Mutex<HashSet<String>>,
    active: Gauge,
    explorations: Gauge,
    body_bytes: Gauge,
    requests: Family<RequestLabels, Counter>,
    forwarded: Family<ForwardLabels, Counter>,
    refused: Family<RefusalLabels, Counter>,
    tokens: Family<TokenLabels, Counter>,
    outcomes: Family<OutcomeLabel, Counter>,
    injected_tokens: Counter,
    unreplayed: Counter,
    dropped_fields: Family<FieldLabels, Counter>,
    retries: Family<BackendLabel, Counter>,
    fallbacks: Family<BackendLabel, Counter>,
    circuits: Family<BackendLabel, Gauge>,
    task_panics: Family<TaskLabel, Gauge>,
    first_byte: Family<BackendLabel, Histogram>,
    added: Family<FormatLabel, Histogram>,
    recent: RecentTimes,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Metrics {
            registry: Registry::with_prefix("muninn"),
            backends: RwLock::default(),
            fields: Mutex::default(),
            active: Gauge::default(),
            explorations: Gauge::default(),
            body_bytes: Gauge::default(),
            requests: Family::default(),
            forwarded: Family::default(),
            refused: Family::default(),
            tokens: Family::default(),
            outcomes: Family::default(),
            injected_tokens: Counter::default(),
            unreplayed: Counter::default(),
            dropped_fields: Family::default(),
            retries: Family::default(),
            fallbacks: Family::default(),
            circuits: Family::default(),
            task_panics: Family::default(),
            first_byte: Family::new_with_constructor(|| Histogram::new(FIRST_BYTE)),
            added: Family::new_with_constructor(|| Histogram::new(ADDED)),
            recent: RecentTimes::default(),
        };
        metrics.register();
        metrics.add_backend_labels(UNCONFIGURED);
        metrics.add_backend_labels([CONTEXT_MODEL]);
        metrics
    }
}

impl Metrics {
    /// Registers all metrics. The encoder appends `_total` to the names of counters.
    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("active_requests", "Conversation requests in progress", self.active.clone());
        registry.register("explorations", "Explorations by a model in progress", self.explorations.clone());
        registry.register(
            "body_bytes",
            "Bytes of request bodies in memory, with the data derived from them",
            self.body_bytes.clone(),
        );
        registry.register("requests", "Finished conversation requests", self.requests.clone());
        registry.register(
            "forwarded_requests",
            "Finished forwarded requests other than conversations",
            self.forwarded.clone(),
        );
        registry.register(
            "refused_requests",
            "Requests refused by access rules or by the limit on the total size of all bodies",
            self.refused.clone(),
        );
        registry.register(
            "tokens",
            "Tokens as counted by backends; the input includes cached tokens",
            self.tokens.clone(),
        );
        registry.register("context_outcomes", "Outcomes of the context of requests", self.outcomes.clone());
        registry.register("injected_tokens", "Tokens of newly added context", self.injected_tokens.clone());
        registry.register(
            "unreplayed_requests",
            "Requests forwarded without their earlier blocks because the ledger failed",
            self.unreplayed.clone(),
        );
        registry.register(
            "dropped_fields",
            "Fields that a conversion between wire formats dropped",
            self.dropped_fields.clone(),
        );
        registry.register("retries", "Retries at the same backend", self.retries.clone());
        registry.register(
            "fallbacks",
            "Requests passed to another backend after a failure of this one",
            self.fallbacks.clone(),
        );
        registry.register(
            "circuit_state",
            "State of the circuit breaker; 0: closed, 1: half-open, 2: open",
            self.circuits.clone(),
        );
        registry.register("task_panics", "Panics of a background task since the start", self.task_panics.clone());
        registry.register(
            "first_byte_seconds",
            "Time from a request's last byte to the first byte of its answer",
            self.first_byte.clone(),
        );
        registry.register("added_seconds", "Muninn's own share of the time to the first byte", self.added.clone());
    }

    /// Adds names of backends that may be labels. Earlier names are kept.
    pub fn add_backend_labels<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        let mut known = self.backends.write();
        known.extend(names.into_iter().map(str::to_owned));
    }

    /// Counts a request as active until the returned guard is dropped.
    pub fn started(&self) -> Active {
        Active::count(&self.active)
    }

    /// Counts an exploration as active until the returned guard is dropped.
    pub fn exploring(&self) -> Active {
        Active::count(&self.explorations)
    }

    /// Records a finished conversation request.
    pub fn finished(&self, finished: &FinishedRequest<'_>) {
        let backend = self.backend(finished.backend);
        let labels = RequestLabels {
            key: finished.key.to_owned(),
            format: Receipt::format_name(finished.format),
            backend: backend.backend.clone(),
            backend_format: Receipt::format_name(finished.backend_format),
            status: class(finished.status),
            stream: if finished.streamed { "true" } else { "false" },
        };
        self.requests.get_or_create(&labels).inc();
        self.count_tokens(finished.key, &backend, finished.usage);
        let outcome = finished.outcome.name();
        self.outcomes.get_or_create(&OutcomeLabel { outcome }).inc();
        self.injected_tokens.inc_by(u64::from(finished.injected_tokens));
        if let Some(first_byte) = finished.first_byte {
            self.first_byte.get_or_create(&backend).observe(first_byte.as_secs_f64());
        }
        let format = Receipt::format_name(finished.format);
        self.added.get_or_create(&FormatLabel { format }).observe(finished.added.as_secs_f64());
        self.recent.note(finished.added);
    }

    /// What Muninn added to the newest conversation requests; `None` before the first one is finished.
    pub fn added_times(&self) -> Option<AddedTimes> {
        self.recent.summary()
    }

    /// Counts a conversation request that got an error from Muninn before it had a backend.
    pub fn failed(&self, key: &str, format: WireFormat, status: u16) {
        let format = Receipt::format_name(format);
        let labels = RequestLabels {
            key: key.to_owned(),
            format,
            backend: NONE.to_owned(),
            backend_format: NONE,
            status: class(status),
            stream: "false",
        };
        self.requests.get_or_create(&labels).inc();
    }

    /// Records a finished request that is no conversation.
    pub fn forwarded(&self, forwarded: &ForwardedRequest<'_>) {
        let backend = self.backend(forwarded.backend);
        let labels = ForwardLabels {
            key: forwarded.key.to_owned(),
            backend: backend.backend.clone(),
            status: class(forwarded.status),
        };
        self.forwarded.get_or_create(&labels).inc();
        self.count_tokens(forwarded.key, &backend, forwarded.usage);
    }

    fn count_tokens(&self, key: &str, backend: &BackendLabel, usage: Usage) {
        let Usage { input, output, cached, .. } = usage;
        let counts = [("input", input), ("output", output), ("cached", cached)];
        let known = counts.into_iter().filter_map(|(kind, count)| Some((kind, count.filter(|count| *count > 0)?)));
        for (kind, count) in known {
            let labels = TokenLabels { key: key.to_owned(), backend: backend.backend.clone(), kind };
            self.tokens.get_or_create(&labels).inc_by(count);
        }
    }

    /// Counts a request that was refused by access rules or by the limit on the total size of all bodies. `key` is the name of the
    /// caller's key, empty without a key.
    pub fn refused(&self, key: &str, kind: ErrorKind) {
        let reason = match kind {
            ErrorKind::Authentication => "unauthenticated",
            ErrorKind::RateLimit => "rate_limited",
            ErrorKind::Permission => "forbidden",
            ErrorKind::NoMemory => "body_memory",
            _ => OTHER,
        };
        let key = key.to_owned();
        self.refused.get_or_create(&RefusalLabels { key, reason }).inc();
    }

    /// Counts a field that a conversion dropped. Names that are too long or contain other characters than those of the
    /// APIs, and names beyond the first 200, are counted as `other`.
    pub fn dropped_field(&self, from: WireFormat, to: WireFormat, field: &str) {
        let labels =
            FieldLabels { from: Receipt::format_name(from), to: Receipt::format_name(to), field: self.field(field) };
        self.dropped_fields.get_or_create(&labels).inc();
    }

    /// Counts a retry at the same backend.
    pub fn retried(&self, backend: &str) {
        self.retries.get_or_create(&self.backend(backend)).inc();
    }

    /// Counts a request that was passed from this backend to the next one.
    pub fn fell_back(&self, backend: &str) {
        self.fallbacks.get_or_create(&self.backend(backend)).inc();
    }

    /// Sets the bytes of request bodies in memory.
    pub fn body_bytes(&self, bytes: usize) {
        self.body_bytes.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// Sets the state of a backend's circuit.
    pub fn circuit(&self, backend: &str, state: CircuitState) {
        let number = match state {
            CircuitState::Closed => 0,
            CircuitState::HalfOpen => 1,
            CircuitState::Open => 2,
        };
        self.circuits.get_or_create(&self.backend(backend)).set(number);
    }

    /// Sets the panics of a background task.
    pub fn task(&self, report: &TaskReport) {
        let label = TaskLabel { task: report.name };
        self.task_panics.get_or_create(&label).set(report.panics.into());
    }

    /// Counts a request that was forwarded without its earlier blocks because the ledger could not be read.
    pub fn unreplayed(&self) {
        self.unreplayed.inc();
    }

    /// Renders all metrics in the text format of Prometheus ([`super::CONTENT_TYPE`]).
    pub fn render(&self) -> String {
        let mut rendered = String::new();
        if text::encode(&mut rendered, &self.registry).is_err() {
            tracing::error!("cannot render the metrics");
        }
        rendered
    }

    fn backend(&self, name: &str) -> BackendLabel {
        let known = self.backends.read();
        BackendLabel { backend: known.get(name).map_or(OTHER, String::as_str).to_owned() }
    }

    fn field(&self, name: &str) -> String {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_.-".contains(&byte);
        if name.is_empty() || name.len() > LONGEST_FIELD_NAME || !name.bytes().all(plain) {
            return OTHER.to_owned();
        }
        let mut known = self.fields.lock();
        if known.contains(name) || (known.len() < FIELD_NAMES && known.insert(name.to_owned())) {
            name.to_owned()
        } else {
            OTHER.to_owned()
        }
    }
}

/// A guard that decrements its gauge on drop; see [`Metrics::started`] and [`Metrics::exploring`].
pub struct Active(Gauge);

impl Active {
    fn count(gauge: &Gauge) -> Active {
        gauge.inc();
        Active(gauge.clone())
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        self.0.dec();
    }
}

fn class(status: u16) -> &'static str {
    match status / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        5 => "5xx",
        _ => OTHER,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use muninn_ledger::Outcome;

    fn finished(backend: &str) -> FinishedRequest<'_> {
        FinishedRequest {
            key: "an\"a",
            format: WireFormat::Messages,
            backend,
            backend_format: WireFormat::Chat,
            status: 200,
            streamed: true,
            first_byte: Some(Duration::from_millis(20)),
            added: Duration::from_micros(200),
            usage: Usage { input: Some(100), output: Some(7), cached: Some(90), ..Usage::default() },
            outcome: Outcome::Injected,
            injected_tokens: 42,
        }
    }

    #[test]
    fn a_finished_request_is_counted_in_each_metric() {
        let metrics = Metrics::default();
        metrics.add_backend_labels(["local"]);
        metrics.finished(&finished("local"));
        metrics.finished(&finished("local"));
        let active = metrics.started();
        let text = metrics.render();
        for line in [
            r#"muninn_requests_total{key="an\"a",format="messages",backend="local",backend_format="chat",status="2xx",stream="true"} 2"#,
            r#"muninn_tokens_total{key="an\"a",backend="local",kind="cached"} 180"#,
            r#"muninn_context_outcomes_total{outcome="injected"} 2"#,
            "muninn_injected_tokens_total 84",
            r#"muninn_first_byte_seconds_count{backend="local"} 2"#,
            r#"muninn_added_seconds_bucket{le="0.00025",format="messages"} 2"#,
            "muninn_active_requests 1",
            "# EOF",
        ] {
            assert!(text.lines().any(|known| known == line), "{line}\n{text}");
        }
        drop(active);
        assert!(metrics.render().contains("muninn_active_requests 0"));
    }

    #[test]
    fn unknown_names_become_other() {
        let metrics = Metrics::default();
        metrics.finished(&finished("evil.example"));
        metrics.retried("evil.example");
        for number in 0..1_000 {
            metrics.dropped_field(WireFormat::Chat, WireFormat::Messages, &format!("field_{number}"));
        }
        metrics.dropped_field(WireFormat::Chat, WireFormat::Messages, "a prompt\nfull of text");
        metrics.circuit("vllm", CircuitState::Open);
        let text = metrics.render();
        assert!(!text.contains("evil") && !text.contains("prompt\\nfull"), "{text}");
        assert!(text.contains(r#"backend="other""#), "{text}");
        assert!(text.contains(r#"muninn_circuit_state{backend="vllm"} 2"#), "{text}");
        let fields = text.lines().filter(|line| line.starts_with("muninn_dropped_fields_total")).count();
        assert_eq!(fields, FIELD_NAMES + 1);
    }
}
