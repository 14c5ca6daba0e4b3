//! Files that were changed along with the best ones.
//!
//! What has to be changed together often shares no word: a parser and the matches that it fills, a builder and its
//! re-exports. History knows it. A companion of one of the best files gets a part of that file's score: the share of the
//! companion's own commits that were shared, so that a file that changes with everything says nothing.

use muninn_memory::index::Companion;

use super::Index;

/// What a companion gets of the score at most.
const WEIGHT: f32 = 0.3;
/// So many of the best files lift others.
pub(super) const LEADERS: usize = 3;
/// Added to a companion's commits: of one that has few, chance may have made it one.
const DOUBT: f32 = 5.0;

/// What each file of the snapshot gets for being a companion of the best, which come with their
/// scores; empty if nothing.
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
