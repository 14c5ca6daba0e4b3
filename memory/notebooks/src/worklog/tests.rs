use std::fs;

use jiff::Timestamp;
use muninn_base::clock::Clock;
use muninn_repo_tools::Worktree;
use muninn_team::fixture::Fixture;
use muninn_team::records::PATTERNS;

use super::*;
use crate::worklog::{Archived, CORRECTIONS, Mutation, MutationKind, SessionHeader, Worklog, WorklogError};

struct Place {
    fixture: Fixture,
    state: tempfile::TempDir,
    clock: Clock,
}

impl Place {
    fn new() -> Place {
        Place {
            fixture: Fixture::with(&[(".muninn/config.toml", ""), ("a.txt", "x\n")]),
            state: tempfile::tempdir().unwrap(),
            clock: Clock::fixed("2026-03-18T09:00:00Z".parse::<Timestamp>().unwrap()),
        }
    }

    fn worklog(&self) -> Worklog {
        let root = self.fixture.path("");
        Worklog::new(&root, self.state.path(), self.clock.clone())
    }

    fn text(&self) -> String {
        fs::read_to_string(self.fixture.path(FILE)).unwrap()
    }
}

fn header(intent: &str) -> SessionHeader {
    SessionHeader {
        intent: intent.to_owned(),
        approach: None,
        agent: Some("claude-code".to_owned()),
        session: Some("s-1".to_owned()),
    }
}

fn mutation(kind: MutationKind) -> Mutation {
    Mutation {
        kind,
        failed_on: "full token swap".to_owned(),
        switching_to: "middleware hook only".to_owned(),
        rationale: "scope too broad to verify".to_owned(),
    }
}

#[test]
fn session_begins_with_a_header_and_lines_follow() {
    let place = Place::new();
    let worklog = place.worklog();
    assert!(worklog.tail(50).unwrap().is_none());
    assert!(matches!(worklog.append("x"), Err(WorklogError::Missing(_))));
    assert!(worklog.begin("auth-overhaul", &header("Replace the JWT with session tokens.")).unwrap());
    worklog.append("Decision: session token, not JWT").unwrap();
    worklog.append("❌ Failed: direct swap\n→ SDK rejects it").unwrap();
    assert!(!worklog.begin("other", &header("")).unwrap(), "the file is there");
    let text = place.text();
    let without_time = text.lines().map(|line| match line.split_once(" — ") {
        Some((head, words)) if head.starts_with("## 2026-03-18 ") => format!("## — {words}"),
        _ => line.to_owned(),
    });
    assert_eq!(
        without_time.collect::<Vec<_>>(),
        [
            "# JOURNAL — auth-overhaul",
            "",
            "## — Replace the JWT with session tokens",
            "Intent: Replace the JWT with session tokens.",
            "Approach: open",
            "Agent: claude-code, session s-1",
            "",
            "Decision: session token, not JWT",
            "❌ Failed: direct swap",
            "→ SDK rejects it",
            "",
            "## — session",
            "Approach: open",
            "Agent: claude-code, session s-1",
            "",
        ]
    );
    let tail = worklog.tail(3).unwrap().unwrap();
    assert_eq!(tail.text, "Approach: open\nAgent: claude-code, session s-1");
}

#[test]
fn long_texts_headings_and_secrets_are_refused_or_removed() {
    let place = Place::new();
    let worklog = place.worklog();
    worklog.begin("t", &header("x")).unwrap();
    let before = place.text();
    for text in ["", " \n ", "one\ntwo\nthree", "# heading", "ok\n## MUTATION: M1 (x)"] {
        assert!(worklog.append(text).is_err(), "{text:?}");
    }
    let long = worklog.append(&"x".repeat(2_000)).unwrap_err().to_string();
    assert!(long.contains("leave the details out"), "{long}");
    let empty = Mutation { rationale: " ".to_owned(), ..mutation(MutationKind::M1) };
    assert!(worklog.mutate(&empty).is_err());
    assert_eq!(place.text(), before);
    let secret = worklog.append("key ghp_0123456789abcdefghijABCDEFGHIJ012345 is old");
    assert!(secret.unwrap().redacted && !place.text().contains("ghp_0123"));
    assert!(!worklog.append("plain").unwrap().redacted);
}

