pub const REFERENCE: &str = "refs/muninn/journal";
