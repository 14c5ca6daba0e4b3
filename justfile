# One front door for people and CI. Each recipe is a plain command, so nothing here is needed to do the same by hand.

# Everything that CI runs, in its order.
all: test lint doc backends clients

# The README's test command.
test:
    cargo test --workspace

# Formatting and lints, warnings denied.
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo fmt --manifest-path benches/Cargo.toml --check
    cargo clippy --manifest-path benches/Cargo.toml --all-targets -- -D warnings

# Documentation, warnings denied.
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# Licences, advisories and the number of dependencies (needs cargo-deny).
deny:
    cargo deny check

# A real model server behind the gateway (needs Python, pip and AVX2).
backends:
    tests/backends/run

# Real clients through the gateway (needs node and npm as well).
clients:
    tests/clients/run

# Instructions for each request, compared with those recorded (needs valgrind).
instructions:
    tests/instructions/run

# What takes too long for every change: long property runs, faults and attacks in full, the soak (some hours).
nightly:
    .ci/nightly

# vLLM on the CPU behind the gateway: tool calls and its prefix-cache counters (6 GB of disk, some minutes; not in CI).
vllm:
    tests/clients/vllm

# What the gateway costs, side by side with nginx and vllm-router.
bench:
    benches/beside.sh

# What converting streams costs, and a thousand slow streams at once.
bench-streams:
    cargo run --release --manifest-path benches/Cargo.toml -- conversion
    cargo run --release --manifest-path benches/Cargo.toml -- streams
