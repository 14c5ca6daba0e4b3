//! Resolving and checking `[memory]` of a user's file: recording, and the models that embed, summarize and reconcile.

use std::time::Duration;

use muninn_reconcile::ReconcilerLimits;
use muninn_team::records::Durability;
use muninn_team::store::{DefaultBranchSegments, Destination, StoreSettings};
use serde::Deserialize;

use super::chosen::chosen;
use super::chosen_model::ChosenModel;
use super::invalid::{UnknownValue, invalid};
use super::{BackendConfig, ConfigError};

/// The default time without a request after which a conversation counts as finished. It is longer than a coffee break
/// and shorter than a lunch break.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// The default limits of the model that reconciles.
const RUN_TOKENS: u32 = 200_000;
const RECONCILER_ANSWER_TOKENS: u32 = 2_048;

/// The default timeout of an answer about a batch of pairs. A user waits for it, and a small machine generates slowly.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

/// The default size limit of main memory. It holds over a hundred thousand records, which are recalled in milliseconds.
const MAX_MAIN_BYTES: u64 = 32 << 20;

/// Recording of sessions, and its limits. `Memory` documents the keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryConfig {
    pub write: MemoryWrite,
    /// Whether whole questions are recorded. If not, only words that the repository contains are.
    pub with_text: bool,
    /// Durability, and the records that recall reads.
    pub store: StoreSettings,
    pub idle: Duration,
    pub max_main_bytes: u64,
}

/// The destination of session records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryWrite {
    /// Nowhere.
    Off,
    /// In the user's state directory only.
    Local,
    /// In the repository, under `.muninn/memory/`.
    Repo,
}

impl MemoryWrite {
    /// Returns the destination of segments, or `None` if nothing is written.
    pub fn destination(self) -> Option<Destination> {
        match self {
            MemoryWrite::Off => None,
            MemoryWrite::Local => Some(Destination::State),
            MemoryWrite::Repo => Some(Destination::Home),
        }
    }
}

/// The embedder whose vectors recall uses. Short code questions use those of a backend, or the compiled-in ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum EmbedderConfig {
    /// MiniLM if it is installed, otherwise the compiled-in vectors.
    #[default]
    Auto,
    /// The compiled-in vectors.
    Static,
    /// all-MiniLM-L6-v2, downloaded by `muninn model pull`.
    MiniLm,
    /// A model of a backend's `/v1/embeddings`.
    Backend(ChosenModel),
}

/// The model that summarizes finished conversations, and its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummarizerConfig {
    pub model: ChosenModel,
    pub daily_tokens: u32,
    pub max_answer_tokens: u32,
}

/// The model that decides pairs which the rules of reconciling leave open, and its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReconcilerConfig {
    pub model: ChosenModel,
    pub limits: ReconcilerLimits,
}

impl ReconcilerConfig {
    /// A model with the default limits.
    pub fn of(model: ChosenModel) -> Self {
        let limits = ReconcilerLimits {
            tokens: RUN_TOKENS.into(),
            max_answer_tokens: RECONCILER_ANSWER_TOKENS,
            patience: ANSWER_TIMEOUT,
        };
        Self { model, limits }
    }
}

/// Session memory: recording, its location, and the records that recall reads.
#[derive(Debug, Default, Clone, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Memory {
    /// Where records are written: `local` (state directory), `repo` (`.muninn/memory/sessions/`) or `off`.
    pub(crate) write: Option<String>,
    /// Recorded part of a question: `terms` (only words that the repository itself contains) or `text`, with stated
    /// decisions.
    pub(crate) record: Option<String>,
    /// When records are flushed to disk with fsync: `segment` (with the finished segment) or `append` (each record).
    pub(crate) sync: Option<String>,
    /// Name of the default branch. Absent: `HEAD` of `origin`, else `init.defaultBranch`, `main` or `master`.
    pub(crate) default_branch: Option<String>,
    /// Sessions that recall reads on the default branch besides main memory: `own`, `all` or `main` (none).
    pub(crate) on_default_branch: Option<String>,
    /// Time without a request after which a conversation counts as finished.
    pub(crate) idle_ms: Option<u64>,
    /// Size of `main.jsonl` in bytes that `muninn reconcile --prune` enforces.
    pub(crate) max_main_bytes: Option<u64>,
    pub(crate) embedder: Option<Embedder>,
    pub(crate) summarizer: Option<Summarizer>,
    pub(crate) reconciler: Option<Reconciler>,
}

