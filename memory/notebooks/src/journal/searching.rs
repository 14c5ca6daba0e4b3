use muninn_text::embed::StaticVectors;

use super::entry::Entry;
use super::error::JournalError;
use super::search::{FoundEntry, Search, SearchSettings, age_days, found_entry, required};
use super::store::{Journal, READ_FOR_IMAGE};

impl Journal {
    /// The entries that match best in their context and their content. An old entry needs a better match. Without a
    /// `threshold`, that of the settings holds.
    pub fn search(
        &self,
        work_context: &str,
        content: &str,
        threshold: Option<f32>,
        settings: &SearchSettings,
    ) -> Result<Vec<FoundEntry>, JournalError> {
        let chain = self.chain()?;
        let log = self.log(&chain)?;
        let mut search = self.search.lock();
        let Search { index: kept, image } = &mut *search;
        let vectors = StaticVectors::try_shared()?;
        let before = kept.take().unwrap_or_else(|| image.read());
        let known = before.len();
        let index = before.extended(&chain, &log, vectors)?;
        let (now, threshold) = (self.clock.now().as_second(), threshold.unwrap_or(settings.default_salience_threshold));
        let is_wanted = |at: usize, score: f32| {
            let age = log.entries.get(at).map(|entry| age_days(now, entry));
            score > 0.0 && age.is_some_and(|age| score >= required(age, threshold, settings))
        };
        let best = index.best((work_context, content), vectors, settings, is_wanted);
        image.unsaved += index.len().abs_diff(known);
        if image.unsaved >= READ_FOR_IMAGE {
            image.write(&index);
        }
        *kept = Some(index);
        let mut found = Vec::new();
        for (at, scores) in best {
            let Some(entry) = log.entries.get(at) else { continue };
            let text = Entry::parse(&chain.commit(entry.commit)?.message).map(|entry| entry.text);
            found.push(found_entry(entry, text.unwrap_or_default(), scores));
        }
        // Of entries with all words of a query, the one that has them as a quotation comes first.
        let quoted = content.trim().to_lowercase();
        found.sort_by(|a, b| {
            let is_quoted = |entry: &FoundEntry| entry.content.to_lowercase().contains(&quoted);
            let by_score = b.combined_score.total_cmp(&a.combined_score);
            by_score.then_with(|| is_quoted(b).cmp(&is_quoted(a)))
        });
        found.truncate(settings.max_results);
        Ok(found)
    }
}
