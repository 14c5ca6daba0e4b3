//! Sentences that state a decision in words.
//!
//! A sentence counts only if it begins with a cue of one small table and has no word of doubt. A missed decision costs
//! nothing, because `muninn remember` records it; a wrong one misleads later prompts. So questions, conditions, quotations,
//! code, tables and a person's words about themselves are left out, and a sentence is kept whole or not at all.

use muninn_base::RelPath;
use muninn_text::model::answer::plain;
use muninn_text::redact::redact;
use serde_json::Number;

use super::MOST_CONFIDENCE;
use crate::records::{Body, Statement, kinds};

/// The beginnings of sentences that state a decision.
const CUES: [&str; 18] = [
    "decision:", "decided:", "the decision is", "the decision was", "it was decided", "it is decided", "we decided",
    "we have decided", "we've decided", "we agreed", "we have agreed", "we've agreed", "we settled on",
    "we have settled on", "we've settled on", "from now on", "from here on", "going forward",
];
/// The beginnings of sentences that state a decision if they also contain a word of [`CONTRASTS`].
const CHOICES: [&str; 4] = ["we will use", "we'll use", "we are going to use", "we're going to use"];
const CONTRASTS: [&str; 2] = [" instead of ", " rather than "];
/// Words that may stand before a cue.
const LEADS: [&str; 12] =
    ["so", "ok", "okay", "yes", "right", "and", "also", "then", "thus", "hence", "therefore", "finally"];
/// Words of conditions, possibilities and open ends.
const DOUBTS: [&str; 30] = [
    "if", "unless", "whether", "would", "could", "might", "may", "maybe", "perhaps", "possibly", "probably", "suppose",
    "supposing", "assume", "assuming", "imagine", "hypothetically", "propose", "proposed", "proposal", "suggest",
    "suggested", "either", "tbd", "undecided", "pending", "unclear", "unsure", "yet", "tentatively",
];
/// Words with which an agent speaks about itself or to its user: it reports, and decides nothing for the project.
const DIALOGUE: [&str; 10] = ["i", "i'll", "i'm", "i've", "i'd", "you", "you'll", "you're", "you've", "your"];
/// Characters of quotations.
const QUOTES: [char; 8] = ['"', '\u{201c}', '\u{201d}', '\u{201e}', '\u{2018}', '\u{ab}', '\u{bb}', '\u{300c}'];

/// The least words of a sentence, cue included; the longest one in bytes.
const LEAST_WORDS: usize = 5;
const LONGEST: usize = 400;
/// The most decisions of one text. A text with more is a log or a document, and has none.
const MOST: usize = 5;

/// The speaker of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The person who asked.
    User,
    /// The agent, in its last answer.
    Agent,
}

/// A sentence that states a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The sentence on one line, redacted.
    pub text: String,
    pub speaker: Speaker,
    /// The files that it names.
    pub files: Vec<RelPath>,
}

impl Speaker {
    /// The author of the speaker's records. The colon sets it apart from a person's name.
    pub fn author(self) -> &'static str {
        match self {
            Speaker::User => "conversation:user",
            Speaker::Agent => "conversation:agent",
        }
    }

    /// The confidence of the speaker's decisions.
    pub(super) fn confidence(self) -> f64 {
        match self {
            Speaker::User => MOST_CONFIDENCE,
            Speaker::Agent => 0.4,
        }
    }
}

impl Decision {
    /// The text without the words that announce a decision.
    pub fn statement(&self) -> &str {
        let announced = self.text.split_once(": ").filter(|(before, _)| before.to_lowercase().ends_with("decision"));
        announced.map_or(&*self.text, |(_, statement)| statement)
    }

    /// The record's content. The text is redacted again, because the caller may have made it.
    pub(super) fn body(&self) -> Body {
        Body::Learning(kinds::Learning {
            text: plain(&self.text),
            subject: None,
            confidence: Number::from_f64(self.speaker.confidence()),
            author: Some(self.speaker.author().to_owned()),
        })
    }
}

/// Whether this author's learnings are sentences of a conversation: nobody asked for them to be recorded.
pub fn is_overheard(author: &str) -> bool {
    [Speaker::User, Speaker::Agent].iter().any(|speaker| speaker.author() == author)
}

/// The sentences of a text that state a decision, each once, redacted.
pub fn decisions(text: &str, speaker: Speaker) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    // Some secrets are recognised by their lines, so they are removed before the lines are joined.
    for paragraph in paragraphs(&redact(text)) {
        for sentence in sentences(&paragraph) {
            if states_decision(sentence, speaker) {
                let sentence = plain(sentence);
                let statement = Statement::of_text(&sentence);
                let is_new = found.iter().all(|known| !Statement::of_text(known).equals(statement));
                if is_new && sentence.len() <= LONGEST {
                    found.push(sentence);
                }
            }
        }
    }
    if found.len() > MOST { Vec::new() } else { found }
}

