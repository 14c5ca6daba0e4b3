//! Search of the team's wiki by words and by meaning.

use muninn_notebooks::wiki::{FoundPage, PagePath};
use muninn_recall::RecallOptions;
use muninn_team::knowledge::ROOT;
use muninn_team::memories::{Memory, MemoryKind};

use super::Wiki;
use crate::Workspace;

/// Number of sections that are judged.
const SECTIONS: usize = 50;

impl Workspace {
    /// The pages that match a query: first those with a section that is likely to answer it, then those with its words. A
    /// wiki outside of the worktree's knowledge is searched by words alone.
    pub fn search_pages(&self, wiki: &Wiki, query: &str, limit: usize) -> Vec<FoundPage> {
        let mut by_words = wiki.search(query, limit);
        let Some(engine) = self.engine.as_ref().filter(|_| wiki.root() == self.root.join(ROOT)) else {
            return by_words;
        };
        self.use_embedder();
        let memories = engine.current_memories();
        let recalled = engine.recall(&memories, query, &RecallOptions { keep: SECTIONS, ..RecallOptions::default() });
        let fitting = recalled.iter().filter(|(_, fits)| *fits).filter_map(|(one, _)| memories.get(one.doc));
        let mut found: Vec<FoundPage> = Vec::new();
        for (path, section) in fitting.filter_map(|memory| Some((page_of(memory)?, memory))) {
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
fn page_of(memory: &Memory) -> Option<PagePath> {
    let file = memory.path.strip_prefix(ROOT).filter(|_| memory.kind == MemoryKind::Knowledge)?;
    PagePath::of_file(file.trim_start_matches('/'))
}
