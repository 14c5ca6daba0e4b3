/// The most characters of a result. Clients cut longer ones, or refuse them.
pub(super) const MOST: usize = 39_000;
