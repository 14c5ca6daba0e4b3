//! Several clones of one repository, over real git.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use muninn_base::clock::Clock;
use muninn_repo_tools::{CommitChain, ObjectId, Signature};
use muninn_tests::git;

use super::{draft, section, settings, write};
use crate::journal::{Draft, EntryRef, Journal, REFERENCE};
use crate::wiki::PagePath;

const REMOTE: &str = "refs/muninn/remotes/origin/journal";
const CLONES: usize = 3;
/// The histories of a usual run.
const ROUNDS: u64 = 60;

/// Clones of one repository, each with its journal.
struct Team {
    dir: tempfile::TempDir,
    clock: Clock,
}

impl Team {
    fn new() -> Team {
        static TEMPLATE: OnceLock<tempfile::TempDir> = OnceLock::new();
        let template = TEMPLATE.get_or_init(|| {
            let dir = tempfile::tempdir().unwrap();
            let init = ["init", "--quiet", "--template="];
            // Received objects stay in their pack: a directory for each costs more than all else.
            let keep_packs = ["config", "transfer.unpackLimit", "1"];
            git(dir.path(), &[&init[..], &["--bare", "remote"]].concat()).unwrap();
            git(&dir.path().join("remote"), &keep_packs).unwrap();
            for clone in 0..CLONES {
                let name = clone.to_string();
                git(dir.path(), &[&init[..], &[&name]].concat()).unwrap();
                let root = dir.path().join(&name);
                git(&root, &keep_packs).unwrap();
                git(&root, &["remote", "add", "origin", "../remote"]).unwrap();
                fs::write(root.join("a.txt"), "of the user\n").unwrap();
                git(&root, &["add", "a.txt"]).unwrap();
                git(&root, &["commit", "--quiet", "-m", "of the user"]).unwrap();
            }
            dir
        });
        let dir = tempfile::tempdir().unwrap();
        copy(template.path(), dir.path());
        Team { dir, clock: Clock::fixed("2026-11-25T10:00:00Z".parse::<Timestamp>().unwrap()) }
    }

    fn root(&self, clone: usize) -> PathBuf {
        self.dir.path().join(clone.to_string())
    }

    fn journal(&self, clone: usize) -> Journal {
        let author = settings(&format!("Author {clone}"), &format!("{clone}@example.com"));
        let state = self.dir.path().join(format!("state{clone}"));
        Journal::new(&self.root(clone).join(".git"), &state, author, self.clock.clone())
    }

    fn tip(&self, clone: usize, reference: &str) -> Option<ObjectId> {
        let chain = CommitChain::open(&self.root(clone).join(".git"), reference);
        chain.unwrap().tip().unwrap()
    }

    /// Takes in what the remote has. Returns the sections with two overviews since.
    fn fetch(&self, clone: usize) -> Vec<PagePath> {
        let spec = format!("+{REFERENCE}:{REMOTE}");
        if git(&self.root(clone), &["fetch", "--quiet", "--no-tags", "origin", &spec]).is_err() {
            return Vec::new();
        }
        let tip = self.tip(clone, REMOTE).unwrap();
        self.journal(clone).merge(tip, "origin").unwrap().conflicts
    }

    fn push(&self, clone: usize) -> bool {
        let spec = format!("{REFERENCE}:{REFERENCE}");
        git(&self.root(clone), &["push", "--quiet", "origin", &spec]).is_ok()
    }

    /// What a writer leaves that is killed between its objects and the ref: a commit that nothing reaches, and perhaps the
    /// lock of the ref, which is older than any writer that lives.
    fn kill_a_writer(&self, clone: usize, with_lock: bool) {
        let git_dir = self.root(clone).join(".git");
        let chain = CommitChain::open(&git_dir, REFERENCE).unwrap();
        let who = Signature {
            name: "Killed".to_owned(),
            email: "killed@example.com".to_owned(),
            seconds: self.clock.now().as_second(),
            offset: 0,
        };
        let message = "work_context: x\n\nlost\n\nSection: a\n";
        let tip = chain.tip().unwrap();
        chain.write(tip, &[("a.md", Some("lost\n"))], (&who, &who), message).unwrap();
        if with_lock {
            let lock = git_dir.join(format!("{REFERENCE}.lock"));
            fs::create_dir_all(lock.parent().unwrap()).unwrap();
            let file = fs::File::create(lock).unwrap();
            file.set_modified(SystemTime::from(self.clock.now()) - Duration::from_secs(60)).unwrap();
        }
    }

