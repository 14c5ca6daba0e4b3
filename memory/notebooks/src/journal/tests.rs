//! The journal in real repositories.

use std::collections::BTreeSet;
use std::thread;

use jiff::Timestamp;
use muninn_base::clock::Clock;
use muninn_team::fixture::Fixture;
use muninn_tests::git;

use crate::journal::{
    Draft, EntryRef, Journal, JournalError, JournalSettings, ListedEntry, SearchSettings, TocNode, Version, Written,
};
use crate::wiki::PagePath;

struct Repo {
    fixture: Fixture,
    state: tempfile::TempDir,
    clock: Clock,
}

fn settings(name: &str, address: &str) -> JournalSettings {
    JournalSettings { author: (name.to_owned(), address.to_owned()), strict: false }
}

impl Repo {
    fn new() -> Repo {
        let repo = Repo {
            fixture: Fixture::with(&[("a.txt", "x\n")]),
            state: tempfile::tempdir().unwrap(),
            clock: Clock::fixed("2026-11-25T10:00:00Z".parse::<Timestamp>().unwrap()),
        };
        repo.fixture.commit();
        repo
    }

    fn journal(&self) -> Journal {
        self.journal_with(settings("Ann", "ann@example.com"))
    }

    fn journal_with(&self, settings: JournalSettings) -> Journal {
        let git_dir = self.fixture.path(".git");
        Journal::new(&git_dir, self.state.path(), settings, self.clock.clone())
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.fixture.git(arguments)
    }

    /// What the user sees of the repository.
    fn of_user(&self) -> [String; 3] {
        let index = std::fs::read(self.fixture.path(".git/index")).unwrap();
        [
            self.git(&["status", "--porcelain"]),
            self.git(&["for-each-ref", "refs/heads", "refs/tags", "refs/remotes"]),
            blake3::hash(&index).to_string(),
        ]
    }
}

fn section(path: &str) -> PagePath {
    PagePath::new(path).unwrap()
}

fn draft(text: &str) -> Draft {
    Draft { text: text.to_owned(), ..Draft::default() }
}

/// Reads a section, and writes an entry to it.
fn write(journal: &Journal, path: &str, text: &str) -> Written {
    let version = journal.section(&section(path)).unwrap().version;
    journal.write(&section(path), &draft(text), Some(version)).unwrap()
}

fn names(listed: &[ListedEntry]) -> Vec<&str> {
    listed.iter().map(|entry| &*entry.summary).collect()
}

#[test]
fn entries_are_commits_on_a_ref_that_the_user_never_sees() {
    let repo = Repo::new();
    let before = repo.of_user();
    let journal = repo.journal();
    let read = journal.section(&section("project/area")).unwrap();
    assert_eq!((read.version, read.entry_count, &*read.overview), (Version::New, 0, ""));
    let first = journal.write(
        &section("project/area"),
        &Draft {
            text: "# Retries\n\nThey double.\n".to_owned(),
            overview: Some("Retries double.\n".to_owned()),
            summary: Some("Retries".to_owned()),
            work_context: Some("debugging".to_owned()),
            session: Some("s-1".to_owned()),
            ..Draft::default()
        },
        Some(read.version),
    );
    let first = first.unwrap();
    repo.clock.advance(std::time::Duration::from_secs(60));
    let second = write(&journal, "project/area", "work_context: looking\nThey are bounded.");
    let read = journal.section(&section("project/area")).unwrap();
    assert_eq!((read.entry_count, &*read.overview), (2, "Retries double."));
    assert_eq!((read.version, read.last_updated.as_deref()), (second.version, Some("2026-11-25T10:01:00Z")));
    let entry = journal.entry(&EntryRef::parse(&first.id).unwrap()).unwrap();
    assert_eq!((&*entry.content, &*entry.work_context), ("# Retries\n\nThey double.", "debugging"));
    assert_eq!((&*entry.author, entry.session.as_deref()), ("Ann", Some("s-1")));
    let entry = journal.entry(&EntryRef::parse(&second.id).unwrap()).unwrap();
    assert_eq!(entry.work_context, "looking");
    let listed = journal.entries(&section("project/area"), 0, 10).unwrap();
    assert_eq!(names(&listed), ["work_context: looking", "Retries"]);
    assert_eq!(names(&journal.entries(&section("project/area"), 1, 10).unwrap()), ["Retries"]);
    assert_eq!(repo.of_user(), before);
    let shown = repo.git(&["show", "refs/muninn/journal:project/area.md"]);
    assert_eq!(shown, "Retries double.\n\n<!-- entry count: 2 -->\n");
    let log = repo.git(&["log", "--format=%an %cn %s", "refs/muninn/journal"]);
    assert_eq!(log, "Ann Muninn work_context: looking\nAnn Muninn Retries\n");
    assert!(!repo.git(&["log", "--all", "--oneline", "--exclude=refs/muninn/*"]).is_empty());
    repo.git(&["fsck", "--strict"]);
}

