//! All names that are defined anywhere, each once.

/// Sorted names in one string; a name is meant by its position.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    text: Box<str>,
    ends: Box<[u32]>,
}

impl Names {
    /// Takes names that are sorted and differ.
    pub(super) fn new(sorted: &[&str]) -> Self {
        let mut text = String::with_capacity(sorted.iter().map(|name| name.len()).sum());
        let ends = sorted
            .iter()
            .map(|name| {
                text.push_str(name);
                u32::try_from(text.len()).unwrap_or(u32::MAX)
            })
            .collect();
        Self {
            text: text.into(),
            ends,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The name at a position; empty if there is none.
    pub(super) fn get(&self, id: u32) -> &str {
        let id = id as usize;
        let start = id
            .checked_sub(1)
            .and_then(|before| self.ends.get(before))
            .copied()
            .unwrap_or(0);
        let end = self.ends.get(id).copied().unwrap_or(start);
        self.text.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Where a name is.
    pub(super) fn find(&self, name: &str) -> Option<u32> {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let id = u32::try_from(middle).ok()?;
            match self.get(id).cmp(name) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(id),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_it_holds() {
        let names = Names::new(&["a", "b", "größe", "z"]);
        assert_eq!(names.find("größe"), Some(2));
        assert_eq!((names.get(0), names.get(2), names.get(9)), ("a", "größe", ""));
        assert_eq!(
            (names.find("c"), names.find(""), Names::default().find("a")),
            (None, None, None)
        );
    }
}
