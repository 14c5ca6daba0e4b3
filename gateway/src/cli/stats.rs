//! `muninn stats`: what packs gained and cost, per repository.

use std::process::ExitCode;

use clap::Args;
use muninn_config::paths;
use muninn_core::{Comparison, Counts, Stats as Sums, stats};
use muninn_ledger::SqliteStore;

use super::{CliError, Common, examples, log, output};

/// Show what packs gained and cost, per repository
///
/// Gain, price and net are in input tokens that are not cached. The realised gain is an estimate on the low side, from
/// the tool calls of agents that got a map.
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn stats", "The last seven days"),
    ("muninn stats --days 30 --json", "The last 30 days, as one JSON object"),
]))]
pub(crate) struct Stats {
    /// Add up the receipts of the last N days
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    days: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Stats {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        log::to_stderr("warn");
        let config = common.configuration(None)?;
        let store = SqliteStore::open(&paths::state_dir()?, &config.limits)?;
        let sums = stats(&store, Common::clock().now(), self.days)?;
        if self.json {
            output::json(&sums);
        } else {
            output::print(&text(&sums));
        }
        Ok(ExitCode::SUCCESS)
    }
}

const HEADINGS: [&str; 15] = [
    "requests", "questions", "packs", "tokens", "replayed", "price", "expected", "measured", "realised", "net", "used",
    "lost", "spared", "explore ms", "repository",
];

/// The sums as a table with a line for each repository, and notes.
fn text(sums: &Sums) -> String {
    let since = output::local_time(&sums.since);
    let mut text = format!("The last {}, since {since}", output::plural(sums.days as usize, "day"));
    match &sums.oldest {
        None => return format!("{text}: there are no receipts yet\n"),
        Some(_) if sums.complete => {}
        Some(oldest) => text.push_str(&format!("; receipts reach back to {} only", output::local_time(oldest))),
    }
    text.push_str("\n\n");
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    rows.extend(sums.repositories.iter().map(|one| row(&one.counts, &one.worktree)));
    rows.push(row(&sums.total, "total"));
    text.push_str(&output::table(&rows, |cell, width| format!("{cell:>width$}")));
    text.push_str(
        "\nPrice, gains and net are in input tokens that are not cached. Measured packs are maps whose turn is over: used\n\
         ones led to a file that was read or edited, lost ones gained less than their price. Net covers measured packs.\n\
         Spared is the share of exploring calls that they saved.\n",
    );
    if let Some(holdout) = &sums.holdout {
        text.push_str(&format!(
            "\nConversations with context: {}, held out: {}. Means per conversation, and the ratio with its interval of 95%:\n",
            holdout.with_context, holdout.held_out
        ));
        for (name, figures) in [("calls", &holdout.calls), ("tokens", &holdout.tokens), ("turns", &holdout.turns)] {
            text.push_str(&compared(name, figures));
        }
    }
    text
}

/// One figure of both groups of a holdout.
fn compared(name: &str, figures: &Comparison) -> String {
    let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"));
    let ratio = figures.ratio.map_or_else(String::new, |ratio| format!(", ratio {ratio:.2}"));
    let interval = match figures.interval {
        Some([low, high]) => format!(" ({low:.2} to {high:.2})"),
        None => " (too few conversations for an interval)".to_owned(),
    };
    let (with, held_out) = (shown(figures.with_context), shown(figures.held_out));
    format!("  {name:<6}  {with} with context, {held_out} held out{ratio}{interval}\n")
}

fn row(counts: &Counts, name: &str) -> [String; HEADINGS.len()] {
    [
        counts.requests.to_string(),
        counts.questions.to_string(),
        counts.packs.to_string(),
        counts.tokens.to_string(),
        counts.replayed_tokens.to_string(),
        counts.price.to_string(),
        counts.estimated_gain.to_string(),
        counts.measured.to_string(),
        counts.realised_gain.to_string(),
        counts.net.to_string(),
        counts.used.to_string(),
        counts.lost.to_string(),
        counts.spared_share.map_or_else(|| "-".to_owned(), |share| format!("{:.0}%", share * 100.0)),
        counts.explore_ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.1}")),
        output::sanitize_field(name),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use muninn_core::RepositoryStats;

    const SINCE: &str = "2026-11-17T12:00:00Z";

    fn sums(oldest: Option<&str>) -> Sums {
        let counts = Counts {
            requests: 120,
            packs: 9,
            net: -1234.0,
            spared_share: Some(0.41),
            explore_ms: Some(12.34),
            ..Counts::default()
        };
        Sums {
            days: 7,
            since: SINCE.to_owned(),
            oldest: oldest.map(str::to_owned),
            complete: oldest.is_some_and(|oldest| oldest <= SINCE),
            repositories: vec![RepositoryStats { worktree: "/home/ana/demo".to_owned(), counts: counts.clone() }],
            total: counts,
            holdout: None,
        }
    }

    #[test]
    fn table_has_aligned_columns_and_a_total() {
        let text = text(&sums(Some("2026-11-01T00:00:00Z")));
        let lines: Vec<&str> = text.lines().collect();
        assert!(!lines[0].contains("reach back"), "{text}");
        assert!(lines[2].ends_with("  explore ms  repository"), "{text}");
        assert!(lines[3].starts_with("     120  ") && lines[3].ends_with("12.3  /home/ana/demo"), "{text}");
        assert!(lines[3].contains("  -1234  ") && lines[3].contains("  41%  "), "{text}");
        assert_eq!(lines[3].replace("/home/ana/demo", "total"), lines[4]);
    }

    #[test]
    fn shorter_history_than_the_period_is_reported() {
        let young = text(&sums(Some("2026-11-20T00:00:00Z")));
        assert!(young.lines().next().unwrap().ends_with(" only"), "{young}");
        assert!(text(&sums(None)).ends_with(": there are no receipts yet\n"));
    }
}