#[test]
fn section_is_written_only_as_it_was_read() {
    let repo = Repo::new();
    let (one, two) = (repo.journal(), repo.journal());
    let area = section("area");
    let refused = one.write(&area, &draft("x"), None);
    assert!(matches!(refused, Err(JournalError::NotRead(_))));
    let seen = write(&one, "area", "first").version;
    write(&two, "area", "second");
    write(&two, "area", "third");
    write(&two, "other", "elsewhere");
    match one.write(&area, &draft("mine"), Some(seen)) {
        Err(JournalError::Changed { version, entries, .. }) => {
            assert_eq!(names(&entries), ["third", "second"]);
            assert!(one.write(&area, &draft("mine"), Some(version)).is_ok());
        }
        other => panic!("{other:?}"),
    }
    let stale = one.write(&area, &draft("x"), Some(Version::New));
    assert!(matches!(stale, Err(JournalError::Changed { entries, .. }) if entries.len() == 4));
}

#[test]
fn of_many_writers_to_one_section_one_wins_and_others_never_notice() {
    let repo = Repo::new();
    let seen = write(&repo.journal(), "shared", "first").version;
    let won: usize = thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|number| {
                let repo = &repo;
                scope.spawn(move || {
                    let journal = repo.journal();
                    let own = format!("own/s{number}");
                    (0..5).for_each(|step| drop(write(&journal, &own, &format!("step {step}"))));
                    let text = format!("by {number}");
                    usize::from(journal.write(&section("shared"), &draft(&text), Some(seen)).is_ok())
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    assert_eq!(won, 1);
    let journal = repo.journal();
    assert_eq!(journal.section(&section("shared")).unwrap().entry_count, 2);
    for number in 0..8 {
        let own = section(&format!("own/s{number}"));
        assert_eq!(journal.section(&own).unwrap().entry_count, 5);
        assert_eq!(journal.entries(&own, 0, 99).unwrap().len(), 5);
    }
    assert_eq!(repo.git(&["rev-list", "--count", "refs/muninn/journal"]).trim(), "42");
}

#[test]
fn contents_are_a_tree_of_sections_and_folders() {
    let repo = Repo::new();
    let journal = repo.journal();
    assert_eq!(journal.toc(None, 3).unwrap(), []);
    for path in ["b", "a/x/deep", "a/x", "a/x"] {
        write(&journal, path, "text");
    }
    let shown = |nodes: &[TocNode]| -> Vec<String> {
        fn add(nodes: &[TocNode], all: &mut Vec<String>) {
            for node in nodes {
                all.push(format!("{} {} {}", node.kind, node.id, node.entry_count));
                add(&node.subsections, all);
            }
        }
        let mut all = Vec::new();
        add(nodes, &mut all);
        all
    };
    assert_eq!(shown(&journal.toc(None, 1).unwrap()), ["folder a 0", "section b 1"]);
    assert_eq!(
        shown(&journal.toc(None, 9).unwrap()),
        ["folder a 0", "section a/x 2", "section a/x/deep 1", "section b 1"]
    );
    assert_eq!(shown(&journal.toc(Some(&section("a/x")), 2).unwrap()), ["section a/x 2", "section a/x/deep 1"]);
    assert!(matches!(journal.toc(Some(&section("c")), 1), Err(JournalError::NoSection(_))));
    assert!(matches!(journal.entries(&section("a"), 0, 1), Err(JournalError::NoSection(_))));
    let refused = journal.write(&section("A/y"), &draft("x"), Some(Version::New));
    assert!(matches!(refused, Err(JournalError::Case(_))));
    assert!(journal.write(&section("a/y"), &draft("x"), Some(Version::New)).is_ok());
}

#[test]
fn next_process_reads_new_commits_only_and_follows_a_replaced_ref() {
    let repo = Repo::new();
    let journal = repo.journal();
    let count = 205;
    let ids: BTreeSet<String> = (0..count).map(|step| write(&journal, "a", &format!("step {step}")).id).collect();
    assert_eq!(ids.len(), count);
    let read = |journal: &Journal| journal.entries(&section("a"), 0, 999).unwrap();
    assert_eq!(read(&repo.journal()), read(&journal));
    let image = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().ends_with(".idx");
    let images = std::fs::read_dir(repo.state.path()).unwrap().map(Result::unwrap).filter(image);
    assert_eq!(images.count(), 1);
    repo.git(&["update-ref", "refs/muninn/journal", "refs/muninn/journal~5"]);
    assert_eq!(read(&journal).len(), count - 5);
    assert_eq!(read(&repo.journal()).len(), count - 5);
    write(&journal, "a", "on top");
    assert_eq!(read(&repo.journal()).len(), count - 4);
    repo.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(read(&journal).len(), count - 4);
    assert!(ids.iter().filter(|id| journal.entry(&EntryRef::parse(id).unwrap()).is_ok()).count() == count - 5);
}

#[test]
fn bad_input_is_refused_and_secrets_are_removed() {
    let repo = Repo::new();
    let journal = repo.journal();
    let new = Some(Version::New);
    let write_text = |text: &str| journal.write(&section("a"), &draft(text), new);
    assert!(matches!(write_text(&"x".repeat(5 << 20)), Err(JournalError::TooLong { .. })));
    assert!(matches!(write_text("a\0b"), Err(JournalError::Nul { .. })));
    assert!(matches!(write_text(" \n"), Err(JournalError::Empty)));
    assert!(repo.git(&["for-each-ref", "refs/muninn"]).is_empty(), "nothing was written");
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4).split_at(36).0);
    let written = write_text(&format!("the token is {token}")).unwrap();
    assert!(written.redacted);
    let entry = journal.entry(&EntryRef::parse(&written.id).unwrap()).unwrap();
    assert!(!entry.content.contains(&token), "{}", entry.content);
    for name in ["con", "a//b", "../a", ".lock", "a#123", "a#zzzzzzz", "", "a/.git/b"] {
        assert!(EntryRef::parse(name).is_err(), "{name}");
    }
    assert!(EntryRef::parse("HEAD").is_ok());
    let head = repo.git(&["rev-parse", "HEAD"]);
    let foreign = EntryRef::parse(&format!("a#{}", head.trim())).unwrap();
    assert!(matches!(journal.entry(&foreign), Err(JournalError::NoEntry(_))));
}

#[test]
fn ref_that_is_no_journal_is_an_error_or_empty() {
    let repo = Repo::new();
    let blob = repo.git(&["hash-object", "-w", "a.txt"]);
    repo.git(&["update-ref", "refs/muninn/journal", blob.trim()]);
    let error = repo.journal().section(&section("a")).unwrap_err();
    assert!(error.to_string().contains("does not point to a commit"), "{error}");
    repo.git(&["update-ref", "refs/muninn/journal", "HEAD"]);
    assert_eq!(repo.journal().toc(None, 1).unwrap(), []);
    std::fs::write(repo.fixture.path(".git/refs/muninn/journal"), "garbage\n").unwrap();
    assert!(repo.journal().section(&section("a")).is_err());
    let sha256 = tempfile::tempdir().unwrap();
    git(sha256.path(), &["init", "--quiet", "--object-format=sha256"]).unwrap();
    let journal = Journal::new(&sha256.path().join(".git"), repo.state.path(), settings("", ""), repo.clock.clone());
    assert_eq!(journal.section(&section("a")).unwrap().version, Version::New);
}

#[test]
fn strict_journal_needs_that_nothing_was_written_since() {
    let repo = Repo::new();
    let strict = JournalSettings { strict: true, ..settings("Ann", "ann@example.com") };
    let journal = repo.journal_with(strict);
    let seen = journal.section(&section("a")).unwrap().version;
    let first = journal.write(&section("a"), &draft("first"), Some(seen)).unwrap();
    let refused = journal.write(&section("b"), &draft("x"), Some(seen)).unwrap_err();
    let JournalError::Changed { version, entries, .. } = &refused else { panic!("{refused}") };
    assert_eq!((*version, names(entries)), (first.version, vec!["first"]));
    let second = journal.write(&section("b"), &draft("second"), Some(first.version)).unwrap();
    assert_eq!(journal.section(&section("a")).unwrap().version, second.version);
}

#[test]
fn entries_keep_their_order_when_the_clock_jumps() {
    let repo = Repo::new();
    let times = ["2026-11-25T10:00:00Z", "2031-01-01T00:00:00Z", "1969-12-31T00:00:00Z"];
    for (number, time) in times.iter().enumerate() {
        let clock = Clock::fixed(time.parse().unwrap());
        let git_dir = repo.fixture.path(".git");
        let journal = Journal::new(&git_dir, repo.state.path(), settings("Ann", "ann@example.com"), clock);
        write(&journal, "a", &format!("entry {number}"));
    }
    let journal = repo.journal();
    let listed = journal.entries(&section("a"), 0, 9).unwrap();
    assert_eq!(names(&listed), ["entry 2", "entry 1", "entry 0"]);
    let found = journal.search("", "entry 1", None, &SearchSettings::default()).unwrap();
    assert_eq!(&*found[0].content, "entry 1", "the future is no older than now");
}

#[test]
fn lock_of_a_killed_writer_is_removed_when_it_is_old() {
    let repo = Repo::new();
    let journal = repo.journal();
    write(&journal, "a", "first");
    let lock = repo.fixture.path(".git/refs/muninn/journal.lock");
    std::fs::write(&lock, "").unwrap();
    let seen = Some(journal.section(&section("a")).unwrap().version);
    assert!(matches!(journal.write(&section("a"), &draft("x"), seen), Err(JournalError::Chain(_))));
    let old = std::time::SystemTime::from(repo.clock.now()) - std::time::Duration::from_secs(60);
    std::fs::File::options().append(true).open(&lock).unwrap().set_modified(old).unwrap();
    assert!(journal.write(&section("a"), &draft("x"), seen).is_ok());
    assert!(!lock.exists());
}

#[test]
fn search_ranks_both_dimensions_and_asks_more_of_old_entries() {
    let repo = Repo::new();
    let journal = repo.journal();
    let day = std::time::Duration::from_secs(86_400);
    let write = |path: &str, context: &str, text: &str| {
        let version = journal.section(&section(path)).unwrap().version;
        let draft = Draft { work_context: Some(context.to_owned()), ..draft(text) };
        journal.write(&section(path), &draft, Some(version)).unwrap().id
    };
    let old = write("gateway/retries", "debugging the gateway", "The retry loop doubles its wait after a timeout.");
    write("gateway/retries", "debugging the gateway", "Headers are copied in order.");
    repo.clock.advance(day * 800);
    let new = write("billing", "reviewing invoices", "Amounts are integers of cents.");
    let near = write("gateway/errors", "debugging the gateway", "A timeout is mapped to status 504.");
    let settings = SearchSettings::default();
    let search = |context: &str, content: &str, threshold: Option<f32>| -> Vec<String> {
        let found = journal.search(context, content, threshold, &settings).unwrap();
        for found in &found {
            let scores = [found.work_context_score, found.content_score, found.combined_score];
            assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)), "{found:?}");
        }
        found.into_iter().map(|found| found.id).collect()
    };
    // A perfect match is found at any age, and comes first.
    let exact = "The retry loop doubles its wait after a timeout.";
    assert_eq!(search("debugging the gateway", exact, None)[0], old);
    assert_eq!(search("debugging the gateway", exact, Some(1.0)), [&*old]);
    // A partial one is found in a new entry only.
    let found = search("debugging the gateway", "status codes of sockets", None);
    assert!(found.contains(&near) && !found.contains(&old), "{found:?}");
    assert!(search("debugging the gateway", "timeout wait loop", Some(0.0)).len() == 3);
    assert_eq!(search("", "integers of cents", None), [&*new], "one dimension alone");
    assert_eq!(search("reviewing invoices", "", None), [&*new]);
    assert!(search("baking bread", "sourdough needs time", None).is_empty());
    assert!(search("", "", None).is_empty());
    // Another process, and new entries.
    let more = write("billing", "reviewing invoices", "Rounding is half even.");
    assert_eq!(search("reviewing invoices", "rounding half even", None)[0], more);
    let other = repo.journal().search("reviewing invoices", "rounding half even", None, &settings).unwrap();
    assert_eq!(other[0].id, more);
    repo.git(&["update-ref", "refs/muninn/journal", "refs/muninn/journal~1"]);
    assert!(search("reviewing invoices", "rounding half even", None).iter().all(|id| *id != more));
}

