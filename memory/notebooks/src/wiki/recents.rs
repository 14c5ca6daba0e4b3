//! The pages that people and agents used last: an LRU, not the times of files.

use std::collections::VecDeque;

use super::pages::Pages;
use super::path::PagePath;

/// The pages in use, the last one first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recents {
    pages: VecDeque<PagePath>,
    most: usize,
}

impl Recents {
    /// An LRU of at most so many pages, which begins with these.
    pub fn new(most: usize, pages: impl IntoIterator<Item = PagePath>) -> Recents {
        let mut recents = Recents { pages: VecDeque::new(), most };
        for page in pages {
            if !recents.pages.contains(&page) && recents.pages.len() < most {
                recents.pages.push_back(page);
            }
        }
        recents
    }

    /// Notes the use of a page.
    pub fn touch(&mut self, page: &PagePath) {
        self.remove(page);
        self.pages.push_front(page.clone());
        self.pages.truncate(self.most);
    }

    /// A moved page keeps one entry, as the last one used.
    pub fn moved(&mut self, from: &PagePath, to: &PagePath) {
        self.remove(from);
        self.touch(to);
    }

    /// Removes a page that was deleted.
    pub fn remove(&mut self, page: &PagePath) {
        self.pages.retain(|other| other != page);
    }

    /// The pages that still exist.
    pub fn existing(&self, pages: &Pages) -> Vec<PagePath> {
        self.pages.iter().filter(|page| pages.get(page).is_some()).cloned().collect()
    }

    pub fn iter(&self) -> impl Iterator<Item = &PagePath> {
        self.pages.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str) -> PagePath {
        PagePath::new(path).unwrap()
    }

    #[test]
    fn last_used_pages_come_first_and_the_oldest_falls_out() {
        let mut recents = Recents::new(3, [page("a"), page("b"), page("a"), page("c"), page("d")]);
        let shown = |recents: &Recents| recents.iter().map(PagePath::as_str).collect::<Vec<_>>().join(" ");
        assert_eq!(shown(&recents), "a b c");
        recents.touch(&page("c"));
        recents.touch(&page("d"));
        assert_eq!(shown(&recents), "d c a");
        recents.moved(&page("c"), &page("x/c"));
        assert_eq!(shown(&recents), "x/c d a");
        recents.remove(&page("d"));
        assert_eq!(shown(&recents), "x/c a");
        assert!(recents.existing(&Pages::default()).is_empty());
    }
}
