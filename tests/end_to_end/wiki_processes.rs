//! Three people change one wiki at once, with processes that are killed, and git checks out branches in between: no page
//! is lost, and links and backlinks are those of the files.
//!
//! `MUNINN_WIKI_ROUNDS` sets the number of rounds, for long runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use fastrand::Rng;
use muninn_tests::TestEnv;
use serde_json::Value;

use crate::MUNINN;
use crate::stage::FILES;

const ROUNDS: u64 = 4;
const PEOPLE: u64 = 3;
const STEPS: usize = 5;
const FOLDERS: [&str; 4] = ["", "a/", "a/deep/", "Größe/"];

struct Shared {
    env: TestEnv,
    root: PathBuf,
    /// The number of the last page name and mark.
    last: AtomicU32,
}

/// The numbers of what was done.
#[derive(Default, Debug)]
struct Totals {
    done: u32,
    refused: u32,
    killed: u32,
}

impl Shared {
    fn new() -> Shared {
        let env = TestEnv::new(MUNINN);
        let root = env.repository("demo", &FILES);
        std::fs::create_dir_all(root.join(".muninn/knowledge")).unwrap();
        Shared { env, root, last: AtomicU32::new(0) }
    }

    fn wiki(&self) -> PathBuf {
        self.root.join(".muninn/knowledge")
    }

    fn next(&self) -> u32 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.env.run(&self.root, &[&["wiki"], arguments, &["--json"]].concat());
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Runs a command to its end, or kills it as soon as it has written the journal of a move. Returns whether it was
    /// done; `None` if it was killed.
    fn run(&self, arguments: &[&str], is_killed: bool) -> Option<bool> {
        let mut command = self.env.muninn();
        command.arg("wiki").args(arguments).arg("--root").arg(&self.root);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while is_killed && child.try_wait().unwrap().is_none() {
            if self.journal().is_some_and(|journal| journal.exists()) {
                child.kill().unwrap();
                child.wait().unwrap();
                return None;
            }
            thread::yield_now();
        }
        Some(child.wait().unwrap().success())
    }

    fn journal(&self) -> Option<PathBuf> {
        let mut states = std::fs::read_dir(self.env.state_dir().join("wiki")).ok()?;
        Some(states.next()?.ok()?.path().join("move.json"))
    }

    /// The texts of all pages by path, as the files are.
    fn files(&self) -> BTreeMap<String, String> {
        texts(&self.wiki())
    }

    /// One person's random changes. Returns the marks of the created pages.
    fn change(&self, seed: u64, totals: &mut Totals) -> Vec<String> {
        let mut random = Rng::with_seed(seed);
        let mut marks = Vec::new();
        for _ in 0..STEPS {
            let pages: Vec<String> = self.files().into_keys().collect();
            let page = random.choice(&pages).cloned().unwrap_or_default();
            let new = format!("{}p{}", random.choice(FOLDERS).unwrap(), self.next());
            let is_killed = random.u8(0..3) == 0;
            let draft = self.env.path(&format!("draft{}.md", self.next()));
            let arguments = match random.u8(0..10) {
                0..4 => {
                    let mark = format!("mark{}.", self.next());
                    let links = (0..3).filter_map(|_| random.choice(&pages)).map(|page| format!(" [[{page}]]"));
                    std::fs::write(&draft, format!("{mark}{}\n", links.collect::<String>())).unwrap();
                    if self.run(&["new", &new, "--from", draft.to_str().unwrap()], false) == Some(true) {
                        marks.push(mark);
                        totals.done += 1;
                    }
                    continue;
                }
                4..7 => vec!["mv", &page, &new],
                7 => vec!["rm", &page],
                _ => {
                    let shown = self.env.run(&self.root, &["wiki", "show", &page, "--json"]);
                    let Ok(shown) = serde_json::from_slice::<Value>(&shown.stdout) else {
                        continue;
                    };
                    let mark = shown["body"].as_str().unwrap().split(' ').next().unwrap().trim_end().to_owned();
                    let link = random.choice(&pages).cloned().unwrap_or_default();
                    std::fs::write(&draft, format!("{mark} [[{link}]]\n")).unwrap();
                    let etag = shown["etag"].as_str().unwrap();
                    let from = draft.to_str().unwrap();
                    let done = self.run(&["edit", &page, "--from", from, "--etag", etag], false);
                    totals.done += u32::from(done == Some(true));
                    totals.refused += u32::from(done == Some(false));
                    continue;
                }
            };
            match self.run(&arguments, is_killed && arguments[0] == "mv") {
                Some(true) => totals.done += 1,
                Some(false) => totals.refused += 1,
                None => totals.killed += 1,
            }
        }
        marks
    }

