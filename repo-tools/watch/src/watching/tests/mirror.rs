//! A client of the watcher always reaches the state that a walk finds.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::*;

/// A change of a worktree. There are few names, so that steps interact.
#[derive(Debug, Clone)]
enum Step {
    Write(String, u8),
    Remove(String),
    Directory(String),
    Rename(String, String),
    /// Saves through a temporary file and a rename.
    Save(String, u8),
    Ignore(String),
    /// Reads the changes.
    Look,
}

fn name() -> impl Strategy<Value = String> {
    prop::collection::vec("[abc]", 1..4).prop_map(|parts| parts.join("/"))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (name(), any::<u8>()).prop_map(|(name, n)| Step::Write(name, n)),
        2 => name().prop_map(Step::Remove),
        2 => name().prop_map(Step::Directory),
        4 => (name(), name()).prop_map(|(from, to)| Step::Rename(from, to)),
        2 => (name(), any::<u8>()).prop_map(|(name, n)| Step::Save(name, n)),
        1 => name().prop_map(Step::Ignore),
        3 => Just(Step::Look),
    ]
}

/// Performs a step. Impossible ones, such as a file in a file, fail in whole or in part.
fn take(root: &Path, step: &Step) {
    let at = |name: &str| root.join(name);
    let parents = |name: &str| {
        fs::create_dir_all(at(name).parent().unwrap()).ok();
    };
    let result = match step {
        Step::Write(name, n) => {
            parents(name);
            fs::write(at(name), [b'0' + n % 10])
        }
        Step::Save(name, n) => {
            parents(name);
            fs::write(at(&format!("{name}~")), [b'0' + n % 10])
                .and_then(|()| fs::rename(at(&format!("{name}~")), at(name)))
        }
        Step::Remove(name) => fs::remove_dir_all(at(name)).or_else(|_| fs::remove_file(at(name))),
        Step::Directory(name) => fs::create_dir_all(at(name)),
        Step::Rename(from, to) => {
            parents(to);
            fs::rename(at(from), at(to))
        }
        Step::Ignore(name) => fs::write(at(".gitignore"), format!("/{name}\n")),
        Step::Look => Ok(()),
    };
    drop(result);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_changes_are_followed(steps in prop::collection::vec(step(), 1..40)) {
        let mut repo = Watched::with(&[("a/b", "x"), ("b/a/c", "x"), ("c", "x")]);
        let root = repo.fixture.path("");
        for step in &steps {
            take(&root, step);
            if matches!(step, Step::Look) {
                repo.follow();
            }
        }
        repo.follow();
    }
}

#[test]
fn random_changes_with_concurrent_readers_are_followed() {
    let mut repo = Watched::with(&[("a/b", "x"), ("b/a/c", "x"), ("c", "x")]);
    let root = repo.fixture.path("");
    let names = ["a", "b", "c", "a/b", "b/a", "c/c", "a/b/c", "b/c/a"];
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            // A fixed sequence of steps; only the interleaving with the reader varies.
            for n in 0..600_usize {
                let (one, two) = (names[n * 7 % 8].to_owned(), names[(n * 5 + n / 8) % 8].to_owned());
                let step = match n % 6 {
                    0 | 3 => Step::Write(one, u8::try_from(n % 10).unwrap()),
                    1 => Step::Rename(one, two),
                    2 => Step::Save(two, u8::try_from(n % 10).unwrap()),
                    4 => Step::Directory(two),
                    _ => Step::Remove(one),
                };
                take(&root, &step);
            }
        });
        while !writer.is_finished() {
            repo.watcher.settle(LONG);
            let changes = repo.watcher.changes();
            repo.learn(&changes);
        }
    });
    repo.follow();
    repo.fixture.write("end/of/it.rs", b"x");
    repo.follow();
}
