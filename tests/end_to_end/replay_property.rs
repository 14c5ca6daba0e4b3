//! Property test of invariant 2: if the client's prompts extend each other, the backend's prompts do too.
//!
//! A model client takes random steps in a few sessions, in all three wire formats, against the real binary with real
//! repositories and a recording backend. An oracle without the gateway's code compares the prompt of every sent request
//! with the prompt that the backend received, over all pairs of requests. `MUNINN_REPLAY_CASES` sets the number of
//! runs. The seed is fixed, so that a failure is reproducible; `MUNINN_REPLAY_SEED`, from 0 to 255, sets another one.

mod cases;
mod conversation;
mod oracle;
mod prompt;
mod regressions;
mod run;
mod scenario;
mod steps;
mod world;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Instant;

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use oracle::Checked;
use run::Run;
use steps::{KINDS, Step};
use world::World;

const CASES: u32 = 10;
const STEPS: usize = 180;
/// The requests that went over a WebSocket, among the kinds of steps.
const OVER_SOCKETS: &str = "over a WebSocket";

#[derive(Default)]
struct Totals {
    cases: usize,
    steps: usize,
    checked: Checked,
    kinds: BTreeMap<&'static str, usize>,
}

#[test]
fn prompt_extension_is_preserved() {
    let cases = std::env::var("MUNINN_REPLAY_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 1_000,
        max_shrink_time: 60_000,
        ..Config::default()
    };
    let seed = std::env::var("MUNINN_REPLAY_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let totals = RefCell::new(Totals::default());
    let started = Instant::now();
    let conversations = proptest::collection::vec(steps::step(), 1..=STEPS);
    let outcome = TestRunner::new_with_rng(config, rng).run(&conversations, |steps| {
        let (checked, kinds) = play(&steps).map_err(TestCaseError::fail)?;
        totals.borrow_mut().add(steps.len(), checked, &kinds);
        Ok(())
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, steps)) => {
            let steps: Vec<_> = steps.iter().map(|step| format!("    {step:?},\n")).collect();
            panic!("{reason}\nafter\n{}", steps.concat());
        }
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
    totals.borrow().print(started);
    if cases >= CASES {
        totals.borrow().assert_coverage();
    }
}

fn play(steps: &[Step]) -> Result<(Checked, BTreeMap<&'static str, usize>), String> {
    let mut world = World::new();
    let mut run = Run::default();
    for step in steps {
        run.execute(&mut world, step)?;
    }
    run.kinds.insert(OVER_SOCKETS, world.sockets);
    Ok((world.oracle.checked, run.kinds))
}

impl Totals {
    fn add(&mut self, steps: usize, checked: Checked, kinds: &BTreeMap<&'static str, usize>) {
        self.cases += 1;
        self.steps += steps;
        for (kind, count) in kinds {
            *self.kinds.entry(kind).or_default() += count;
        }
        let sum = &mut self.checked;
        sum.requests += checked.requests;
        sum.pairs += checked.pairs;
        sum.pairs_across_sessions += checked.pairs_across_sessions;
        sum.injected += checked.injected;
        sum.replayed += checked.replayed;
        sum.distinct_blocks += checked.distinct_blocks;
        sum.failed += checked.failed;
        sum.excused += checked.excused;
    }

    fn print(&self, started: Instant) {
        println!("{} cases, {} steps, {:?}", self.cases, self.steps, self.checked);
        println!("{:?}, in {:.1?}", self.kinds, started.elapsed());
    }

    /// Fails if the run checked too little.
    fn assert_coverage(&self) {
        for kind in KINDS {
            assert!(self.kinds.contains_key(kind), "no step of the kind {kind}");
        }
        assert!(self.kinds[OVER_SOCKETS] > 50, "{:?}", self.kinds);
        assert!(self.checked.replayed > 500, "{:?}", self.checked);
        assert!(self.checked.injected > 200, "{:?}", self.checked);
        assert!(self.checked.pairs > 2_000 && self.checked.pairs_across_sessions > 50, "{:?}", self.checked);
        assert!(self.checked.failed > 0, "{:?}", self.checked);
    }
}
