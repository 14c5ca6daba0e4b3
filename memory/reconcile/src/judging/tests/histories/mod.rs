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

use std::collections::BTreeMap;

use parking_lot::Mutex;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use self::actions::{NAMES, Step};
use self::runner::HistoryRunner;

/// Environment variable with the number of histories.
const HISTORIES: &str = "MUNINN_HISTORIES";
const USUAL: u32 = 60;
/// Number of parallel lanes, each with its own seed.
const LANES: u32 = 2;

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

fn play(history: &[Step], tally: &Mutex<Tally>) {
    let mut play = HistoryRunner::new();
    history.iter().for_each(|step| play.take(step));
    let compared = play.end();
    let mut tally = tally.lock();
    tally.histories += 1;
    tally.records += play.model.all.len();
    tally.conflicts += play.conflicts.len();
    tally.compared += usize::from(compared);
    for (name, count) in play.done {
        *tally.steps.entry(name).or_default() += count;
    }
}

/// Runs histories, and panics with the shrunk first failure.
fn lane(number: u32, histories: u32, tally: &Mutex<Tally>) {
    let config = Config { cases: histories, failure_persistence: None, max_shrink_iters: 1500, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[u8::try_from(number).unwrap(); 32]);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let ended = runner.run(&actions::histories(), |history| {
        play(&history, tally);
        Ok(())
    });
    match ended {
        Ok(()) => {}
        Err(TestError::Fail(why, history)) => panic!("{why}\n{history:?}"),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

#[test]
fn random_histories_lose_nothing() {
    let histories: u32 = std::env::var(HISTORIES).map_or(USUAL, |count| count.parse().unwrap());
    let tally = Mutex::default();
    std::thread::scope(|scope| {
        for number in 0..LANES {
            let share = histories / LANES + u32::from(number < histories % LANES);
            let tally = &tally;
            scope.spawn(move || lane(number, share, tally));
        }
    });
    let all = tally.into_inner();
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
