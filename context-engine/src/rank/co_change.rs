//! Lifting files that often changed together with the best files.
//!
//! Files that change together often share no word, such as a parser and the structures that it fills. A companion of a
//! top file gets a part of that file's score: the share of the companion's commits that also changed the top file. So a
//! file that changes with every commit is lifted little.

use muninn_index::Companion;

use super::Index;

/// Maximum share of the score for a companion.
const WEIGHT: f32 = 0.3;
/// Number of top files that lift companions.
pub(super) const LEADERS: usize = 3;
/// Added to a companion's number of commits, because with few commits a common one may be chance.
const DOUBT: f32 = 5.0;

/// Returns the lift of each file of the snapshot for being a companion of the leaders (score, file); empty if there is
/// none.
pub(super) fn lifts(index: Index<'_>, leaders: &[(f32, usize)]) -> Vec<f32> {
    let mut lifts = Vec::new();
    for (score, leader) in leaders {
        for companion in index.companions.of(*leader) {
            lifts.resize(index.snapshot.file_numbers(), 0.0f32);
            let lift = &mut lifts[companion.file];
            *lift = lift.max(WEIGHT * score * share(companion));
        }
    }
    lifts
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand commits at most")]
fn share(companion: Companion) -> f32 {
    companion.together as f32 / (companion.commits as f32 + DOUBT)
}
