//! An updated index equals a new index of the current files.

use std::collections::BTreeMap;

use muninn_repo_tools::BlobId;
use proptest::prelude::*;

use super::super::digest::digest;
use super::*;

fn file(path: &str, text: &str, modified: i64) -> (FileFacts, Digest) {
    let path = RelPath::new(path).unwrap();
    let digest = digest(&mut Tokenizer::new(), &path, text);
    let facts = FileFacts { path, size: text.len() as u64, modified, blob: BlobId::of(text.as_bytes()).unwrap() };
    (facts, digest)
}

fn segment(files: Vec<(FileFacts, Digest)>) -> Segment {
    Snapshot::of_files(&mut Tokenizer::new(), files).whole()
}

/// The content of a snapshot, independent of its numbering.
#[derive(Debug, PartialEq)]
struct SnapshotContent {
    files: BTreeMap<String, (FileFacts, u32, Vec<Span>)>,
    found: Vec<(String, Vec<LineCount>)>,
    means: [f32; 3],
    sizes: (usize, usize),
}

/// A path, a line and a count with a length.
type LineCount = (String, u32, u32);

const TERMS: &[&str] = &["alpha", "beta", "gamma", "delta", "a", "b", "rs"];

fn said(snapshot: &Snapshot) -> SnapshotContent {
    let path = |number: usize| snapshot.file(number).facts.path.to_string();
    let files = snapshot.files().map(|(number, file)| {
        assert_eq!(snapshot.find(&file.facts.path).unwrap().0, number);
        let spans = snapshot.spans_of(number).map(|chunk| {
            assert_eq!(snapshot.file_of(DocId(chunk)), number);
            snapshot.span(DocId(chunk))
        });
        (path(number), (file.facts.clone(), snapshot.path_length(number), spans.collect()))
    });
    let mut found = Vec::new();
    for field in [Field::Bodies, Field::Names, Field::Paths] {
        for term in TERMS {
            let postings = snapshot.lookup(field, term);
            assert_eq!(postings.len(), snapshot.frequency(field, term) as usize);
            let mut places: Vec<_> = postings
                .iter()
                .map(|posting| match field {
                    Field::Paths => (path(posting.number as usize), 0, posting.count),
                    Field::Bodies | Field::Names => {
                        let chunk = DocId(posting.number);
                        let length = snapshot.lengths()[posting.number as usize];
                        let line = snapshot.span(chunk).first;
                        (path(snapshot.file_of(chunk)), line, posting.count + 1_000 * length)
                    }
                })
                .collect();
            places.sort();
            found.push((format!("{field:?} {term}"), places));
        }
    }
    SnapshotContent {
        files: files.collect(),
        found,
        means: [snapshot.average_length(), snapshot.average_file_length(), snapshot.average_path_length()],
        sizes: (snapshot.len(), snapshot.chunks()),
    }
}

/// Changes of files, by number, in one step.
#[derive(Debug, Clone)]
enum Step {
    Write(Vec<(usize, usize)>),
    Remove(Vec<usize>),
    Touch(usize, i64),
    Compact,
    KeepAndRead,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => proptest::collection::btree_map(0..PATHS.len(), 0..4usize, 1..4)
            .prop_map(|files| Step::Write(files.into_iter().collect())),
        2 => proptest::collection::btree_set(0..PATHS.len(), 1..3).prop_map(|files| Step::Remove(files.into_iter().collect())),
        1 => (0..PATHS.len(), 1..9i64).prop_map(|(file, time)| Step::Touch(file, time)),
        1 => Just(Step::Compact),
        1 => Just(Step::KeepAndRead),
    ]
}

const PATHS: &[&str] = &["a.rs", "a/b.rs", "a-b.rs", "b/alpha.rs", "z.md"];
const TEXTS: [&str; 4] = [
    "",
    "fn alpha() { beta(); }\n",
    "// gamma\nfn beta() {}\n\nfn delta() { alpha(); alpha() }\n",
    "# Alpha\n\nbeta gamma\n",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn updated_index_equals_a_new_one(steps in proptest::collection::vec(step(), 1..20)) {
        let mut files: BTreeMap<&str, (&str, i64)> = BTreeMap::new();
        let mut snapshot = Snapshot::default();
        for step in steps {
            let mut changes = Changes::default();
            match step {
                Step::Write(written) => {
                    let written: Vec<_> = written.iter().map(|(at, text)| (PATHS[*at], TEXTS[*text])).collect();
                    changes.gone = written.iter().map(|(path, _)| RelPath::new(path).unwrap()).collect();
                    changes.new = segment(written.iter().map(|(path, text)| file(path, text, 1)).collect());
                    files.extend(written.iter().map(|(path, text)| (*path, (*text, 1))));
                }
                Step::Remove(removed) => {
                    changes.gone = removed.iter().map(|at| RelPath::new(PATHS[*at]).unwrap()).collect();
                    removed.iter().for_each(|at| { files.remove(PATHS[*at]); });
                }
                Step::Touch(at, time) => {
                    if let Some((text, modified)) = files.get_mut(PATHS[at]) {
                        *modified = time;
                        changes.touched = vec![file(PATHS[at], text, time).0];
                    }
                }
                Step::Compact => {
                    snapshot = Snapshot::assembled(vec![merged(&snapshot.parts)]);
                }
                Step::KeepAndRead => {
                    let bytes = postcard::to_allocvec(&snapshot.whole()).unwrap();
                    snapshot = Snapshot::of(postcard::from_bytes(&bytes).unwrap());
                }
            }
            snapshot = snapshot.changed(changes);
            let now = files.iter().map(|(path, (text, time))| file(path, text, *time)).collect();
            let fresh = Snapshot::of_files(&mut Tokenizer::new(), now);
            prop_assert_eq!(said(&snapshot), said(&fresh));
        }
    }
}

#[test]
fn removed_directory_removes_its_files() {
    let paths = ["a", "a-b", "a/c", "a/d/e", "ab"].map(|path| file(path, "x", 1));
    let snapshot = Snapshot::of_files(&mut Tokenizer::new(), paths.into());
    let at = |path: &str| {
        let found = snapshot.at(&BTreeSet::from([RelPath::new(path).unwrap()]));
        found.iter().map(RelPath::to_string).collect::<Vec<_>>()
    };
    assert_eq!(at("a"), ["a", "a/c", "a/d/e"]);
    assert_eq!(at("a/d"), ["a/d/e"]);
    assert_eq!(at("b"), [] as [&str; 0]);
}