    /// The user's branch, index and files, byte for byte.
    fn of_user(&self, clone: usize) -> Vec<Vec<u8>> {
        let root = self.root(clone);
        let head = fs::read_to_string(root.join(".git/HEAD")).unwrap();
        let branch = self.tip(clone, head.trim().strip_prefix("ref: ").unwrap());
        let files = [".git/HEAD", ".git/index", "a.txt"].map(|file| fs::read(root.join(file)).unwrap());
        let names = fs::read_dir(&root).unwrap().count();
        [vec![format!("{branch:?} {names}").into_bytes()], files.to_vec()].concat()
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn overviews_of_both_sides_are_kept_until_one_is_written() {
    let team = Team::new();
    let (one, two) = (team.journal(0), team.journal(1));
    let set = |journal: &Journal, overview: &str| {
        let version = journal.section(&section("area")).unwrap().version;
        let draft = Draft { overview: Some(overview.to_owned()), ..draft(&format!("now {overview}")) };
        journal.write(&section("area"), &draft, Some(version)).unwrap()
    };
    set(&one, "common");
    team.push(0);
    team.fetch(1);
    let old = set(&one, "of one");
    let other = set(&two, "of two");
    assert!(team.push(1) && !team.push(0), "the second push is no fast-forward");
    assert_eq!(team.fetch(0), [section("area")]);
    let read = one.section(&section("area")).unwrap();
    assert_eq!((&*read.overview, read.entry_count), ("of two", 3));
    let conflict = read.conflict.unwrap();
    assert_eq!((&*conflict.other, conflict.base.as_deref()), ("of one", Some("common")));
    for id in [&old.id, &other.id] {
        assert!(one.entry(&EntryRef::parse(id).unwrap()).is_ok(), "{id}");
    }
    assert!(team.push(0));
    team.fetch(1);
    assert_eq!(two.section(&section("area")).unwrap(), one.section(&section("area")).unwrap());
    write(&one, "area", "only an entry");
    assert!(one.section(&section("area")).unwrap().conflict.is_some());
    set(&one, "of both");
    let read = one.section(&section("area")).unwrap();
    assert_eq!((&*read.overview, read.conflict, read.entry_count), ("of both", None, 5));
    // Meanwhile the other side writes: what was settled stays settled.
    write(&two, "area", "another entry");
    assert!(team.push(1));
    assert_eq!(team.fetch(0), []);
    let read = one.section(&section("area")).unwrap();
    assert_eq!((&*read.overview, read.conflict, read.entry_count), ("of both", None, 6));
}

/// The totals of all histories.
#[derive(Debug, Default)]
struct Totals {
    histories: usize,
    entries: usize,
    syncs: usize,
    conflicts: usize,
    kills: usize,
    collections: usize,
    rewinds: usize,
}

/// Random work of several clones: no entry that was acknowledged is lost, and every name that was given resolves.
#[test]
fn no_entry_is_lost_in_random_histories_of_clones() {
    let rounds = std::env::var("MUNINN_JOURNAL_ROUNDS").ok();
    let rounds = rounds.and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS);
    std::thread::scope(|scope| {
        scope.spawn(|| histories((0..rounds).step_by(2)));
        scope.spawn(|| histories((1..rounds).step_by(2)));
    });
}

fn histories(seeds: impl Iterator<Item = u64>) {
    let mut totals = Totals::default();
    for seed in seeds {
        history(seed, &mut totals);
        totals.histories += 1;
    }
    println!("{totals:?}");
    let Totals { entries, syncs, conflicts, kills, collections, rewinds, .. } = totals;
    assert!([entries, syncs, conflicts, kills, collections, rewinds].iter().all(|count| *count > 0));
}

fn history(seed: u64, totals: &mut Totals) {
    let mut random = fastrand::Rng::with_seed(seed);
    let team = Team::new();
    let users: Vec<_> = (0..CLONES).map(|clone| team.of_user(clone)).collect();
    let mut given: Vec<Vec<String>> = vec![Vec::new(); CLONES];
    for step in 0..24 {
        let clone = random.usize(..CLONES);
        team.clock.advance(Duration::from_secs(random.u64(..1_000)));
        let journal = team.journal(clone);
        match random.u8(..16) {
            0..10 => {
                let path = section(["a", "b/c", "b/d"][random.usize(..3)]);
                let draft = Draft {
                    overview: random.bool().then(|| format!("overview {step} of {clone}")),
                    ..draft(&format!("entry {step} of {clone}"))
                };
                let version = journal.section(&path).unwrap().version;
                given[clone].push(journal.write(&path, &draft, Some(version)).unwrap().id);
                totals.entries += 1;
            }
            10 => {
                totals.conflicts += team.fetch(clone).len();
                totals.syncs += usize::from(team.push(clone));
            }
            // Killed before its push.
            11 => totals.conflicts += team.fetch(clone).len(),
            12..14 => {
                team.kill_a_writer(clone, random.bool());
                totals.kills += 1;
            }
            14 if random.u8(..4) == 0 => {
                git(&team.root(clone), &["gc", "--quiet", "--prune=now"]).unwrap();
                totals.collections += 1;
            }
            // Somebody rewinds the remote.
            _ => {
                let back = ["update-ref", REFERENCE, &format!("{REFERENCE}~1")];
                totals.rewinds += usize::from(git(&team.dir.path().join("remote"), &back).is_ok());
            }
        }
    }
    for (clone, given) in given.iter_mut().enumerate() {
        // A lock that a killed writer left goes with the next write.
        let journal = team.journal(clone);
        if journal.tip().unwrap().is_some() {
            given.push(write(&journal, "a", "the last one").id);
            totals.entries += 1;
        }
        totals.conflicts += team.fetch(clone).len();
        if journal.tip().unwrap().is_some() {
            assert!(team.push(clone), "seed {seed}");
            totals.syncs += 1;
        }
    }
    (0..CLONES - 1).for_each(|clone| drop(team.fetch(clone)));
    let all: usize = given.iter().map(Vec::len).sum();
    let journal = team.journal(0);
    let mut counted = 0;
    let nodes = journal.toc(None, 9).unwrap();
    for node in nodes.iter().flat_map(|node| std::iter::once(node).chain(&node.subsections)) {
        if node.kind == "section" {
            let read = journal.section(&section(&node.id)).unwrap();
            assert_eq!(read.entry_count, node.entry_count, "seed {seed}: the count is that of the commits");
            counted += usize::try_from(node.entry_count).unwrap();
        }
    }
    assert_eq!(counted, all, "seed {seed}: no entry is lost, and none is there twice");
    for (clone, ids) in given.iter().enumerate() {
        let journal = team.journal(clone);
        for id in ids {
            let entry = journal.entry(&EntryRef::parse(id).unwrap());
            assert!(entry.is_ok(), "seed {seed}, clone {clone}: {id} {entry:?}");
        }
        assert_eq!(team.of_user(clone), users[clone], "seed {seed}, clone {clone}");
    }
}
