//! The format against itself: what is read and written again says the same.

mod answers;
mod requests;

use std::fs;
use std::path::Path;

use serde_json::Value;

/// The cases in a folder of the golden corpus, by name.
fn golden(kind: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src/wire/convert/golden/chat")
        .join(kind);
    let mut cases: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    cases.sort();
    assert!(cases.len() >= 10, "{kind}");
    cases
}

fn case(kind: &str, name: &str) -> String {
    golden(kind).into_iter().find(|(found, _)| found == name).unwrap().1
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}
