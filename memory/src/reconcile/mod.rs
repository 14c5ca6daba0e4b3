//! Bringing what sessions learned into main memory.

pub mod judge;