/// The embedder whose vectors recall uses.
// Not in a repository's file: an embedder of a backend is sent the repository's text.
#[derive(Debug, Default, Clone, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Embedder {
    /// `"auto"` (MiniLM if `muninn model pull` has installed it, otherwise `"static"`), `"static"` (compiled in),
    /// `"minilm"`, or a model of a backend's `/v1/embeddings`, also for short code questions:
    /// `{ backend = "local", model = "nomic-embed-text" }`.
    pub(crate) model: Option<EmbedderModel>,
}

#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize, schemars::JsonSchema))]
#[serde(
    untagged,
    expecting = "an embedder is \"auto\", \"static\", \"minilm\", or { backend = \"...\", model = \"...\" }"
)]
pub(crate) enum EmbedderModel {
    Name(String),
    Backend(BackendEmbedder),
}

#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct BackendEmbedder {
    pub(crate) backend: Option<String>,
    pub(crate) model: Option<String>,
}

/// A model that summarizes finished conversations. Without this section no model is called.
// Not in a repository's file: it sends conversations to a backend, and costs money.
#[derive(Debug, Default, Clone, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Summarizer {
    /// Name of the backend. Required.
    pub(crate) backend: Option<String>,
    /// Name of the model. Required.
    pub(crate) model: Option<String>,
    /// Tokens per day (UTC), prompts and answers together, over all gateways that share the state directory.
    pub(crate) daily_tokens: Option<u32>,
    /// Largest answer in tokens.
    pub(crate) max_answer_tokens: Option<u32>,
}

/// A model that decides pairs of memories which the rules of `muninn reconcile` leave open. Without this section no
/// model is called.
// Not in a repository's file, for the same reasons.
#[derive(Debug, Default, Clone, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Reconciler {
    /// Name of the backend. Required.
    pub(crate) backend: Option<String>,
    /// Name of the model. Required.
    pub(crate) model: Option<String>,
    /// Tokens per run, prompts and answers together.
    pub(crate) run_tokens: Option<u32>,
    /// Largest answer in tokens.
    pub(crate) max_answer_tokens: Option<u32>,
    /// Timeout of one answer. After a timeout the run continues without the model.
    pub(crate) answer_timeout_ms: Option<u64>,
}

/// The `[memory]` section of a repository's file.
// Whether the words of prompts are kept is not for a repository to decide.
#[derive(Debug, Default, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct RepositoryMemory {
    /// As in the user's file. `off` in the user's file wins.
    pub(crate) write: Option<String>,
    /// As in the user's file.
    pub(crate) max_main_bytes: Option<u64>,
    /// As in the user's file.
    pub(crate) default_branch: Option<String>,
}

pub(super) fn memory(origin: &str, raw: &Memory) -> Result<MemoryConfig, ConfigError> {
    let unknown =
        |key: &str, value: &str, known: &'static str| Err(invalid(origin, key, UnknownValue::new(value, known)));
    Ok(MemoryConfig {
        write: memory_write(origin, raw.write.as_deref().unwrap_or("local"))?,
        with_text: match raw.record.as_deref() {
            None | Some("terms") => false,
            Some("text") => true,
            Some(other) => return unknown("memory.record", other, "terms or text"),
        },
        store: StoreSettings {
            durability: match raw.sync.as_deref() {
                None | Some("segment") => Durability::Segment,
                Some("append") => Durability::Append,
                Some(other) => return unknown("memory.sync", other, "segment or append"),
            },
            default_branch: raw.default_branch.clone(),
            default_branch_segments: match raw.on_default_branch.as_deref() {
                None | Some("own") => DefaultBranchSegments::Own,
                Some("main") => DefaultBranchSegments::Main,
                Some("all") => DefaultBranchSegments::All,
                Some(other) => return unknown("memory.on_default_branch", other, "own, main or all"),
            },
        },
        max_main_bytes: raw.max_main_bytes.unwrap_or(MAX_MAIN_BYTES),
        idle: match raw.idle_ms {
            Some(0) => return Err(invalid(origin, "memory.idle_ms", "must be at least 1")),
            written => written.map_or(IDLE, Duration::from_millis),
        },
    })
}

