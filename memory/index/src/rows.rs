//! Rows of different lengths in two arrays.

/// Rows of items, concatenated in one array (compressed sparse rows).
#[derive(Debug, Clone)]
pub(crate) struct Rows<T> {
    /// The offset of each row, and the end of the last row.
    starts: Box<[u32]>,
    items: Box<[T]>,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self { starts: Box::default(), items: Box::default() }
    }
}

impl<T: Copy> Rows<T> {
    /// Sorts items into `rows` rows, in their given order. Items of a row number that is too large are dropped.
    pub(crate) fn new(rows: usize, items: &[(u32, T)]) -> Self {
        let mut starts = vec![0u32; rows + 1];
        let valid = || items.iter().filter(|(row, _)| (*row as usize) < rows);
        for (row, _) in valid() {
            starts[*row as usize + 1] += 1;
        }
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let Some((_, any)) = items.first() else {
            return Self { starts: starts.into(), items: Box::default() };
        };
        let mut next = starts.clone();
        let mut sorted = vec![*any; starts[rows] as usize];
        for (row, item) in valid() {
            let at = &mut next[*row as usize];
            sorted[*at as usize] = *item;
            *at += 1;
        }
        Self { starts: starts.into(), items: sorted.into() }
    }

    /// Returns the items of a row; empty if the row does not exist.
    pub(crate) fn of(&self, row: u32) -> &[T] {
        let bounds = self.starts.get(row as usize).zip(self.starts.get(row as usize + 1));
        bounds.and_then(|(start, end)| self.items.get(*start as usize..*end as usize)).unwrap_or_default()
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_the_order_of_their_items() {
        let rows = Rows::new(3, &[(2, 'a'), (0, 'b'), (2, 'c'), (7, 'x')]);
        assert_eq!((rows.of(0), rows.of(1), rows.of(2)), (&['b'][..], &[][..], &['a', 'c'][..]));
        assert_eq!((rows.of(3), rows.of(u32::MAX), rows.len()), (&[][..], &[][..], 3));
        assert!(Rows::<u8>::default().of(0).is_empty());
    }
}