#[test]
fn files_of_other_editors_are_appended_to_and_never_changed() {
    let place = Place::new();
    let worklog = place.worklog();
    for (before, after) in [
        ("a\r\nb\r\n", "a\r\nb\r\nnew\r\n"),
        ("a\r\nb", "a\r\nb\r\nnew\r\n"),
        ("a\nb", "a\nb\nnew\n"),
        ("", "new\n"),
        ("<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\nnew\n"),
    ] {
        fs::write(place.fixture.path(FILE), before).unwrap();
        worklog.append("new").unwrap();
        assert_eq!(place.text(), after);
    }
    assert!(worklog.tail(50).unwrap().unwrap().has_conflict_markers);
    assert!(!worklog.tail(1).unwrap().unwrap().has_conflict_markers);
    let large = "0123456789abcdef\n".repeat(50 << 16);
    fs::write(place.fixture.path(FILE), &large).unwrap();
    worklog.append("last").unwrap();
    let tail = worklog.tail(50).unwrap().unwrap().text;
    assert!(tail.ends_with("0123456789abcdef\nlast") && tail.lines().count() == 50);
    assert_eq!(fs::metadata(place.fixture.path(FILE)).unwrap().len(), large.len() as u64 + 5);
    fs::write(place.fixture.path(FILE), "x".repeat(1 << 20)).unwrap();
    assert!(worklog.tail(50).unwrap().unwrap().text.len() <= 64 << 10);
    assert!(worklog.parsed().is_ok());
}

#[cfg(unix)]
#[test]
fn links_and_directories_are_refused() {
    let place = Place::new();
    let worklog = place.worklog();
    std::os::unix::fs::symlink(place.fixture.path("a.txt"), place.fixture.path(FILE)).unwrap();
    assert!(matches!(worklog.append("x"), Err(WorklogError::NotAFile(_))));
    assert!(matches!(worklog.begin("t", &header("x")), Err(WorklogError::NotAFile(_))));
    assert!(worklog.tail(5).is_err() && worklog.parsed().is_err());
    assert_eq!(fs::read_to_string(place.fixture.path("a.txt")).unwrap(), "x\n");
    fs::remove_file(place.fixture.path(FILE)).unwrap();
    fs::create_dir(place.fixture.path(FILE)).unwrap();
    assert!(worklog.append("x").is_err());
}

#[test]
fn lines_of_many_writers_are_all_there_and_whole() {
    let place = Place::new();
    place.worklog().begin("t", &header("x")).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let worklog = place.worklog();
            scope.spawn(move || {
                for number in 0..25 {
                    worklog.append(&format!("line {number} of {writer}\n→ second {number} of {writer}")).unwrap();
                }
            });
        }
        // An editor that appends, without the lock.
        scope.spawn(|| {
            use std::io::Write as _;
            for number in 0..25 {
                let mut file = fs::OpenOptions::new().append(true).open(place.fixture.path(FILE)).unwrap();
                file.write_all(format!("person {number}\n").as_bytes()).unwrap();
            }
        });
    });
    let text = place.text();
    for writer in 0..4 {
        for number in 0..25 {
            assert!(text.contains(&format!("line {number} of {writer}\n→ second {number} of {writer}\n")));
        }
    }
    assert_eq!(text.matches("person ").count(), 25);
}

