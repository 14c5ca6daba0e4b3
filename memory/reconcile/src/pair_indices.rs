/// Two claims, by their positions.
pub(super) type PairIndices = (usize, usize);
