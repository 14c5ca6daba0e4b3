//! Configuration: flags override the environment, which overrides the user's file. A repository's file can set less.
//!
//! `raw` holds the types of the files as written, and each section's file the two forms of the section. [`Config`] is
//! the resolved configuration: checked, with all defaults.
//! Resolving ends before a socket is bound, so that an invalid file never leaves a half-started server. Repositories
//! are not trusted: a repository's file can only set `context` and `memory`, so that a cloned repository cannot choose
//! where the user's prompts and keys are sent.

mod address;
mod backend_names;
mod backends;
mod chosen;
mod chosen_model;
pub mod env_vars;
mod explore;
mod files;
mod hosts;
mod invalid;
mod journal;
mod keys;
mod lookup;
mod memory;
#[cfg(unix)]
pub mod ownership;
pub mod paths;
mod personal;
pub mod presence;
mod raw;
mod resolve;
pub mod secrets;
mod sections;
mod settings;
mod wiki;
mod worklog;

pub use address::{Address, is_azure};
pub use chosen_model::ChosenModel;
pub use explore::{ExploreConfig, ExploreMode};
pub use files::{ConfigError, nearest};
pub use hosts::{Authority, HostPattern};
pub use journal::JournalConfig;
pub use keys::{NameError, check_name};
pub use memory::{EmbedderConfig, MemoryConfig, MemoryWrite, ReconcilerConfig, SummarizerConfig};
pub use personal::{AgentClient, AgentConfig, PersonalConfig};
#[cfg(any(test, feature = "fixture"))]
pub use resolve::load_text;
pub use resolve::{Overrides, load, repository};
pub use sections::{
    BackendConfig, CircuitConfig, ContextConfig, FallbackConfig, HooksConfig, KeyConfig, LimitsConfig, McpConfig,
    RouteConfig, UNCONFIGURED,
};
pub use settings::{Config, TestConfig};
pub use wiki::{DigestConfig, DigestInPrompt, WikiConfig};
pub use worklog::WorklogConfig;