#[test]
fn content_is_read_from_the_lines() {
    let place = Place::new();
    let worklog = place.worklog();
    worklog.begin("auth", &header("x")).unwrap();
    worklog.append("❌ Failed: `cargo test`").unwrap();
    worklog.append("- Failed: by hand").unwrap();
    worklog.append("GOSSIP: the port is 8080").unwrap();
    worklog.append("I wish I had a tool for diffing schemas.").unwrap();
    worklog.mutate(&mutation(MutationKind::M5)).unwrap();
    worklog.append("✅ Worked after M5: `cargo test`").unwrap();
    worklog.mutate(&mutation(MutationKind::M2)).unwrap();
    let parsed = worklog.parsed().unwrap();
    assert_eq!((parsed.task.as_deref(), &*parsed.sessions), (Some("auth"), &["s-1".to_owned()][..]));
    assert_eq!(parsed.failures, ["`cargo test`", "by hand"]);
    assert_eq!(parsed.gossip, ["the port is 8080"]);
    assert_eq!(parsed.wishes, ["diffing schemas"]);
    let worked: Vec<_> = parsed.mutations.iter().map(|found| found.worked.as_deref()).collect();
    assert_eq!(worked, [Some("`cargo test`"), None]);
    assert_eq!(parsed.mutations[0].mutation, mutation(MutationKind::M5));
    assert!(place.text().contains(
        "\n## MUTATION: M5 (Reduce Scope)\nFailed 3x on: full token swap\nSwitching to: middleware hook only\nRationale: scope too broad to verify\n"
    ));
}

#[test]
fn archive_keeps_a_copy_and_what_was_learned() {
    let place = Place::new();
    let worklog = place.worklog();
    let worktree = Worktree::discover(&place.fixture.path("")).unwrap();
    worklog.begin("auth/Overhaul", &header("x")).unwrap();
    for _ in 0..2 {
        worklog.append("❌ Failed: `cargo test`").unwrap();
    }
    worklog.append("❌ Failed: once").unwrap();
    worklog.mutate(&mutation(MutationKind::M5)).unwrap();
    worklog.append("✅ Worked after M5: `cargo test`").unwrap();
    worklog.mutate(&mutation(MutationKind::M2)).unwrap();
    let text = place.text();
    let kept = worklog.archive(&worktree, None, true).unwrap();
    assert_eq!(
        kept,
        Archived {
            copy: ".muninn/journals/2026-03-18-auth-overhaul.md".to_owned(),
            corrections: 3,
            patterns: 1,
            removed: false
        }
    );
    let again = worklog.archive(&worktree, None, false).unwrap();
    assert_eq!((again.corrections, again.patterns, again.removed), (0, 0, true));
    assert!(!worklog.exists());
    let read = |path: &str| fs::read_to_string(place.fixture.path(path)).unwrap();
    assert_eq!(read(&kept.copy), text);
    let corrections = read(CORRECTIONS);
    assert!(
        corrections.contains("- M5 (Reduce Scope): failed on full token swap;")
            && corrections.contains("- Failed 2 times: `cargo test`"),
        "{corrections}"
    );
    assert!(!corrections.contains("once"));
    assert!(read(".muninn/.gitattributes").contains("journals/patterns.jsonl merge=union\n"));
    let patterns = read(PATTERNS);
    assert!(patterns.contains("\"type\":\"pattern\"") && patterns.lines().count() == 1, "{patterns}");
    assert!(matches!(worklog.archive(&worktree, None, false), Err(WorklogError::Missing(_))));
    worklog.begin("auth/Overhaul", &header("y")).unwrap();
    let second = worklog.archive(&worktree, None, false).unwrap();
    assert_eq!(second.copy, ".muninn/journals/2026-03-18-auth-overhaul-2.md");
}

#[test]
fn kinds_have_names_that_are_read_back() {
    for kind in MutationKind::ALL {
        assert_eq!(kind.to_string().to_lowercase().parse(), Ok(kind));
        assert_eq!(kind.words().parse(), Ok(kind));
    }
    let error = "M8".parse::<MutationKind>().unwrap_err().to_string();
    assert!(error.contains("M5 Reduce Scope"), "{error}");
}
