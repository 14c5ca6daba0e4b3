//! What the graph of a directory costs: `cargo run --release -p muninn-memory --example graph -- DIR`.
//!
//! Prints one JSON line: lines, seconds to take every file apart on one thread, bytes of what is kept of the syntax in
//! memory and as it is stored, seconds to build the graph, its size and its bytes.

#![expect(clippy::print_stdout, reason = "a line on stdout is what it is for")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use muninn_memory::index::lexical::Tokenizer;
use muninn_memory::index::{Graph, Syntax, digest};
use muninn_repo_tools::RelPath;
use muninn_repo_tools::syntax::Language;

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(std::env::args().nth(1).ok_or("which directory?")?);
    let mut tokenizer = Tokenizer::new();
    let (mut lines, mut parsed, mut stored) = (0, 0, 0);
    let mut files: Vec<(RelPath, Syntax)> = Vec::new();
    let begun = Instant::now();
    for (path, text) in texts(&root)? {
        let syntax = digest(&mut tokenizer, &path, &text).syntax;
        lines += text.lines().count();
        parsed += usize::from(syntax.language().is_some());
        stored += postcard::to_allocvec(&syntax)?.len();
        files.push((path, syntax));
    }
    let digested = begun.elapsed();
    let kept: usize = files.iter().map(|(_, of)| of.heap_bytes() + size_of::<Syntax>()).sum();
    let begun = Instant::now();
    let graph = Graph::build((0u32..).zip(&files).map(|(number, (path, of))| (number, path, of)));
    let built = begun.elapsed();
    let (definitions, imports, calls) = graph.size();
    let names = files
        .iter()
        .flat_map(|(_, of)| of.symbols().step_by(7).map(|symbol| symbol.name));
    let names: Vec<&str> = names.collect();
    let begun = Instant::now();
    let asked: usize = names.iter().map(|name| graph.definitions(name).count()).sum();
    let each = begun.elapsed().as_nanos() / names.len().max(1) as u128;
    println!(
        "{{\"files\":{},\"parsed\":{parsed},\"lines\":{lines},\"digest_s\":{:.2},\"syntax_bytes\":{kept},\
         \"stored_bytes\":{stored},\"build_ms\":{},\"graph_bytes\":{},\"definitions\":{definitions},\
         \"import_edges\":{imports},\"call_edges\":{calls},\"lookup_ns\":{each},\"looked_up\":{asked}}}",
        files.len(),
        digested.as_secs_f64(),
        built.as_millis(),
        graph.heap_bytes(),
    );
    Ok(())
}

/// All texts with a grammar below a directory, and manifests.
fn texts(root: &Path) -> Result<Vec<(RelPath, String)>, Box<dyn Error>> {
    let (mut open, mut found) = (vec![root.to_owned()], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let Some(path) = entry.path().strip_prefix(root).ok().and_then(RelPath::from_relative) else {
                continue;
            };
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            } else if Language::of_path(&path).is_some() || matches!(path.file_name(), "Cargo.toml" | "go.mod") {
                found.extend(std::fs::read_to_string(entry.path()).ok().map(|text| (path, text)));
            }
        }
    }
    Ok(found)
}
