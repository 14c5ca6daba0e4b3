//! The vocabulary of `cl100k_base`: 100,256 byte strings in the order in which they are merged.
//!
//! `cl100k.bin` holds them in that order, each after a byte with its length: the file `cl100k_base.tiktoken` of OpenAI's
//! tiktoken (MIT), without its base64.

const TOKENS: &[u8] = include_bytes!("cl100k.bin");

/// Twice the number of tokens and more, so that a look-up ends after a step or two.
const SLOTS: usize = 1 << 18;

const NO_RANK: u32 = u32::MAX;

/// A hash table of ranks over the embedded strings.
pub(super) struct Vocabulary {
    /// Rank of the token in this slot, or `NO_RANK`.
    slots: Box<[u32]>,
    /// Where each token begins in `TOKENS`, at its length.
    starts: Box<[u32]>,
}

impl Vocabulary {
    pub(super) fn load() -> Self {
        let mut vocabulary = Self {
            slots: vec![NO_RANK; SLOTS].into(),
            starts: Box::default(),
        };
        let mut starts = Vec::with_capacity(100_256);
        let mut at = 0;
        while let Some(len) = TOKENS.get(at) {
            let token = &TOKENS[at + 1..at + 1 + usize::from(*len)];
            let mut slot = hash(token);
            while vocabulary.slots[slot] != NO_RANK {
                slot = (slot + 1) % SLOTS;
            }
            vocabulary.slots[slot] = u32::try_from(starts.len()).unwrap_or(NO_RANK);
            starts.push(u32::try_from(at).unwrap_or(0));
            at += 1 + token.len();
        }
        vocabulary.starts = starts.into();
        vocabulary
    }

    /// How many tokens a piece becomes: pairs are merged, the lowest rank first, until none is in the vocabulary.
    pub(super) fn count(&self, piece: &[u8]) -> u32 {
        if piece.len() < 2 || self.rank(piece) != NO_RANK {
            return u32::from(!piece.is_empty());
        }
        // Where each part begins, with the rank of the token that it makes with the part after it.
        let mut parts: Vec<(usize, u32)> = (0..=piece.len()).map(|at| (at, NO_RANK)).collect();
        for at in 0..piece.len() - 1 {
            parts[at].1 = self.rank(&piece[at..at + 2]);
        }
        while let Some((at, _)) = lowest(&parts) {
            parts.remove(at + 1);
            let pair = |at: usize| match (parts.get(at), parts.get(at + 2)) {
                (Some(first), Some(end)) => self.rank(&piece[first.0..end.0]),
                _ => NO_RANK,
            };
            let here = pair(at);
            let before = at.checked_sub(1).map(pair);
            parts[at].1 = here;
            if let (Some(rank), Some(before)) = (before, at.checked_sub(1)) {
                parts[before].1 = rank;
            }
        }
        u32::try_from(parts.len() - 1).unwrap_or(u32::MAX)
    }

    fn rank(&self, token: &[u8]) -> u32 {
        let mut slot = hash(token);
        loop {
            let rank = self.slots[slot];
            if rank == NO_RANK || self.token(rank) == token {
                return rank;
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    fn token(&self, rank: u32) -> &'static [u8] {
        let at = self.starts[rank as usize] as usize;
        &TOKENS[at + 1..at + 1 + usize::from(TOKENS[at])]
    }
}

fn lowest(parts: &[(usize, u32)]) -> Option<(usize, u32)> {
    let ranks = parts.iter().enumerate().map(|(at, (_, rank))| (at, *rank));
    ranks.filter(|(_, rank)| *rank != NO_RANK).min_by_key(|(_, rank)| *rank)
}

/// FNV-1a, folded to the table: the strings are short and nobody chooses them.
fn hash(token: &[u8]) -> usize {
    let hash = token.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 32)) as usize % SLOTS
}
