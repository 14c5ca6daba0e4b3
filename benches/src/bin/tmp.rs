//! t
use std::io::Write;
use std::time::{Duration, Instant};
use muninn_context_engine::*;
use muninn_repo_tools::Worktree;
fn main() {
    let root = std::env::args().nth(1).unwrap();
    let path = std::env::args().nth(2).unwrap();
    let engine = Engine::open(Worktree::discover(std::path::Path::new(&root)).unwrap(), EngineSettings { cache_dir: Some("/tmp/scale/cachetmp".into()), ..EngineSettings::default() });
    let s = Instant::now();
    println!("{:?} {:?}", engine.refresh(&()).unwrap(), s.elapsed());
    let file = std::path::Path::new(&root).join(&path);
    let before = std::fs::read(&file).unwrap();
    std::fs::File::options().append(true).open(&file).unwrap().write_all(b"\n\nfn muninn_scale_edit_3() -> usize {\n    3\n}\n").unwrap();
    let s = Instant::now();
    println!("{:?} {:?}", engine.refresh(&()).unwrap(), s.elapsed());
    let s = Instant::now();
    let found = engine.explore("what does `muninn_scale_edit_3` return?", &Limits { tokens: 4000, deadline: Instant::now() + Duration::from_secs(60) });
    println!("{:?} {:?} {:?}", found.reason, found.items.iter().map(|i| (&i.source, i.tokens, &i.why)).collect::<Vec<_>>(), s.elapsed());
    println!("{:?}", engine.rank("what does `muninn_scale_edit_3` return?", Tuning::default(), 3));
    std::fs::write(&file, before).unwrap();
}