pub(super) fn memory_write(origin: &str, value: &str) -> Result<MemoryWrite, ConfigError> {
    match value {
        "local" => Ok(MemoryWrite::Local),
        "off" => Ok(MemoryWrite::Off),
        "repo" => Ok(MemoryWrite::Repo),
        other => Err(invalid(origin, "memory.write", UnknownValue::new(other, "off, local or repo"))),
    }
}

pub(super) fn embedder(
    origin: &str,
    raw: Option<&Embedder>,
    backends: &[BackendConfig],
) -> Result<EmbedderConfig, ConfigError> {
    const SECTION: &str = "memory.embedder.model";
    match raw.and_then(|raw| raw.model.as_ref()) {
        None => Ok(EmbedderConfig::Auto),
        Some(EmbedderModel::Name(name)) => match name.as_str() {
            "auto" => Ok(EmbedderConfig::Auto),
            "static" => Ok(EmbedderConfig::Static),
            "minilm" => Ok(EmbedderConfig::MiniLm),
            other => {
                let known = "auto, static, minilm, or { backend = \"...\", model = \"...\" }";
                Err(invalid(origin, SECTION, UnknownValue::new(other, known)))
            }
        },
        Some(EmbedderModel::Backend(raw)) => {
            let written = (raw.backend.as_deref(), raw.model.as_deref());
            let chosen = chosen(origin, (SECTION, "embeds"), written, backends)?;
            let missing = || invalid(origin, SECTION, "is missing its backend and model");
            Ok(EmbedderConfig::Backend(chosen.ok_or_else(missing)?))
        }
    }
}

pub(super) fn summarizer(
    origin: &str,
    raw: Option<&Summarizer>,
    backends: &[BackendConfig],
) -> Result<Option<SummarizerConfig>, ConfigError> {
    const SECTION: &str = "memory.summarizer";
    let Some(raw) = raw else { return Ok(None) };
    let written = (raw.backend.as_deref(), raw.model.as_deref());
    let model = required_model(origin, (SECTION, "summarizes"), written, backends)?;
    let budget = Budget {
        key: "daily_tokens",
        tokens: raw.daily_tokens.unwrap_or(50_000),
        max_answer_tokens: raw.max_answer_tokens.unwrap_or(1_024),
    };
    budget.check(origin, SECTION, "no conversation could be summarized")?;
    Ok(Some(SummarizerConfig { model, daily_tokens: budget.tokens, max_answer_tokens: budget.max_answer_tokens }))
}

pub(super) fn reconciler(
    origin: &str,
    raw: Option<&Reconciler>,
    backends: &[BackendConfig],
) -> Result<Option<ReconcilerConfig>, ConfigError> {
    const SECTION: &str = "memory.reconciler";
    let Some(raw) = raw else { return Ok(None) };
    let written = (raw.backend.as_deref(), raw.model.as_deref());
    let model = required_model(origin, (SECTION, "reconciles"), written, backends)?;
    let budget = Budget {
        key: "run_tokens",
        tokens: raw.run_tokens.unwrap_or(RUN_TOKENS),
        max_answer_tokens: raw.max_answer_tokens.unwrap_or(RECONCILER_ANSWER_TOKENS),
    };
    budget.check(origin, SECTION, "no pair could be decided")?;
    let patience = match raw.answer_timeout_ms {
        Some(0) => {
            let key = format!("{SECTION}.answer_timeout_ms");
            return Err(invalid(origin, key, "must be at least 1"));
        }
        written => written.map_or(ANSWER_TIMEOUT, Duration::from_millis),
    };
    let limits =
        ReconcilerLimits { tokens: budget.tokens.into(), max_answer_tokens: budget.max_answer_tokens, patience };
    Ok(Some(ReconcilerConfig { model, limits }))
}

