//! A repository that changes, a gateway in front of it, and clients that ask.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use muninn_tests::answers::ok;
use muninn_tests::{Gateway, TestEnv, Upstream, wait_until};
use parking_lot::Mutex;
use serde_json::json;

use crate::MUNINN;
use crate::spans::inserted;

/// How many clients ask while things change.
const CLIENTS: usize = 3;

/// Rust that answers [`question`] about `animal`, beginning `shift` lines further down. `mark` tells it from others.
pub(super) fn code(animal: &str, mark: &str, shift: usize) -> String {
    let below = "// A line that moves the rest.\n".repeat(shift);
    format!(
        "{below}\n/// Paints every {animal}.\npub struct {animal}Painter {{\n    stripes: u32,\n}}\n\nimpl {animal}Painter {{\n    \
         /// Lets the {animal}Painter paint the stripes of a {animal}.\n    pub fn paint_stripes(&mut self) {{\n        \
         let stripes_{mark} = {shift};\n        self.stripes += stripes_{mark};\n    }}\n}}\n"
    )
}

pub(super) fn question(animal: &str) -> String {
    format!("How does the {animal}Painter paint the stripes of a {animal}?")
}

/// What a block holds of one place in one file.
#[derive(Debug)]
struct Item {
    path: String,
    first: usize,
    last: usize,
    /// The beginning of the blob's id.
    blob: String,
    text: String,
}

/// A file as it was, is or will be.
struct Version {
    blob: String,
    text: String,
}

pub(super) struct World {
    pub(super) env: TestEnv,
    pub(super) root: PathBuf,
    gateway: Gateway,
    _upstream: Upstream,
    /// What arrived at the backend, by the number in the request.
    arrived: Arc<Mutex<HashMap<u64, Vec<u8>>>>,
    asked: AtomicU64,
    /// By path, of all worktrees.
    versions: Mutex<HashMap<String, Vec<Version>>>,
}

impl World {
    /// A repository with these files, committed and indexed. Other worktrees may be in [`World::folder`].
    pub(super) fn new(files: &[(&str, &str)]) -> World {
        let arrived = Arc::new(Mutex::new(HashMap::new()));
        let upstream = Upstream::start_with({
            let arrived = Arc::clone(&arrived);
            move |request| {
                if let Some(number) = number_in(&request.body) {
                    arrived.lock().insert(number, request.body.clone());
                }
                ok(request)
            }
        });
        let env = TestEnv::new(MUNINN);
        let root = env.repository("demo", files);
        let folder = folder(&env);
        env.write_config(&format!(
            "roots = [{folder:?}]\n{}[context]\ndeadline_ms = 20000\n",
            upstream.backend("mock")
        ));
        let gateway = env.serve(&root, &[]);
        gateway.wait_ready();
        let world = World {
            env,
            root,
            gateway,
            _upstream: upstream,
            arrived,
            asked: AtomicU64::new(0),
            versions: Mutex::default(),
        };
        files.iter().for_each(|(path, text)| world.learn(path, text));
        world
    }

    /// Where other worktrees may be.
    pub(super) fn folder(&self) -> PathBuf {
        folder(&self.env)
    }

    pub(super) fn git(&self, arguments: &[&str]) {
        self.env.git(&self.root, arguments);
    }

    /// Registers a text that a file may hold later, without writing it.
    pub(super) fn learn(&self, path: &str, text: &str) {
        let mut versions = self.versions.lock();
        let scratch = self.env.path("scratch");
        std::fs::write(&scratch, text).unwrap();
        let blob = self.blob(&scratch);
        let text = text.to_owned();
        versions.entry(path.to_owned()).or_default().push(Version { blob, text });
    }

    fn blob(&self, file: &Path) -> String {
        let arguments = ["hash-object", "--no-filters", file.to_str().unwrap()];
        self.env.git(&self.root, &arguments).trim().to_owned()
    }

    /// Writes a file in place.
    pub(super) fn write(&self, path: &str, text: &str) {
        self.write_in(&self.root, path, text);
    }