/// The paragraphs and list entries of prose, each on one line, without markers and emphasis. Code, quotations and tables are
/// left out.
fn paragraphs(text: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        let mark = fence_of(trimmed);
        let is_code = fence.is_some() || mark.is_some();
        match (fence, mark) {
            (None, Some(_)) => fence = mark,
            // A shorter mark, or one with a language, is content of the block.
            (Some(open), Some(mark)) if mark.starts_with(open) && mark == trimmed => fence = None,
            _ => {}
        }
        let is_prose = !is_code && !is_indented(line) && !trimmed.starts_with(['>', '|', '<']);
        let (is_entry, rest) = without_marker(trimmed);
        if trimmed.is_empty() || !is_prose || is_entry {
            paragraphs.push(String::new());
        }
        if let (true, Some(paragraph)) = (is_prose, paragraphs.last_mut()) {
            paragraph.push_str(&rest.replace("**", ""));
            paragraph.push(' ');
        }
    }
    paragraphs.retain(|paragraph| !paragraph.trim().is_empty());
    paragraphs
}

/// The mark at the beginning of a line that opens or closes a block of code.
fn fence_of(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    Some(&line[..line.len() - rest.len()]).filter(|run| run.len() >= 3)
}

/// Whether a line is code by its indentation.
fn is_indented(line: &str) -> bool {
    line.starts_with('\t') || line.starts_with("    ")
}

/// A line without the marker of a heading or list entry, and whether it had one.
fn without_marker(line: &str) -> (bool, &str) {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let after_number = || number.strip_prefix(". ").or_else(|| number.strip_prefix(") "));
    let entry = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark));
    let heading = || Some(line.trim_start_matches('#')).filter(|rest| rest.len() < line.len() && rest.starts_with(' '));
    let numbered = || after_number().filter(|_| number.len() < line.len());
    match entry.or_else(heading).or_else(numbered) {
        Some(rest) => (true, rest.trim_start()),
        None => (false, line),
    }
}

/// The sentences of a paragraph, with their last mark. A mark before a word in lower case ends no sentence.
fn sentences(paragraph: &str) -> Vec<&str> {
    let (mut sentences, mut from) = (Vec::new(), 0);
    for (at, mark) in paragraph.char_indices() {
        let end = at + mark.len_utf8();
        let after = &paragraph[end..];
        let next = after.trim_start().chars().next();
        let ends = matches!(mark, '.' | '!' | '?')
            && after.starts_with(char::is_whitespace)
            && next.is_none_or(|next| !next.is_lowercase());
        if ends {
            sentences.push(paragraph[from..end].trim());
            from = end;
        }
    }
    sentences.push(paragraph[from..].trim());
    sentences
}

fn states_decision(sentence: &str, speaker: Speaker) -> bool {
    if sentence.contains(QUOTES) || sentence.contains(" '") || sentence.contains('?') {
        return false;
    }
    let spoken = without_code(sentence).to_lowercase().replace('\u{2019}', "'");
    let words: Vec<&str> =
        spoken.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).collect();
    let has_any = |listed: &[&str]| words.iter().any(|word| listed.contains(word));
    let is_stated = begins_with_cue(&spoken) && sentence.split_whitespace().count() >= LEAST_WORDS;
    is_stated && !has_any(&DOUBTS) && (speaker == Speaker::User || !has_any(&DIALOGUE))
}

/// Whether a sentence in lower case begins with a cue, after words of [`LEADS`].
fn begins_with_cue(sentence: &str) -> bool {
    let mut rest = sentence.trim_start();
    while let Some((word, after)) = rest.split_once([' ', ','])
        && LEADS.contains(&word)
    {
        rest = after.trim_start_matches([' ', ',']);
    }
    let begins = |cue: &&str| {
        let after = rest.strip_prefix(*cue);
        after.is_some_and(|after| !after.starts_with(char::is_alphanumeric))
    };
    let is_choice = || CHOICES.iter().any(begins) && CONTRASTS.iter().any(|word| rest.contains(word));
    CUES.iter().any(begins) || is_choice()
}

