//! Support for tests and benchmarks: a clean home for the real binary, real git repositories, a backend that records
//! requests, and an HTTP client raw enough to send bad bytes.
//!
//! Fakes stand at the socket and nowhere else. All code blocks on plain threads, so that a test reads from top to
//! bottom and shares no runtime with the code under test. Tests wait for an event, or with [`wait_until`] and a
//! deadline; they never sleep for a fixed time. Failures panic.
//!
//! ```no_run
//! use muninn_tests::{TestEnv, Upstream};
//!
//! let env = TestEnv::new("target/debug/muninn");
//! let upstream = Upstream::start();
//! env.connect(&upstream);
//! let root = env.repository("demo", &[("src/lib.rs", "pub fn answer() -> u32 { 42 }\n")]);
//! let gateway = env.serve(&root, &[]);
//! let body = br#"{"model":"m","messages":[{"role":"user","content":"What is the answer?"}]}"#;
//! let response = gateway.post("/v1/chat/completions", &[], body);
//! assert_eq!(response.status, 200);
//! assert_eq!(upstream.requests().len(), 1);
//! ```
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "support for tests: an error here is a failed test, and a panic reports its place"
)]

#[cfg(test)]
mod architecture;
mod env;
mod gateway;
mod git;
mod golden;
pub mod http;
pub mod socket;
#[cfg(unix)]
mod terminal;
mod upstream;
mod wait;

pub use env::{TestEnv, output, output_with, why};
pub use gateway::{Gateway, Stopped};
pub use git::{GitError, Repository, git, git_command};
pub use golden::{assert_golden, assert_reference_page, pretty};
#[cfg(unix)]
pub use terminal::at_terminal;
#[cfg(unix)]
pub use upstream::reset;
pub use upstream::{Control, Recorded, Reply, Script, Upstream, answers, script, until_closed};
pub use wait::{PATIENCE, wait_until, wait_within};

/// Compresses bytes with gzip.
///
/// # Panics
/// Never, because it writes to memory.
#[must_use]
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, bytes).unwrap();
    encoder.finish().unwrap()
}

/// Decompresses gzip; `None` if the data is invalid.
#[must_use]
pub fn gunzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(bytes), &mut out).ok()?;
    Some(out)
}
