//! The format against itself: what a client or a backend says, read, and written again.

mod answers;
mod requests;

use std::collections::BTreeMap;
use std::path::PathBuf;

fn golden(kind: &str) -> BTreeMap<String, String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("src/wire/convert/golden/responses")
        .join(kind);
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect()
}
