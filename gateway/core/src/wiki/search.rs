//! Search of the team's wiki by words and by meaning.

use std::path::Path;

use muninn_notebooks::wiki::{FoundPage, PagePath};
use muninn_team::memories::{Memory, MemoryKind};

use super::Wiki;
use crate::Workspace;

impl Workspace {
    /// The pages that match a query: first those with a section that possibly answers it, then those with its words. A
    /// wiki outside of the worktree is searched by words alone.
    pub fn search_pages(&self, wiki: &Wiki, query: &str, limit: usize) -> Vec<FoundPage> {
        let mut by_words = wiki.search(query, limit);
        let Some(folder) = wiki.root().strip_prefix(&self.root).ok().filter(|folder| !folder.as_os_str().is_empty())
        else {
            return by_words;
        };
        let possible = self.possible(query, MemoryKind::Knowledge);
        let mut found: Vec<FoundPage> = Vec::new();
        for (path, section) in possible.iter().filter_map(|(memory, _)| Some((page_of(folder, memory)?, memory))) {
            if found.iter().any(|page| page.path == path) {
                continue;
            }
            match by_words.iter().position(|page| page.path == path) {
                Some(at) => found.push(by_words.remove(at)),
                None => found.extend(wiki.found(&path, &section.text)),
            }
        }
        found.extend(by_words);
        found.truncate(limit);
        found
    }
}

/// The page of a section of knowledge.
fn page_of(folder: &Path, memory: &Memory) -> Option<PagePath> {
    PagePath::of_file(Path::new(&*memory.path).strip_prefix(folder).ok()?.to_str()?)
}