    pub(super) fn write_in(&self, place: &Path, path: &str, text: &str) {
        self.learn(path, text);
        let file = place.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    /// Writes a file as many editors do: another one beside it, which then takes its place.
    pub(super) fn save(&self, path: &str, text: &str) {
        let temporary = format!("{path}.tmp");
        self.write(&temporary, text);
        self.learn(path, text);
        self.rename(&temporary, path);
    }

    pub(super) fn rename(&self, from: &str, to: &str) {
        let to = self.root.join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::rename(self.root.join(from), to).unwrap();
    }

    /// Asks about an animal, and expects these files with these words in them, sorted, and no others.
    pub(super) fn expect(&self, animal: &str, expected: &[&str]) {
        self.expect_in(&self.root, animal, expected);
    }

    pub(super) fn expect_in(&self, place: &Path, animal: &str, expected: &[&str]) {
        assert_eq!(self.found_in(place, animal), expected, "about the {animal}");
    }

    /// The files that a question about an animal brings, each with its mark. All must be as the disk has them now.
    pub(super) fn found(&self, animal: &str) -> Vec<String> {
        self.found_in(&self.root, animal)
    }

    pub(super) fn found_in(&self, place: &Path, animal: &str) -> Vec<String> {
        let items = self.ask(place, animal);
        for item in &items {
            let file = place.join(&item.path);
            let now = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{error}: {item:?}"));
            assert!(item.is_in(&now) && self.blob(&file).starts_with(&item.blob), "{item:?}\nis not in\n{now}");
        }
        let mut found: BTreeMap<&str, Option<&str>> = BTreeMap::new();
        for item in items.iter().filter(|item| item.text.contains(&format!("{animal}Painter"))) {
            let mark = found.entry(&item.path).or_default();
            *mark = mark.or(item.mark());
        }
        let line = |(path, mark): (&str, Option<&str>)| mark.map_or(path.to_owned(), |mark| format!("{path}: {mark}"));
        found.into_iter().map(line).collect()
    }

    /// Asks in a session of its own, so that nothing is replayed, and checks that what came was on the disk at some time.
    fn ask(&self, place: &Path, animal: &str) -> Vec<Item> {
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        let messages = json!([{"role": "user", "content": question(animal)}]);
        let body = json!({"model": "m", "seed": number, "messages": messages}).to_string();
        let session = format!("session-{number}");
        let headers = [("x-session-id", session.as_str()), ("x-muninn-repo", place.to_str().unwrap())];
        let response = self.gateway.post("/v1/chat/completions", &headers, body.as_bytes());
        assert_eq!(response.status, 200, "{}", response.text());
        let arrived = self.arrived.lock().remove(&number);
        let block = inserted(body.as_bytes(), &arrived.expect("the backend was asked")).concat();
        let items = items(&block);
        let versions = self.versions.lock();
        for item in &items {
            let known = versions.get(&item.path).map_or(&[][..], Vec::as_slice);
            let same = |version: &Version| version.blob.starts_with(&item.blob) && item.is_in(&version.text);
            assert!(known.iter().any(same), "never on the disk: {item:?}");
        }
        items
    }

    /// Runs `change` while several clients ask about `animals`, and some answers have come before, during and after it.
    pub(super) fn while_others_ask(&self, animals: &[&str], change: impl FnOnce()) {
        let (over, answers) = (AtomicBool::new(false), AtomicUsize::new(0));
        let more = |what| {
            let before = answers.load(Ordering::SeqCst);
            wait_until(what, || {
                let enough = answers.load(Ordering::SeqCst) >= before + 2 * CLIENTS;
                (enough || over.load(Ordering::SeqCst)).then_some(())
            });
        };
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (over, answers) = (&over, &answers);
                scope.spawn(move || {
                    let _ending = Ending(over);
                    for animal in animals.iter().cycle().skip(client) {
                        if over.load(Ordering::SeqCst) {
                            break;
                        }
                        self.ask(&self.root, animal);
                        answers.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            // The clients must stop even if a check fails.
            let _ending = Ending(&over);
            more("answers before the change");
            change();
            more("answers after the change");
            assert!(!over.load(Ordering::SeqCst), "a client gave up");
        });
    }
}

struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Item {
    /// Whether these are lines of a text.
    fn is_in(&self, text: &str) -> bool {
        let lines: Vec<_> = text.lines().collect();
        let span = lines.get(self.first.saturating_sub(1)..self.last);
        span.is_some_and(|span| span.join("\n").trim_end() == self.text.trim_end())
    }

    /// The mark of [`code`], if it is in it.
    fn mark(&self) -> Option<&str> {
        let mark = self.text.split_whitespace().find(|word| word.starts_with("stripes_"));
        mark.map(|mark| mark.trim_end_matches(';'))
    }
}

/// Takes a block apart: headings `## path:first-last @blob`, each with a code block.
fn items(block: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let mut lines = block.lines();
    while let Some(line) = lines.next() {
        let Some(heading) = line.strip_prefix("## ") else {
            continue;
        };
        let item = (|| {
            let (source, blob) = heading.split_once(" @")?;
            let (path, span) = source.rsplit_once(':')?;
            let (first, last) = span.split_once('-')?;
            let fence: String = lines.next()?.chars().take_while(|c| *c == '`').collect();
            let text: Vec<_> = lines.by_ref().take_while(|line| *line != fence).collect();
            Some(Item {
                path: path.to_owned(),
                first: first.parse().ok()?,
                last: last.parse().ok()?,
                blob: blob.to_owned(),
                text: text.join("\n"),
            })
        })();
        items.push(item.unwrap_or_else(|| panic!("a heading of another kind: {heading}\n{block}")));
    }
    items
}

fn number_in(body: &[u8]) -> Option<u64> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    body["seed"].as_u64()
}

fn folder(env: &TestEnv) -> PathBuf {
    env.path("repositories").canonicalize().unwrap()
}
