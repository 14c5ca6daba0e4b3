pub const REFERENCE: &str = "refs/muninn/journal";

#[cfg(test)]
mod tests;
