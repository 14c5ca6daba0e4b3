//! Maps: places for a client that reads files itself.

use std::time::{Duration, Instant, SystemTime};

use super::{Repo, files, limits};
use crate::value::Prices;
use crate::{Engine, Exploration, ItemKind, Limits, PriorContext, render, tokens};

const QUESTION: &str = "how does the ledger replay bookings and what is an overdraft";

/// A question that many files answer equally well.
const SHARDS: &str = "how does refill_bucket refill the token bucket of a shard";

/// Twelve files that answer, and others.
fn shards_among(others: usize) -> Repo {
    let file = |at: usize| format!("/// Refills the token bucket of shard {at}.\npub fn refill_bucket_{at}() {{}}\n");
    let shards = (0..12).map(|at| (format!("src/shard_{at}.rs"), file(at)));
    let others = (0..others).map(|at| (format!("src/other_{at}.rs"), format!("pub fn other_{at}() {{}}\n")));
    let files: Vec<(String, String)> = shards.chain(others).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
    Repo::with(&files)
}

fn shards() -> Repo {
    shards_among(200)
}

fn map(engine: &Engine, prior: &PriorContext, budget: u32) -> Exploration {
    engine.explore_after(prior, QUESTION, &limits(budget), Some(&Prices::default()))
}

#[test]
fn map_names_lines_with_a_signature_and_quotes_no_body() {
    let repo = Repo::service();
    let engine = repo.ready();
    let found = map(&engine, &PriorContext::default(), 2_000);
    let block = render::block(&found.items);
    assert!(block.contains("## Likely places, best first\n- src/ledger.rs:"), "{block}");
    let best = &found.items[0];
    assert_eq!(best.kind, ItemKind::Place);
    let (path, lines) = best.source.split_once(':').unwrap();
    let (first, last) = lines.split_once('-').unwrap();
    let text = std::fs::read_to_string(repo.root().join(path)).unwrap();
    let span: Vec<&str> = text.lines().collect();
    let span = &span[first.parse::<usize>().unwrap() - 1..last.parse().unwrap()];
    assert!(span.iter().any(|line| line.trim() == best.text), "{block}");
    let code = engine.explore(QUESTION, &limits(2_000));
    assert!(found.tokens * 2 < code.tokens, "{} of {}", found.tokens, code.tokens);
}

#[test]
fn map_never_costs_more_than_its_budget() {
    let repo = Repo::service();
    let engine = repo.ready();
    for budget in [0, 119, 120, 150, 200, 300, 2_000] {
        let found = map(&engine, &PriorContext::default(), budget);
        assert_eq!(found.tokens, tokens::count(&render::block(&found.items)));
        assert!(found.tokens <= budget, "{} > {budget}", found.tokens);
        assert!(!found.items.is_empty() || found.reason.is_some());
    }
}

#[test]
fn places_of_an_earlier_block_are_not_named_again() {
    let repo = Repo::service();
    let engine = repo.ready();
    let mut prior = PriorContext::default();
    prior.add_block(&render::block(&map(&engine, &prior, 2_000).items));
    let again = map(&engine, &prior, 2_000);
    assert!(again.items.is_empty(), "{:?}", again.items);
    assert_eq!(again.reason.unwrap(), "what fits is already in the conversation");
}

#[test]
fn file_whose_lines_are_not_worth_their_price_is_named_by_its_path() {
    let repo = shards();
    let engine = repo.ready();
    // The words are common in all files of this repository.
    engine.set_threshold(Some(0.0));
    let places = |prices: &Prices| {
        let found = engine.explore_after(&PriorContext::default(), SHARDS, &limits(2_000), Some(prices));
        let with_lines = found.items.iter().filter(|item| item.first_line > 0).count();
        assert!((1..=450).contains(&found.tokens), "{}", found.tokens);
        (found.items.len(), with_lines)
    };
    let free = Prices { cache_write: 0.0, cache_write_1h: 0.0, cached_read: 0.0, output: 0.0 };
    assert_eq!(places(&free), (12, 8), "eight places, and the paths of the other files");
    let (all, with_lines) = places(&Prices::default());
    assert_eq!(all, 12);
    assert!((1..6).contains(&with_lines), "{with_lines}");
}

