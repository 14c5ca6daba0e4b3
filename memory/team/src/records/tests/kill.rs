//! Processes that are killed while they append and flush.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use muninn_base::{Clock, Until};

use super::finished::old_folder;
use super::{SpoolFixture, all, record};
use crate::records::{Durability, Home, Segments, Spool};

/// Environment variable of writer processes: the directory.
const WRITER: &str = "MUNINN_TEST_WRITER";
const WRITERS: usize = 4;
const KILLS: usize = 200;
/// Number of legacy folders per round of writers.
const OLD_FOLDERS: usize = 20;

/// Appends until it is killed, and prints acknowledged records. Not a test of its own.
#[test]
fn writer() {
    let Some(dir) = std::env::var_os(WRITER) else { return };
    let spool = Spool::at(std::path::Path::new(&dir).join("spool"), Durability::Segment, Clock::system());
    let segments = Segments::of(&Home::Directory(std::path::Path::new(&dir).join("home"))).unwrap();
    let mut stdout = std::io::stdout();
    let until = Until::within(Duration::from_secs(3600));
    for number in 0.. {
        let records = [record("one"), record("the other")];
        // One shared session, and one per process.
        let client = ["shared".to_owned(), std::process::id().to_string()][number % 2].clone();
        let mark = format!("{}-{number}", std::process::id());
        spool.append(&client, Some("main"), Some(&mark), &records).unwrap();
        for record in &records {
            writeln!(stdout, "+{}", record.id).unwrap();
        }
        if number % 5 == 1 {
            spool.compact(&until).unwrap();
        }
        if number % 7 == 3 {
            spool.flush(&segments, |_| true).unwrap();
        }
    }
}

struct Writer {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Writer {
    fn start(fixture: &SpoolFixture) -> Writer {
        let (_, module) = module_path!().split_once("::").unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("{module}::writer"), "--nocapture", "--test-threads=1"])
            .env(WRITER, fixture.dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Writer { child, said }
    }

    /// The next acknowledged record; `None` once the process is gone. A partial line does not count.
    fn acknowledged(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.said.read_line(&mut line).unwrap() == 0 || !line.ends_with('\n') {
                return None;
            }
            // The test harness writes on the same line before the first record.
            if let Some((_, id)) = line.trim_end().rsplit_once('+') {
                return Some(id.to_owned());
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn acknowledged_records_survive_kills() {
    let fixture = SpoolFixture::new();
    let mut acknowledged = HashSet::new();
    let mut old = 0..;
    let mut marked = HashSet::new();
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let mut killed = 0;
    while killed < KILLS {
        // Legacy folders, which the writers migrate; their records count as acknowledged.
        for number in old.by_ref().take(OLD_FOLDERS) {
            let (waits, client) = (record("old"), format!("old {number}"));
            let live = format!("{}\n", waits.line());
            let files = [("live-0123456789abcdef.jsonl", live.as_str()), ("marks", "old turn\n")];
            old_folder(&fixture, &client, &format!("01OLD{number}"), 1, &files);
            acknowledged.insert(waits.id);
            marked.insert(client);
        }
        let mut writers: Vec<Writer> = (0..WRITERS).map(|_| Writer::start(&fixture)).collect();
        for writer in &mut writers {
            for _ in 0..=next(12) {
                acknowledged.insert(writer.acknowledged().unwrap());
            }
            // A random delay, so that the kill hits between two writes or in one.
            for _ in 0..next(20_000) {
                std::hint::spin_loop();
            }
            writer.child.kill().unwrap();
            killed += 1;
        }
        for writer in &mut writers {
            acknowledged.extend(std::iter::from_fn(|| writer.acknowledged()));
        }
    }
    assert!(fixture.spool().compact(&Until::within(Duration::from_secs(3600))).unwrap());
    fixture.spool().flush(&fixture.segments(), |_| true).unwrap();
    let unmarked: Vec<_> =
        marked.iter().filter(|client| fixture.spool().marks(client).unwrap() != ["old turn"]).collect();
    assert!(unmarked.is_empty(), "{unmarked:?}");
    let mut found = HashSet::new();
    let mut torn = 0;
    for (name, text) in fixture.written().into_iter().filter(|(name, _)| !name.ends_with(".tmp")) {
        let (records, aside) = all(text.as_bytes());
        assert!(aside.is_empty(), "{name}: {aside:?}");
        found.extend(records.into_iter().map(|record| record.id));
    }
    for aside in fixture.spool().set_aside().unwrap() {
        torn += all(&fs::read(aside).unwrap()).1.len();
    }
    let lost: Vec<_> = acknowledged.difference(&found).collect();
    println!(
        "{killed} kills, {} records acknowledged, {} found, {torn} torn lines set aside",
        acknowledged.len(),
        found.len()
    );
    assert!(lost.is_empty(), "{} lost: {lost:?}", lost.len());
    assert!(fixture.spool().waiting().unwrap().is_empty());
}