#[test]
fn search_covers_names_of_sections_and_overviews() {
    let repo = Repo::new();
    let journal = repo.journal();
    let with_overview = Draft {
        overview: Some("The chrysanthemum policy bounds every queue.\n".to_owned()),
        ..draft("Sensors were calibrated. Filters come next.")
    };
    let version = journal.section(&section("gateway/turbidity")).unwrap().version;
    let first = journal.write(&section("gateway/turbidity"), &with_overview, Some(version)).unwrap().id;
    for number in 0..30 {
        write(&journal, &format!("other/{number}"), &format!("Entry {number} about invoices."));
    }
    let found = |query: &str| -> Vec<String> {
        let found = journal.search("", query, None, &SearchSettings::default()).unwrap();
        found.into_iter().map(|found| found.id).collect()
    };
    for query in ["turbidity", "gateway/turbidity", "chrysanthemum policy", "which policy bounds the queue"] {
        assert_eq!(found(query), [&*first], "{query}");
    }
    // The overview is found with the newest entry, too.
    let second = write(&journal, "gateway/turbidity", "Filters were changed.").id;
    assert!(found("chrysanthemum policy").contains(&second));
    assert_eq!(found("turbidity").len(), 2);
}

#[test]
fn required_score_grows_with_age_and_never_exceeds_a_perfect_match() {
    let settings = SearchSettings::default();
    let of = |days: f64| super::search::required(days, 0.5, &settings);
    assert!(
        (of(0.0) - 0.5).abs() < 1e-6 && (of(30.0) - 0.5f32.powf(0.75)).abs() < 1e-6 && (of(-5.0) - 0.5).abs() < 1e-6
    );
    assert!((of(1e9) - 0.5f32.powf(0.55)).abs() < 1e-6);
    assert!((1..200).all(|days| of(f64::from(days)) >= of(f64::from(days - 1))));
    let none = SearchSettings { half_life_days: 0.0, minimum_salience: 0.0, ..settings };
    assert!(super::search::required(1.0, 0.5, &none) <= 1.0);
}

mod bombs;
mod clones;
mod forgeries;
mod generated;
mod remote;
mod undoing;
