//! Selects which search results are judged.

use muninn_text::fnv::hash32;

/// Number of search results to offer for each that is judged.
pub const WIDE: usize = 5;

/// Penalty on similarity for each rank further down the search.
const BEHIND: f32 = 0.004;

/// The tokens of a claim: the hash and the weight of each, sorted by the hash. They take eight bytes a token.
#[derive(Debug, Clone, Default)]
pub struct ClaimTokens(Vec<(u32, f32)>);

impl ClaimTokens {
    /// The tokens with these normal forms and weights.
    pub(crate) fn of<'t>(tokens: impl Iterator<Item = (&'t str, f32)>) -> Self {
        let mut hashed: Vec<(u32, f32)> = tokens.map(|(normal, weight)| (hash32(normal.bytes()), weight)).collect();
        hashed.sort_by_key(|(hash, _)| *hash);
        Self(hashed)
    }

    /// The hash and the weight of each token.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, f32)> + '_ {
        self.0.iter().copied()
    }

    /// Similarity of two claims from 0 to 1: the weighted share of common tokens. Symmetric.
    ///
    /// It orders candidates for judging. Unlike a search, it handles inflection and numbers.
    pub fn likeness(&self, other: &Self) -> f32 {
        let [one, two] = [self, other].map(|tokens| tokens.0.iter().map(|(_, weight)| weight).sum::<f32>());
        let (mut at_a, mut at_b, mut common) = (0, 0, 0.0);
        while let (Some((a, weight_a)), Some((b, weight_b))) = (self.0.get(at_a), other.0.get(at_b)) {
            common += if a == b { weight_a + weight_b } else { 0.0 };
            at_a += usize::from(a <= b);
            at_b += usize::from(b <= a);
        }
        if one + two > 0.0 { common / (one + two) } else { 0.0 }
    }
}

/// Selects `keep` of the candidates in search order: the first half by rank, the other half by similarity with a
/// penalty for rank. A search weights rare words, and so ranks a sentence with the same rare word above a paraphrase;
/// either alone misses more than both together (see `benches/README.md`).
///
/// Pass [`WIDE`] times as many candidates as `keep`.
pub fn to_judge<T>(found: Vec<T>, keep: usize, likeness: impl Fn(&T) -> f32) -> Vec<T> {
    let mut kept = found;
    let rest = kept.split_off(kept.len().min(keep.div_ceil(2)));
    let mut behind = 0.0;
    let score = |one: T| {
        behind += BEHIND;
        (likeness(&one) - behind, one)
    };
    let mut rest: Vec<(f32, T)> = rest.into_iter().map(score).collect();
    rest.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let room = keep - kept.len();
    kept.extend(rest.into_iter().take(room).map(|(_, one)| one));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_is_selected_by_rank_and_half_by_similarity() {
        let like = |one: &u8| f32::from(*one);
        for (keep, expected) in
            [(4, vec![1, 2, 9, 5]), (3, vec![1, 2, 9]), (1, vec![1]), (0, vec![]), (9, vec![1, 2, 3, 5, 9])]
        {
            assert_eq!(to_judge(vec![1, 2, 3, 5, 9], keep, like), expected, "{keep}");
        }
        assert_eq!(to_judge(vec![4, 4], 5, like), [4, 4]);
        let like = |one: &u8| if *one == 99 { 0.5 } else { 0.2 };
        let far: Vec<u8> = (0..100).collect();
        assert_eq!(to_judge(far.clone(), 4, like), [0, 1, 2, 3], "the last of a hundred results must not be selected");
        assert_eq!(to_judge(far[60..].to_vec(), 4, like), [60, 61, 99, 62]);
    }
}
