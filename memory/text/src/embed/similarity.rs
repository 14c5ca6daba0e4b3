use super::embedder::Embedder;

impl std::fmt::Debug for dyn Embedder + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id())
    }
}

/// The beginning of the id of `StaticVectors`.
pub const STATIC_ID: &str = "static-";

/// Returns the dot product of two vectors, which is their cosine if both have unit length; 0 if one is empty.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::super::embedder::normalise;
    use super::super::static_vectors::StaticVectors;
    use super::*;

    #[test]
    fn a_vector_has_unit_length_or_none() {
        let table: [(&[f32], &[f32]); 4] = [
            (&[3.0, 4.0], &[0.6, 0.8]),
            (&[0.0, 0.0], &[0.0, 0.0]),
            (&[f32::NAN, 1.0], &[0.0, 0.0]),
            (&[f32::MAX, f32::MAX], &[0.0, 0.0]),
        ];
        for (given, expected) in table {
            let mut vector = given.to_vec();
            normalise(&mut vector);
            assert_eq!(vector, expected, "{given:?}");
        }
    }

    #[test]
    fn any_maker_fits_behind_one_pointer() {
        let maker: Box<dyn Embedder> = Box::new(StaticVectors::shipped().unwrap());
        let vectors = maker.embed(&["parse the header", ""]).unwrap();
        assert_eq!(vectors.len(), 2);
        assert!(vectors.iter().all(|vector| vector.len() == maker.dimensions()));
    }
}
