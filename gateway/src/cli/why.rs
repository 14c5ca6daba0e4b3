//! `muninn why`: shows a request's receipt, or lists the latest receipts.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use muninn_config::paths;
use muninn_context_engine::Relevance;
use muninn_core::{ReceiptError, find_receipt, latest_receipts};
use muninn_ledger::{Estimate, Receipt, ReceiptItem, SqliteStore};

use super::log;
use super::output::{self, plural};
use super::{CliError, Common, Exit, examples};

const LISTED: usize = 20;
/// The time in which a gateway writes the receipt of an answer that has begun.
const WRITING: Duration = Duration::from_millis(150);

/// Show what was added to a request: from where, why, and at what cost
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn why", "List the latest requests"),
    ("muninn why --last", "The latest request"),
    ("muninn why 7QK2", "The request whose id contains 7QK2"),
]))]
pub(crate) struct Why {
    /// The request's id, or any unambiguous part of it; without it, the latest requests are listed
    id: Option<String>,
    /// Show the latest request
    #[arg(long, conflicts_with = "id")]
    last: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Why {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        log::to_stderr("warn");
        let config = common.configuration(None)?;
        let store = SqliteStore::open(&paths::state_dir()?, &config.limits)?;
        match &self.id {
            Some(id) => self.show(&find_receipt(&store, id)?),
            None if self.last => {
                std::thread::sleep(WRITING);
                let receipts = latest_receipts(&store, 1)?;
                let none = || CliError::new(Exit::NotFound, "there are no receipts yet");
                self.show(receipts.first().ok_or_else(none)?);
            }
            None => self.list(&latest_receipts(&store, LISTED)?),
        }
        Ok(ExitCode::SUCCESS)
    }

    fn show(&self, receipt: &Receipt) {
        if self.json {
            output::json(receipt);
        } else {
            output::print(&full(receipt));
        }
    }

    fn list(&self, receipts: &[Receipt]) {
        if self.json {
            output::json(&receipts);
            return;
        }
        if receipts.is_empty() {
            output::note("there are no receipts yet");
        }
        let widest = receipts.iter().map(|receipt| receipt.worktree.chars().count()).max().unwrap_or(0);
        let served = receipts.iter().map(|receipt| server(receipt).chars().count()).max().unwrap_or(0);
        for receipt in receipts {
            let added = match receipt.tokens {
                0 => "-".to_owned(),
                tokens => format!("{tokens} tok"),
            };
            output::line(&format!(
                "{}  {}  {:<10}  {added:>8}  {:<widest$}  {:<served$}  {}",
                receipt.id,
                output::local_time(&receipt.at),
                receipt.outcome.name(),
                receipt.worktree,
                server(receipt),
                receipt.first_words
            ));
        }
    }
}

impl From<ReceiptError> for CliError {
    fn from(error: ReceiptError) -> Self {
        match error {
            ReceiptError::Id(error) => error.into(),
            ReceiptError::Store(error) => error.into(),
        }
    }
}

/// The short form, which `ask` prints below an answer.
pub(crate) fn short(receipt: &Receipt) -> String {
    let mut text = match receipt.items.len() {
        0 => format!("receipt {}: {}", receipt.id, receipt.outcome.name()),
        count => format!(
            "receipt {}: {}, {}, {} tokens",
            receipt.id,
            receipt.outcome.name(),
            plural(count, "item"),
            receipt.tokens
        ),
    };
    text.push_str(&format!(", {:.1} ms (exploring {:.1} ms)\n", receipt.ms, receipt.explore_ms));
    if let Some(relevance) = &receipt.relevance {
        text.push_str(&format!("  about this repository: {:.0}%{}\n", relevance.probability * 100.0, words(relevance)));
    }
    if let Some(reason) = &receipt.reason {
        text.push_str(&format!("  reason: {reason}\n"));
    }
    if !receipt.preamble.is_empty() {
        let parts = receipt.preamble.iter();
        let parts: Vec<_> = parts.map(|part| format!("{} ({} characters)", part.part, part.characters)).collect();
        text.push_str(&format!("  preamble: {}\n", parts.join(", ")));
    }
    text.push_str(&table(&receipt.items));
    text
}

/// The words that speak for and against a relevance, each side with a comma before it.
fn words(relevance: &Relevance) -> String {
    let side = |name: &str, words: &[String]| match words {
        [] => String::new(),
        words => format!(", {name}: {}", words.join(" ")),
    };
    side("for", &relevance.words_for) + &side("against", &relevance.words_against)
}

/// The added items as a table, with a heading line.
fn table(items: &[ReceiptItem]) -> String {
    let Some(widest) = items.iter().map(|item| item.source.chars().count()).max() else {
        return String::new();
    };
    let widest = widest.max("source".len());
    let mut text = format!("  {:>5}  {:>6}  {:<9}  {:<widest$}  why\n", "score", "tokens", "kind", "source");
    for item in items {
        let used = match (item.used, item.edited) {
            (Some(true), Some(true)) => "; used, edited",
            (Some(true), _) => "; used",
            _ => "",
        };
        text.push_str(&format!(
            "  {:>5.2}  {:>6}  {:<9}  {:<widest$}  {}{used}\n",
            item.score, item.tokens, item.kind, item.source, item.why
        ));
    }
    text
}

