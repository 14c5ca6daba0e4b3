//! End-to-end tests: the real binary, real sockets, real git.
//!
//! Every test has an environment, a repository, a gateway and a backend of its own, so that all of them may run at once.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests: whatever goes wrong is a failure, and should say where"
)]

mod abandoned;
mod access;
mod accounting;
mod affinity;
mod agent;
mod already_read;
mod bad_input;
mod broken_state;
mod broken_upstream;
mod budgets;
mod bytes;
mod cache_keys;
mod clients;
mod commands;
mod compressed;
mod configs;
mod contract;
mod conversion;
mod counting;
#[cfg(target_os = "linux")]
mod daemon;
#[cfg(target_os = "linux")]
mod daemon_hooks;
mod deep_lane;
#[cfg(target_os = "linux")]
mod discovery;
mod doctor;
mod embedder;
mod exploring;
mod faults;
mod flood;
mod foreign_text;
mod formats;
mod forms;
mod forwarding;
mod framing;
mod framing_attacks;
mod freshness;
#[cfg(unix)]
mod git_formats;
#[cfg(unix)]
mod git_worktrees;
mod holdout;
mod hook_faults;
mod hooks;
mod hostile;
mod hostile_files;
mod hostile_git;
mod http2;
mod install;
mod journal;
mod journal_clones;
mod journal_hostile;
mod kept_secrets;
mod knowledge;
mod large_bodies;
mod last_answer;
mod learning;
mod ledger_faults;
mod links;
mod liveness;
mod logs;
mod many_requests;
mod map;
mod mcp;
#[cfg(target_os = "linux")]
mod mcp_daemon;
mod mcp_revision;
mod notes;
mod past_sessions;
mod paths;
mod personal;
#[cfg(unix)]
mod personal_git;
#[cfg(unix)]
mod personal_import;
mod preamble;
mod proxies;
mod reconcile;
mod reconciler;
mod reload;
#[cfg(unix)]
mod reminders;
mod replay_property;
mod resilience;
mod scan;
mod scripts;
mod security;
mod side_requests;
mod spans;
mod stage;
#[cfg(unix)]
mod state_directory;
mod strict_vendors;
mod summarizer;
mod team;
mod tls;
mod turns;
mod two_gateways;
mod uninvited;
mod websocket;
mod wiki;
mod wiki_changes;
mod wiki_processes;
mod worklog;
mod worktrees;

/// The binary under test.
const MUNINN: &str = env!("CARGO_BIN_EXE_muninn");