/// The sentence with each span of code as one placeholder: words of code are no cues and no doubts.
fn without_code(sentence: &str) -> String {
    let parts: Vec<&str> = sentence.split('`').collect();
    let spoken = parts.iter().enumerate().map(|(at, part)| if at % 2 == 0 { part } else { "code" });
    spoken.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(text: &str) -> Vec<String> {
        decisions(text, Speaker::Agent)
    }

    #[test]
    fn cue_words_at_the_beginning_state_a_decision() {
        for stated in [
            "We decided to keep invoices in cents.",
            "We've decided against caching in `src/storage.rs`.",
            "We agreed that migrations run once at startup.",
            "Decision: the ledger uses WAL mode.",
            "So, from now on all timestamps are UTC.",
            "From now on, every error names its path!",
            "We will use reqwest instead of curl.",
            "We'll use SQLite rather than Postgres for the ledger",
            "OK, we\u{2019}ve settled on one writer per file.",
            "It was decided that `if let` chains are fine here.",
            "Going forward, tests should not sleep.",
        ] {
            assert_eq!(agent(stated), [stated], "{stated}");
            assert_eq!(decisions(stated, Speaker::User), [stated]);
        }
    }

    #[test]
    fn questions_conditions_quotations_and_doubts_state_none() {
        for open in [
            "Have we decided to keep cents?",
            "We decided to keep cents, right?",
            "If we decided to keep cents, the parser would change.",
            "From now on, if a test fails, the run stops.",
            "We would use reqwest instead of curl.",
            "We will use reqwest for the client.",
            "We use an iterator instead of a list here.",
            "We might have decided to keep cents.",
            "He wrote \"we decided to keep cents\" there.",
            "We decided that \u{201c}cents\u{201d} is the unit of all totals.",
            "We decided nothing yet about the unit.",
            "Decision: TBD after the next review.",
            "Decision: pending, see the review notes.",
            "The team said we decided to keep cents.",
            "`we decided` is the cue of this table.",
            "We decided it.",
            "We decidedly prefer cents over floats here.",
            "The undecided: keep cents or floats.",
            "Maybe we agreed to keep cents in there.",
            "Use reqwest instead of curl in this file.",
        ] {
            assert_eq!(agent(open), [""; 0], "{open}");
            assert_eq!(decisions(open, Speaker::User), [""; 0], "{open}");
        }
    }

    #[test]
    fn agent_that_speaks_of_itself_or_its_reader_decides_nothing() {
        for (said, is_decision_of_user) in [
            ("From now on I will run the tests first.", true),
            ("From now on, you can pass `--fast` to the runner.", true),
            ("Going forward, your parser is a single pass.", true),
        ] {
            assert_eq!(agent(said), [""; 0], "{said}");
            assert_eq!(!decisions(said, Speaker::User).is_empty(), is_decision_of_user);
        }
    }

    #[test]
    fn prose_is_read_and_code_tables_and_quotations_are_not() {
        let text = "Done.\n\n## Decision: totals are kept in cents\n\n- **Decision:** one writer per file. It is simple.\n\
                    Some prose, and then\nsome more. We agreed to\n  retry twice, e.g. after a reset.\n\n\
                    > We decided to quote others at length.\n\n| We decided to | draw a table |\n\n\
                    ```text\nWe decided to print code here.\n```\n\n    We decided to indent code here.\n";
        let expected = [
            "Decision: totals are kept in cents",
            "Decision: one writer per file.",
            "We agreed to retry twice, e.g. after a reset.",
        ];
        assert_eq!(agent(text), expected);
        for code in ["```\nx\n~~~\n", "````md\n```\n", "```sh\nx\n```sh\n"] {
            assert_eq!(agent(&format!("{code}We decided to print code here.\n")), [""; 0], "{code}");
        }
        assert_eq!(agent("```\nx\n```\nWe decided to print it here.\n").len(), 1);
    }

    #[test]
    fn repeated_long_and_numerous_sentences_are_left_out() {
        let twice = "We decided to keep cents. And more.\n\n1. We  decided to keep the cents.";
        assert_eq!(agent(twice), ["We decided to keep cents."]);
        let signs = "We decided to write it in C. We decided to write it in C++.";
        assert_eq!(agent(signs).len(), 2, "signs count");
        let long = format!("We decided to keep {}.", "very ".repeat(100));
        assert_eq!(agent(&long), [""; 0]);
        let log: String = (0..=MOST).map(|number| format!("We decided to keep number {number}.\n\n")).collect();
        assert_eq!(agent(&log), [""; 0]);
    }

    #[test]
    fn secrets_are_redacted() {
        let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        let found = agent(&format!("We decided to sign releases with {token} in CI."));
        assert_eq!(found, ["We decided to sign releases with [redacted:github-token] in CI."]);
    }

    #[test]
    fn any_text_is_read_without_a_panic() {
        for text in ["", "```", "####", "1.", "- ", "\u{e9}. \u{df}?", "we decided", "`", "a`b`c`"] {
            assert_eq!(agent(text), [""; 0], "{text}");
        }
    }
}
