//! Random histories over real repositories: acknowledged records are never lost, deleted ones never return, and no
//! contradiction is hidden.
//!
//! `MUNINN_HISTORIES=2000 cargo test -p muninn-reconcile --lib histories -- --nocapture` runs 2000 histories.

mod actions;
mod check;
mod end;
mod model;
mod regressions;
mod runner;
mod worktree;

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use self::actions::{NAMES, Step};
use self::runner::HistoryRunner;

/// Environment variable with the number of histories.
const HISTORIES: &str = "MUNINN_HISTORIES";
const USUAL: u32 = 60;
/// Number of parallel lanes, each with its own seed.
const LANES: u8 = 2;

/// Statistics.
#[derive(Default)]
struct Tally {
    histories: usize,
    steps: BTreeMap<&'static str, usize>,
    records: usize,
    conflicts: usize,
    /// Number of histories whose end was compared with one person's result.
    compared: usize,
}

fn play(history: &[Step], tally: &RefCell<Tally>) {
    let mut play = HistoryRunner::new();
    history.iter().for_each(|step| play.take(step));
    let compared = play.end();
    let mut tally = tally.borrow_mut();
    tally.histories += 1;
    tally.records += play.model.all.len();
    tally.conflicts += play.conflicts.len();
    tally.compared += usize::from(compared);
    for (name, count) in play.done {
        *tally.steps.entry(name).or_default() += count;
    }
}

/// Runs histories, and panics with the shrunk first failure.
fn lane(number: u8, histories: u32) -> Tally {
    let tally = RefCell::new(Tally::default());
    let config = Config { cases: histories, failure_persistence: None, max_shrink_iters: 1500, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[number; 32]);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let ended = runner.run(&actions::histories(), |history| {
        play(&history, &tally);
        Ok(())
    });
    match ended {
        Ok(()) => tally.into_inner(),
        Err(TestError::Fail(why, history)) => panic!("{why}\n{history:?}"),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

#[test]
fn random_histories_lose_nothing() {
    let histories = std::env::var(HISTORIES).map_or(USUAL, |count| count.parse().unwrap());
    let played: Vec<Tally> = std::thread::scope(|scope| {
        let share =
            |number: u8| histories / u32::from(LANES) + u32::from(u32::from(number) < histories % u32::from(LANES));
        let lanes: Vec<_> = (0..LANES).map(|number| scope.spawn(move || lane(number, share(number)))).collect();
        lanes.into_iter().map(|lane| lane.join().unwrap()).collect()
    });
    let mut all = Tally::default();
    for tally in played {
        all.histories += tally.histories;
        all.records += tally.records;
        all.conflicts += tally.conflicts;
        all.compared += tally.compared;
        tally.steps.iter().for_each(|(name, count)| *all.steps.entry(name).or_default() += count);
    }
    let counts: Vec<String> = all.steps.iter().map(|(name, count)| format!("{name}: {count}")).collect();
    println!(
        "{} histories, {} steps {{{}}}, {} records, {} conflicts, {} compared with one person's; no invariant broken",
        all.histories,
        all.steps.values().sum::<usize>(),
        counts.join(", "),
        all.records,
        all.conflicts,
        all.compared
    );
    assert_eq!(all.histories, histories as usize);
    for name in NAMES {
        assert!(all.steps.contains_key(name), "no history contains {name}");
    }
}