#[test]
fn small_repository_gets_a_shorter_map() {
    let [large, small] = [200, 0].map(|others| {
        let repo = shards_among(others);
        let engine = repo.ready();
        engine.set_threshold(Some(0.0));
        let found = engine.explore_after(&PriorContext::default(), SHARDS, &limits(2_000), Some(&Prices::default()));
        assert!(found.items[0].source.starts_with("src/shard_"), "{others}");
        files(&found).len()
    });
    assert!(small < large && small <= 6, "{small} of 12 files, {large} of 212");
}

#[test]
fn file_named_by_its_path_is_as_it_is_on_disk() {
    let repo = shards();
    for (path, _) in (0..12).map(|at| (format!("src/shard_{at}.rs"), at)) {
        let file = std::fs::File::options().write(true).open(repo.path(&path)).unwrap();
        // A file that is older than its indexing is not read again.
        file.set_modified(SystemTime::now() - Duration::from_secs(3_600)).unwrap();
    }
    let engine = repo.ready();
    engine.set_threshold(Some(0.0));
    let places = || {
        let found = engine.explore_after(&PriorContext::default(), SHARDS, &limits(2_000), Some(&Prices::default()));
        found.items.into_iter().filter(|item| item.first_line == 0)
    };
    let before: Vec<String> = places().map(|item| item.source).collect();
    let [removed, edited, linked, ..] = &before[..] else { panic!("{before:?}") };
    std::fs::remove_file(repo.path(removed)).unwrap();
    repo.write(edited, "/// Refills the token bucket of a shard twice.\npub fn refill_bucket_twice() {}\n");
    std::fs::remove_file(repo.path(linked)).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", repo.path(linked)).unwrap();
    let after: Vec<(String, String)> = places().map(|item| (item.source, item.blob.unwrap())).collect();
    let blob_of = |path: &str| repo.git(&["hash-object", path]);
    assert!(after.iter().all(|(path, blob)| *blob == blob_of(path).trim()), "{after:?}");
    let names: Vec<&String> = after.iter().map(|(path, _)| path).collect();
    assert!(names.contains(&edited) && !names.contains(&removed) && !names.contains(&linked), "{names:?}");
}

#[test]
fn lower_gain_factor_shortens_the_map_and_keeps_its_best_file() {
    let repo = shards();
    let knowledge = "# Shards\n\nA shard may refill the token bucket of another shard with refill_bucket.\n";
    repo.write(".muninn/knowledge/shards.md", knowledge);
    let engine = repo.ready();
    engine.set_threshold(Some(0.0));
    let places = |factor: f32| {
        engine.set_gain_factor(factor);
        let found = engine.explore_after(&PriorContext::default(), SHARDS, &limits(2_000), Some(&Prices::default()));
        let gain: f32 = found.items.iter().map(|item| item.gain).sum();
        let [knowledge, best] = &found.items[..2] else { panic!("{:?}", found.items) };
        assert_eq!((knowledge.kind, best.kind), (ItemKind::Knowledge, ItemKind::Place));
        (best.source.clone(), found.tokens, gain)
    };
    let (whole, eighth, again) = (places(1.0), places(0.125), places(1.0));
    assert_eq!(whole, again);
    assert_eq!(whole.0, eighth.0);
    assert!(eighth.1 < whole.1 && eighth.2 < whole.2 / 4.0, "{eighth:?} of {whole:?}");
    assert!(whole.2 > Prices::default().of_tokens(whole.1), "{whole:?}");
}

#[test]
fn late_map_is_no_map() {
    let repo = Repo::service();
    let engine = repo.ready();
    let deadline = Instant::now();
    let limits = Limits { tokens: 2_000, deadline };
    let late = engine.explore_after(&PriorContext::default(), QUESTION, &limits, Some(&Prices::default()));
    assert!(late.items.is_empty() && late.reason.is_some());
}

#[test]
fn licence_is_packed_only_if_the_question_names_it() {
    let words = "duration overflow parse seconds minutes hours warranty liability";
    let repo = Repo::with(&[
        ("LICENSE-APACHE", &format!("{words}\n").repeat(30)),
        ("src/time.rs", "/// Parses a duration in seconds, minutes or hours.\npub fn parse_duration() {}\n"),
    ]);
    let engine = repo.ready();
    let about = |question: &str| {
        let found = engine.explore(question, &limits(4_000));
        files(&found).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let bug = about("why does `parse_duration` overflow for a duration of many hours and minutes");
    assert_eq!(bug, ["src/time.rs"]);
    let named = about("what does LICENSE-APACHE say about warranty and liability");
    assert!(named.iter().any(|file| file == "LICENSE-APACHE"), "{named:?}");
}
