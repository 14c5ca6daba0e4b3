//! Candidates by rare tokens, for runs that are too large to search for each claim.
//!
//! A search scores a share of all claims, so the time of a run grows with the square of their number. Two claims about one
//! thing share its names or other rare words, so the claims with the rarest tokens of a claim are its candidates. The time
//! of a claim is bounded, whatever the number of claims.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::judge::ClaimTokens;

/// Maximum number of claims with a token that are read for one claim.
const MOST_CLAIMS: usize = 400;
/// Maximum number of candidates of a claim, the most weighty first.
const MOST_CANDIDATES: usize = 60;

/// The claims of each token.
pub(super) struct RareTokens(HashMap<u32, Vec<u32>>);

impl RareTokens {
    /// Indexes claims by their positions.
    pub(super) fn of<'t>(claims: impl Iterator<Item = (usize, &'t ClaimTokens)>) -> Self {
        let mut postings: HashMap<u32, Vec<u32>> = HashMap::new();
        for (at, tokens) in claims {
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            for (token, _) in tokens.iter() {
                let claims = postings.entry(token).or_default();
                if claims.last() != Some(&at) {
                    claims.push(at);
                }
            }
        }
        // Longer lists are never read.
        postings.retain(|_, claims| (2..=MOST_CLAIMS).contains(&claims.len()));
        Self(postings)
    }

    /// The positions of the claims that share the rarest tokens of a claim, those with the greatest common weight first.
    pub(super) fn candidates(&self, tokens: &ClaimTokens) -> Vec<usize> {
        let lists = tokens.iter().filter_map(|(token, weight)| Some((self.0.get(&token)?, weight)));
        let mut lists: Vec<(&Vec<u32>, f32)> = lists.collect();
        lists.sort_by_key(|(claims, _)| claims.len());
        let mut room = MOST_CLAIMS;
        let mut weights: HashMap<u32, f32> = HashMap::new();
        for (claims, weight) in lists {
            let Some(left) = room.checked_sub(claims.len()) else {
                break;
            };
            room = left;
            for at in claims {
                *weights.entry(*at).or_default() += weight;
            }
        }
        let mut found: Vec<(u32, f32)> = weights.into_iter().collect();
        found.sort_by(|(one, weight), (other, heavier)| {
            heavier.total_cmp(weight).then(Reverse(one).cmp(&Reverse(other)))
        });
        found.truncate(MOST_CANDIDATES);
        found.into_iter().filter_map(|(at, _)| usize::try_from(at).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_that_share_rare_tokens_are_found_in_bounded_time() {
        let name = |number: usize| format!("name{number}");
        let tokens = |number: usize| {
            let (name, pair) = (name(number), format!("pair{}", number / 2));
            ClaimTokens::of([("the", 0.3), (&*name, 1.0), (&*pair, 1.0)].into_iter())
        };
        let all: Vec<ClaimTokens> = (0..2_000).map(tokens).collect();
        let rare = RareTokens::of(all.iter().enumerate());
        for at in [0, 1, 1_000, 1_999] {
            let mut found = rare.candidates(&all[at]);
            found.sort_unstable();
            assert_eq!(found, [at & !1, at | 1], "{at}");
        }
        assert!(rare.candidates(&ClaimTokens::default()).is_empty());
    }
}
