//! The main clause of a statement: its first sentence without a reason.

/// Words that begin a reason. A clause before one has at least [`LEAST_WORDS`] words.
const BEGIN_REASON: [&str; 9] =
    ["because", "since", "so that", "now that", "due to", "as long as", "in order to", "weil", "damit"];
const LEAST_WORDS: usize = 3;
/// Minimum length of a first sentence, in bytes: a shorter one may be an abbreviation.
const SHORTEST_SENTENCE: usize = 15;

/// The beginning of a statement, up to its reason or the end of its first sentence; all of it if it has only one.
pub fn main_clause(text: &str) -> &str {
    let text = text.lines().next().unwrap_or_default().trim();
    let mut words = 0;
    let mut start = 0;
    for part in text.split_inclusive(char::is_whitespace) {
        let rest = text[start..].to_lowercase();
        let begins = |reason: &str| {
            rest.strip_prefix(reason).is_some_and(|after| after.is_empty() || after.starts_with(char::is_whitespace))
        };
        let ends = start >= SHORTEST_SENTENCE && text[..start].trim_end().ends_with(['.', ';', '!', '?']);
        if ends || words >= LEAST_WORDS && BEGIN_REASON.into_iter().any(begins) {
            return text[..start].trim_end_matches(|c: char| c.is_whitespace() || c == ',' || c == ';');
        }
        words += usize::from(!part.trim().is_empty());
        start += part.len();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_ends_the_main_clause() {
        for (text, clause) in [
            ("Logs are kept for 30 days because storage is dear.", "Logs are kept for 30 days"),
            ("Logs are kept for a year, since the auditor asked.", "Logs are kept for a year"),
            ("Retries are off now that the bank charges twice", "Retries are off"),
            ("Since March we deploy by hand", "Since March we deploy by hand"),
            ("The sincerity check runs first", "The sincerity check runs first"),
            ("Uploads stay on disk\nreason: cheap", "Uploads stay on disk"),
            ("Uploads stay on the disk. S3 is dear.", "Uploads stay on the disk."),
            ("Use e.g. tar or zip", "Use e.g. tar or zip"),
            ("", ""),
        ] {
            assert_eq!(main_clause(text), clause);
        }
    }
}
