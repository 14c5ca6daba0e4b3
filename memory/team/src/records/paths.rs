/// The file of main memory, relative to the root of a repository, as are the other paths here.
pub const MAIN: &str = ".muninn/memory/main.jsonl";