/// Resolves the required model of a section.
fn required_model(
    origin: &str,
    (section, task): (&str, &str),
    written: (Option<&str>, Option<&str>),
    backends: &[BackendConfig],
) -> Result<ChosenModel, ConfigError> {
    let message = "calls a model on Muninn's own account: name it with `backend` and `model`, or remove the section";
    chosen(origin, (section, task), written, backends)?.ok_or_else(|| invalid(origin, section, message))
}

/// The token limits of a task and of one answer.
struct Budget {
    /// The key of `tokens`.
    key: &'static str,
    tokens: u32,
    max_answer_tokens: u32,
}

impl Budget {
    /// Checks that the budget is larger than one answer. `consequence` completes the error.
    fn check(&self, origin: &str, section: &str, consequence: &str) -> Result<(), ConfigError> {
        let Self { key, tokens, max_answer_tokens } = self;
        if *max_answer_tokens == 0 {
            let key = format!("{section}.max_answer_tokens");
            return Err(invalid(origin, key, "must be at least 1"));
        }
        if tokens <= max_answer_tokens {
            let message = format!(
                "is {tokens}, but one answer may have {max_answer_tokens} (max_answer_tokens), so {consequence}"
            );
            return Err(invalid(origin, format!("{section}.{key}"), message));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::load_text;
    use super::*;

    const BACKENDS: &str = "[[backends]]\nname = \"a\"\nurl = \"http://a\"\ndialect = \"chat\"\n\
                            [[backends]]\nname = \"b\"\nurl = \"http://b\"\ndialect = \"chat\"\n";

    fn resolved(text: &str) -> Result<Option<SummarizerConfig>, String> {
        let config = load_text(&format!("{BACKENDS}{text}"));
        config.map(|config| config.summarizer).map_err(|error| error.to_string())
    }

    #[test]
    fn no_model_summarizes_unless_one_is_named() {
        assert_eq!(resolved("").unwrap(), None);
        assert_eq!(resolved("[memory]\nwrite = \"repo\"\n").unwrap(), None);
        let named = "[memory.summarizer]\nbackend = \"b\"\nmodel = \"m\"\n";
        let model = ChosenModel { backend: 1, model: "m".to_owned() };
        let expected = |daily_tokens, max_answer_tokens| SummarizerConfig {
            model: model.clone(),
            daily_tokens,
            max_answer_tokens,
        };
        assert_eq!(resolved(named).unwrap(), Some(expected(50_000, 1_024)));
        let all = resolved(&format!("{named}daily_tokens = 3\nmax_answer_tokens = 2\n"));
        assert_eq!(all.unwrap(), Some(expected(3, 2)));
    }

    #[test]
    fn embedder_is_a_name_or_a_model_of_a_backend() {
        let embedder = |text: &str| {
            let config = load_text(&format!("{BACKENDS}{text}"));
            config.map(|config| config.embedder).map_err(|error| error.to_string())
        };
        let model = |value: &str| embedder(&format!("[memory.embedder]\nmodel = {value}\n"));
        assert_eq!(embedder("").unwrap(), EmbedderConfig::Auto);
        assert_eq!(model("\"auto\"").unwrap(), EmbedderConfig::Auto);
        assert_eq!(model("\"static\"").unwrap(), EmbedderConfig::Static);
        assert_eq!(model("\"minilm\"").unwrap(), EmbedderConfig::MiniLm);
        let chosen = ChosenModel { backend: 1, model: "nomic".to_owned() };
        let written = "{ backend = \"b\", model = \"nomic\" }";
        assert_eq!(model(written).unwrap(), EmbedderConfig::Backend(chosen));
        for (value, words) in [
            ("\"bert\"", "memory.embedder.model: `bert` is unknown; write auto, static, minilm, or {"),
            ("{}", "memory.embedder.model: is missing its backend and model"),
            ("{ backend = \"c\", model = \"m\" }", "there is no backend `c`; known backends: a, b"),
            ("{ backend = \"a\" }", "memory.embedder.model.model: is missing"),
            ("3", "an embedder is \"auto\", \"static\", \"minilm\", or {"),
        ] {
            let error = model(value).unwrap_err();
            assert!(error.contains(words) && error.contains("muninn.toml"), "{value}: {error}");
        }
    }

    #[test]
    fn the_idle_time_is_configurable() {
        let idle = |text: &str| load_text(text).map(|config| config.memory.idle);
        assert_eq!(idle("").unwrap(), Duration::from_secs(600));
        assert_eq!(idle("[memory]\nidle_ms = 1500\n").unwrap(), Duration::from_millis(1_500));
        let error = idle("[memory]\nidle_ms = 0\n").unwrap_err().to_string();
        assert!(error.contains("memory.idle_ms: must be at least 1"), "{error}");
    }

    #[test]
    fn an_invalid_value_is_reported_with_file_key_and_fix() {
        for (text, words) in [
            ("", "memory.summarizer: calls a model on Muninn's own account"),
            ("backend = \"a\"", "memory.summarizer.model: is missing: name the model of `a` that summarizes"),
            ("model = \"m\"", "memory.summarizer.backend: is missing: name the backend that has `m`"),
            (
                "backend = \"c\"\nmodel = \"m\"",
                "memory.summarizer.backend: there is no backend `c`; known backends: a, b",
            ),
            (
                "backend = \"a\"\nmodel = \"m\"\nmax_answer_tokens = 0",
                "memory.summarizer.max_answer_tokens: must be at least 1",
            ),
            (
                "backend = \"a\"\nmodel = \"m\"\ndaily_tokens = 1024",
                "memory.summarizer.daily_tokens: is 1024, but one answer may have 1024",
            ),
            ("daily_token = 3", "Did you mean `daily_tokens`?"),
        ] {
            let error = resolved(&format!("[memory.summarizer]\n{text}\n")).unwrap_err();
            assert!(error.contains(words) && error.contains("muninn.toml"), "{text}: {error}");
        }
    }

    #[test]
    fn no_model_reconciles_unless_one_is_named() {
        let resolved = |text: &str| {
            let config = load_text(&format!("{BACKENDS}{text}"));
            config.map(|config| config.reconciler).map_err(|error| error.to_string())
        };
        assert_eq!(resolved("[memory]\nwrite = \"repo\"\n").unwrap(), None);
        let named = "[memory.reconciler]\nbackend = \"b\"\nmodel = \"m\"\n";
        let limits = resolved(named).unwrap().unwrap().limits;
        assert_eq!((limits.tokens, limits.max_answer_tokens, limits.patience.as_secs()), (200_000, 2_048, 120));
        let own = format!("{named}run_tokens = 9\nmax_answer_tokens = 3\nanswer_timeout_ms = 1500\n");
        let own = resolved(&own).unwrap().unwrap();
        assert_eq!((own.model.backend, own.limits.tokens, own.limits.patience.as_millis()), (1, 9, 1500));
        for (more, expected) in [
            ("run_tokens = 2048\n", "no pair could be decided"),
            ("max_answer_tokens = 0\n", "must be at least 1"),
            ("answer_timeout_ms = 0\n", "must be at least 1"),
        ] {
            let error = resolved(&format!("{named}{more}")).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        let error = resolved("[memory.reconciler]\n").unwrap_err();
        assert!(error.contains("name it with `backend` and `model`"), "{error}");
    }
}