    /// The links and backlinks that the product shows are those of the files.
    fn check_links(&self) {
        let listed = self.json(&["list"]);
        let files = self.files();
        let paths: Vec<&str> = listed.as_array().unwrap().iter().map(|page| page["path"].as_str().unwrap()).collect();
        assert_eq!(paths, files.keys().collect::<Vec<_>>(), "every file is a page");
        let mut backlinks: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut broken = BTreeSet::new();
        for (page, text) in &files {
            for target in text.split("[[").skip(1).filter_map(|rest| rest.split("]]").next()) {
                match files.get_key_value(target) {
                    Some((target, _)) => {
                        backlinks.entry(target).or_default().insert(page);
                    }
                    None => {
                        broken.insert((page.as_str(), target));
                    }
                }
            }
        }
        for page in listed.as_array().unwrap() {
            let path = page["path"].as_str().unwrap();
            let shown = self.json(&["show", path])["backlinks"].clone();
            let shown: BTreeSet<&str> = shown.as_array().unwrap().iter().map(|from| from.as_str().unwrap()).collect();
            assert_eq!(shown, backlinks.remove(path).unwrap_or_default(), "backlinks of {path}");
        }
        let links = self.json(&["links"])["broken"].clone();
        let shown = links.as_array().unwrap().iter();
        let shown: BTreeSet<_> =
            shown.map(|link| (link["page"].as_str().unwrap(), link["target"].as_str().unwrap())).collect();
        assert_eq!(shown, broken);
    }

    /// Each mark is in one page, or in the trash, or its page was deleted as the last commit has it.
    fn check_marks(&self, marks: &mut Vec<String>) {
        let files = self.files();
        let trash = texts(&self.journal().unwrap().with_file_name("trash"));
        let has =
            |texts: &BTreeMap<String, String>, mark: &str| texts.values().filter(|text| text.starts_with(mark)).count();
        marks.retain(|mark| match has(&files, mark) {
            1 => true,
            0 if has(&trash, mark) > 0 => false,
            0 => {
                let committed = self.env.git(&self.root, &["grep", "--fixed-strings", mark, "HEAD"]);
                assert!(committed.contains(mark.as_str()), "{mark} is lost");
                false
            }
            count => panic!("{mark} is in {count} pages"),
        });
    }

    fn commit_pages(&self) {
        self.env.git(&self.root, &["add", "--all", "*.md"]);
        self.env.git(&self.root, &["commit", "--quiet", "--allow-empty", "--message", "pages"]);
    }
}

/// The texts of all Markdown files below a folder, by path without the extension.
fn texts(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md")
                // Another process can move it meanwhile.
                && let Ok(text) = std::fs::read_to_string(&path)
            {
                let page = path.with_extension("");
                found.insert(page.strip_prefix(root).unwrap().to_str().unwrap().to_owned(), text);
            }
        }
    }
    found
}

#[test]
fn no_page_is_lost_and_links_are_those_of_the_files() {
    let rounds = std::env::var("MUNINN_WIKI_ROUNDS").ok().and_then(|rounds| rounds.parse().ok());
    let shared = Shared::new();
    let mut marks: BTreeMap<bool, Vec<String>> = BTreeMap::new();
    let mut totals = Totals::default();
    shared.json(&["new", "start"]);
    shared.commit_pages();
    shared.env.git(&shared.root, &["branch", "other"]);
    let rounds = rounds.unwrap_or(ROUNDS);
    for round in 0..rounds {
        let is_other = round % 2 == 1;
        thread::scope(|scope| {
            let people = (0..PEOPLE).map(|person| {
                let shared = &shared;
                scope.spawn(move || {
                    let mut totals = Totals::default();
                    let created = shared.change(round * PEOPLE + person, &mut totals);
                    (created, totals)
                })
            });
            for person in people.collect::<Vec<_>>() {
                let (created, of_person) = person.join().unwrap();
                marks.entry(is_other).or_default().extend(created);
                totals.done += of_person.done;
                totals.refused += of_person.refused;
                totals.killed += of_person.killed;
            }
        });
        shared.check_links();
        shared.check_marks(marks.entry(is_other).or_default());
        shared.commit_pages();
        let next = if is_other { "-" } else { "other" };
        shared.env.git(&shared.root, &["checkout", "--quiet", next]);
        shared.check_links();
    }
    let created: usize = marks.values().map(Vec::len).sum();
    println!("{rounds} rounds, {created} pages created, {totals:?}");
    assert!(created > 0 && totals.done > 10, "{totals:?}");
}
