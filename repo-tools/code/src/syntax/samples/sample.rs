//! Module docs.
use std::collections::{HashMap, hash_map::{Entry, self}};
use crate::wire as w;
pub use super::*;
mod inner;

/// A bucket.
#[derive(Debug)]
pub struct Bucket<T> {
    /// How many.
    pub tokens: u32,
    other: Vec<T>,
}

const LIMIT: usize = 3; // trailing

// About the next.
static NAME: &str = "x";

impl<T: Clone> Display for Bucket<T> {
    /// Refills.
    #[inline]
    fn refill(&mut self, by: u32) -> Result<(), Error> {
        self.tokens += clamp(by);
        w::send(by);
        let map: HashMap<u8, u8> = HashMap::new();
        assert_eq!(check(map), 3);
        self.other.iter().map(Self::id).collect::<Vec<_>>();
        Ok(())
    }
}

trait Shape: Named { fn area(&self) -> f64; fn twice(&self) -> f64 { self.area() * 2.0 } }
enum Kind { One, Two(u8) }
type Alias = Bucket<u8>;
macro_rules! shout { ($x:expr) => { $x }; }
mod tests {
    #[test]
    fn works() { super::run::<u8>(1); }
}