fn full(receipt: &Receipt) -> String {
    let mut text = short(receipt);
    let mut field = |name: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("  {name:<9}  {value}\n"));
        }
    };
    field("at", &output::local_time(&receipt.at));
    field("worktree", &receipt.worktree);
    field("asked", &receipt.first_words);
    field("key", receipt.key.as_deref().unwrap_or_default());
    field("session", receipt.session.as_deref().unwrap_or_default());
    field("derived", receipt.derived.as_deref().unwrap_or_default());
    field("agent", receipt.agent.as_deref().unwrap_or_default());
    field("turn", &receipt.turn.map(|turn| turn.to_string()).unwrap_or_default());
    field("side", receipt.side_request.as_deref().unwrap_or_default());
    let spoken = receipt.spoken.as_deref();
    let formats = spoken.map_or_else(|| receipt.format.clone(), |spoken| format!("{} as {spoken}", receipt.format));
    field("entered", &receipt.entered.join(", "));
    let asked = match (&*receipt.format, &*receipt.backend) {
        ("", _) => receipt.model.clone(),
        // A hook names no backend, and some clients no model.
        (_, "") => format!("{} ({formats})", receipt.model).trim_start().to_owned(),
        (_, backend) => format!("{} at {backend} ({formats})", receipt.model),
    };
    field("value", &receipt.estimate.as_ref().map(estimated).unwrap_or_default());
    field("effect", &effect(receipt).unwrap_or_default());
    field("model", &asked);
    let dropped = receipt.dropped.iter().map(|(name, count)| format!("{name} x{count}"));
    field("dropped", &dropped.collect::<Vec<_>>().join(", "));
    let answered = (receipt.status.is_some() || receipt.placement.is_some()).then(|| answered(receipt));
    field("answered", &answered.unwrap_or_default());
    let tries =
        receipt.tries.iter().map(|one| format!("{} {} ({} ms)", place(&one.backend, one.key), one.happened, one.ms));
    field("tries", &tries.collect::<Vec<_>>().join(", "));
    field("replayed", &format!("{}, {} tokens", plural(receipt.replayed.blocks, "block"), receipt.replayed.tokens));
    field(
        "time",
        &format!("{:.2} ms in all, exploring {:.2}, ledger {:.2}", receipt.ms, receipt.explore_ms, receipt.ledger_ms),
    );
    if let Some(exploration) = &receipt.exploration {
        text.push('\n');
        text.push_str(&exploration.text());
    }
    text
}

/// A backend and, if it has several, the number of its key.
fn place(backend: &str, key: Option<usize>) -> String {
    key.map_or_else(|| backend.to_owned(), |key| format!("{backend} key {key}"))
}

/// The caller's key, who answered it, and with which status, for a list.
fn server(receipt: &Receipt) -> String {
    let status = receipt.status.map(|status| status.to_string()).unwrap_or_default();
    let key = receipt.key.as_deref().map(|key| format!("{key}:")).unwrap_or_default();
    format!("{key}{} {status}", place(&receipt.backend, receipt.backend_key)).trim().to_owned()
}

/// Who answered a request, with which status, and why it went there.
fn answered(receipt: &Receipt) -> String {
    let by = Some(place(&receipt.backend, receipt.backend_key)).filter(|by| !by.is_empty());
    let status = receipt.status.map(|status| format!("status {status}"));
    let reason = receipt.placement.map(|placement| placement.to_string());
    [by, status, reason].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The estimated value of a pack, in input tokens that are not cached.
fn estimated(estimate: &Estimate) -> String {
    let price = format!("price {:.0} input tokens", estimate.price);
    match estimate.gain {
        Some(gain) => format!("expected gain {gain:.0}, {price}"),
        None => price,
    }
}

/// The effect of a map on its turn.
fn effect(receipt: &Receipt) -> Option<String> {
    let effect = receipt.effect?;
    let mut text = format!(
        "{} used, {} missed, after {}",
        plural(effect.places_used as usize, "place"),
        plural(effect.files_missed as usize, "edited file"),
        plural(effect.exploring_calls as usize, "exploring call"),
    );
    if let Some((gain, price)) = receipt.measured() {
        text.push_str(&format!("; realised gain {gain:.0}, net {:+.0}", gain - price));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use muninn_ledger::Effect;

    fn item(kind: &str, source: &str, score: f64, tokens: u32) -> ReceiptItem {
        ReceiptItem {
            kind: kind.to_owned(),
            source: source.to_owned(),
            blob: None,
            date: None,
            confidence: None,
            tokens,
            score,
            why: "it matched".to_owned(),
            used: None,
            edited: None,
        }
    }

    #[test]
    fn items_are_a_table_with_aligned_columns() {
        let items = [item("code", "src/lib.rs:1-20", 12.5, 1200), item("knowledge", "a.md", 0.5, 7)];
        assert_eq!(
            table(&items),
            "  score  tokens  kind       source           why\n\
             \x20 12.50    1200  code       src/lib.rs:1-20  it matched\n\
             \x20  0.50       7  knowledge  a.md             it matched\n"
        );
        assert_eq!(table(&[]), "");
    }

    #[test]
    fn value_and_effect_are_one_line_each() {
        let estimate = Estimate { price: 2000.4, gain: Some(9000.0), call: Some(1000.0) };
        let effect = Effect { exploring_calls: 1, places_used: 2, files_missed: 0, spared_calls: 0.0, gain: None };
        let receipt = Receipt {
            estimate: Some(estimate),
            effect: Some(effect.with_gain(Some(1), Some(&estimate))),
            ..Receipt::of("01".to_owned(), std::path::Path::new("/w"), "q")
        };
        let text = full(&receipt);
        let value = "  value      expected gain 9000, price 2000 input tokens\n";
        let effect =
            "  effect     2 places used, 0 edited files missed, after 1 exploring call; realised gain 2800, net +800\n";
        assert!(text.contains(value) && text.contains(effect), "{text}");
        assert_eq!(estimated(&Estimate { gain: None, ..estimate }), "price 2000 input tokens");
    }
}
