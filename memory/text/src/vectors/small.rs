//! The compact forms of a vector: one byte or one bit per number.
//!
//! In the byte form, the unit vector is scaled so that its largest number becomes 127. The factor is not stored: all
//! vectors had unit length, so the bytes alone determine a cosine. A common factor of 127 for all vectors would use
//! only about eight of the 127 steps, because a number of a vector with 256 dimensions is about 1/16.

/// Number of values that are processed at once.
const LANES: usize = 16;

/// Returns a unit vector as one byte per number. A zero vector, or a vector with a number that is not finite, becomes
/// zeros.
pub fn bytes(vector: &[f32]) -> impl Iterator<Item = i8> {
    let largest = vector.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
    let factor = if largest > 0.0 && largest.is_finite() { 127.0 / largest } else { 0.0 };
    vector.iter().map(move |value| byte(value * factor))
}

#[expect(clippy::cast_possible_truncation, reason = "a cast from a float saturates, and these are within 127")]
fn byte(value: f32) -> i8 {
    value.round() as i8
}

/// Returns the cosine of a query of unit length and a vector of bytes; 0 for the zero vector.
#[inline(always)]
pub(crate) fn cosine(query: &[f32], vector: &[i8]) -> f32 {
    let (queries, query_rest) = query.as_chunks::<LANES>();
    let (vectors, vector_rest) = vector.as_chunks::<LANES>();
    // Separate sums, because the compiler must not reorder additions of floats.
    let mut dots = [0.0f32; LANES];
    let mut squares = [0i32; LANES];
    for (query, vector) in queries.iter().zip(vectors) {
        for lane in 0..LANES {
            dots[lane] += query[lane] * f32::from(vector[lane]);
            squares[lane] += i32::from(vector[lane]) * i32::from(vector[lane]);
        }
    }
    let mut dot: f32 = dots.iter().sum();
    let mut square: i32 = squares.iter().sum();
    for (a, b) in query_rest.iter().zip(vector_rest) {
        dot += a * f32::from(*b);
        square += i32::from(*b) * i32::from(*b);
    }
    if square == 0 { 0.0 } else { dot / length(square) }
}

#[expect(clippy::cast_precision_loss, reason = "seven digits are plenty")]
fn length(square: i32) -> f32 {
    (square as f32).sqrt()
}

/// Returns the number of 64-bit words that hold a vector's bits.
pub(super) const fn words(dimensions: usize) -> usize {
    dimensions.div_ceil(64)
}

/// Appends a vector's bits: 1 for each number above zero.
pub(super) fn push_bits<T: PartialOrd + Default>(vector: &[T], bits: &mut Vec<u64>) {
    let zero = T::default();
    bits.extend(vector.chunks(64).map(|numbers| {
        let set = (0u32..).zip(numbers).filter(|(_, number)| **number > zero);
        set.fold(0u64, |word, (at, _)| word | 1 << at)
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::normalise;

    #[test]
    fn bytes_keep_the_cosine() {
        let mut random = 1u32;
        let mut next = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from((random >> 16) as u16) / 32_768.0 - 1.0
        };
        for _ in 0..50 {
            let [mut a, mut b] = [(); 2].map(|()| (0..256).map(|_| next()).collect::<Vec<f32>>());
            normalise(&mut a);
            b.iter_mut().zip(&a).for_each(|(b, a)| *b = *b * 0.3 + a * 8.0);
            normalise(&mut b);
            let exact: f32 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            let found = cosine(&a, &bytes(&b).collect::<Vec<_>>());
            assert!((exact - found).abs() < 0.002, "{exact} {found}");
        }
    }

    #[test]
    fn nothing_is_like_nothing() {
        for vector in [[0.0f32; 3], [f32::NAN; 3], [f32::INFINITY, 1.0, 0.0]] {
            let bytes: Vec<i8> = bytes(&vector).collect();
            assert_eq!(bytes, [0; 3]);
            assert_eq!(cosine(&[1.0, 0.0, 0.0], &bytes), 0.0);
        }
    }

    #[test]
    fn a_bit_is_a_sign() {
        let mut bits = Vec::new();
        push_bits(&[0.5f32, -0.5, 0.0, 0.1], &mut bits);
        push_bits(&[-1i8; 65], &mut bits);
        assert_eq!(bits, [0b1001, 0, 0]);
        assert_eq!((words(64), words(65), words(256)), (1, 2, 4));
    }
}
