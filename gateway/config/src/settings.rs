use std::net::SocketAddr;
use std::path::PathBuf;

use super::explore::ExploreConfig;
use super::hosts::HostPattern;
use super::journal::JournalConfig;
use super::memory::{EmbedderConfig, MemoryConfig, ReconcilerConfig, SummarizerConfig};
use super::personal::PersonalConfig;
use super::sections::{BackendConfig, ContextConfig, HooksConfig, KeyConfig, LimitsConfig, McpConfig, RouteConfig};
use super::wiki::WikiConfig;
use super::worklog::WorklogConfig;

/// The resolved configuration: valid, with every default filled in.
#[derive(Debug, Clone)]
pub struct Config {
    /// The user's file, if it exists.
    pub file: Option<PathBuf>,
    /// The address to listen on. It is a loopback address unless there are keys.
    pub listen: SocketAddr,
    /// The names that a `Host` header may have besides this machine's own.
    pub allowed_hosts: Vec<HostPattern>,
    /// The canonical directories, besides the served root, whose repositories are served.
    pub roots: Vec<PathBuf>,
    /// Whether discovery looks for model servers on loopback if no backend is configured.
    pub discover: bool,
    /// The backends, in the order of the file.
    pub backends: Vec<BackendConfig>,
    /// The routes. The first match decides.
    pub routes: Vec<RouteConfig>,
    /// The access keys. Without keys every client is served.
    pub keys: Vec<KeyConfig>,
    /// Whether the user's gateway asks for an access key. It stays set where the keys are removed from the configuration.
    pub needs_key: bool,
    /// The budgets and limits of packs.
    pub context: ContextConfig,
    /// Recording of sessions, and its limits.
    pub memory: MemoryConfig,
    /// The embedder of recall and of short code questions.
    pub embedder: EmbedderConfig,
    /// The model that summarizes conversations, if there is one.
    pub summarizer: Option<SummarizerConfig>,
    /// The model that decides what the rules of reconciling leave open, if there is one.
    pub reconciler: Option<ReconcilerConfig>,
    /// When a model explores, and its limits.
    pub explore: ExploreConfig,
    /// The tools that the Model Context Protocol server offers.
    pub mcp: McpConfig,
    /// The hooks of clients.
    pub hooks: HooksConfig,
    /// The team's wiki.
    pub wiki: WikiConfig,
    /// The git journal.
    pub journal: JournalConfig,
    pub worklog: WorklogConfig,
    /// Personal memory.
    pub personal: PersonalConfig,
    /// The limits of every request: sizes and times.
    pub limits: LimitsConfig,
    /// Switches for tests.
    pub test: TestConfig,
}

/// Switches for the project's own tests.
#[derive(Debug, Clone)]
pub struct TestConfig {
    /// The ports of discovery, instead of the well-known ones.
    pub discovery_ports: Option<Vec<u16>>,
}

#[cfg(test)]
mod error_order;
#[cfg(test)]
mod reference;
