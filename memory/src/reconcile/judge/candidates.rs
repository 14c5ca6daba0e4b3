//! Which of many that a search finds are worth judging.

/// How many of those that a search gives should be offered for each that is judged.
pub const WIDE: usize = 5;

/// What each place further behind in a search takes of a likeness in words, which is from 0 to 1.
const BEHIND: f32 = 0.004;

/// Of candidates in the order of a search, those to judge: the first half is what the search put first, and the other
/// half those of the rest that are most like in words and not too far behind. A search counts how rare a word is, and so
/// puts a sentence with the same rare word before the same sentence in other words; either alone misses more than both
/// together (see `benches/README.md`).
///
/// Give [`WIDE`] times as many as are to be kept.
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
    fn half_is_by_the_search_and_half_by_likeness() {
        let like = |one: &u8| f32::from(*one);
        for (keep, expected) in [
            (4, vec![1, 2, 9, 5]),
            (3, vec![1, 2, 9]),
            (1, vec![1]),
            (0, vec![]),
            (9, vec![1, 2, 3, 5, 9]),
        ] {
            assert_eq!(to_judge(vec![1, 2, 3, 5, 9], keep, like), expected, "{keep}");
        }
        assert_eq!(to_judge(vec![4, 4], 5, like), [4, 4]);
        let like = |one: &u8| if *one == 99 { 0.5 } else { 0.2 };
        let far: Vec<u8> = (0..100).collect();
        assert_eq!(
            to_judge(far.clone(), 4, like),
            [0, 1, 2, 3],
            "the last of a hundred is too far behind"
        );
        assert_eq!(to_judge(far[60..].to_vec(), 4, like), [60, 61, 99, 62]);
    }
}
