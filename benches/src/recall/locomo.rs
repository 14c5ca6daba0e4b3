//! LoCoMo's file (Maharana et al., ACL 2024): conversations over many sessions, and questions with the turns that answer
//! them.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::harness::at;

pub(super) struct Conversation {
    pub(super) id: String,
    pub(super) turns: Vec<Turn>,
    pub(super) questions: Vec<Question>,
}

pub(super) struct Turn {
    pub(super) session: usize,
    /// When that session was: `2023-05-08T13:56:00Z`.
    pub(super) time: String,
    /// Speaker, text, and the caption of a shared picture.
    pub(super) text: String,
}

pub(super) struct Question {
    pub(super) text: String,
    /// 1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial.
    pub(super) category: u8,
    /// The turns that answer it, as places in [`Conversation::turns`], each once. Never empty.
    pub(super) evidence: Vec<usize>,
}

#[derive(Deserialize)]
struct RawConversation {
    sample_id: String,
    conversation: Map<String, Value>,
    qa: Vec<RawQuestion>,
}

#[derive(Deserialize)]
struct RawQuestion {
    question: String,
    #[serde(default)]
    evidence: Vec<String>,
    category: u8,
}

#[derive(Deserialize)]
struct RawTurn {
    speaker: String,
    dia_id: String,
    text: String,
    blip_caption: Option<String>,
}

/// Reads a file. Questions without any evidence in the conversation are left out, as the paper does.
pub(super) fn read(path: &Path) -> Result<Vec<Conversation>> {
    let text = std::fs::read(path).with_context(at(path))?;
    let raw = serde_json::from_slice::<Vec<RawConversation>>(&text);
    let read = raw.map_err(Into::into).and_then(|raw| raw.into_iter().map(conversation).collect());
    read.with_context(|| format!("{path:?} is no file of LoCoMo"))
}

fn conversation(raw: RawConversation) -> Result<Conversation> {
    let mut turns = Vec::new();
    let mut places = HashMap::new();
    for session in 1.. {
        let Some(time) = raw.conversation.get(&format!("session_{session}_date_time")) else {
            break;
        };
        let time = time_of(time.as_str().unwrap_or_default())?;
        // Some sessions have a date and no turns.
        let said = raw.conversation.get(&format!("session_{session}")).cloned();
        let said: Vec<RawTurn> = serde_json::from_value(said.unwrap_or(Value::Array(Vec::new())))?;
        for turn in said {
            let shared = turn.blip_caption.map(|caption| format!(" and shared {caption}"));
            places.insert(turn.dia_id, turns.len());
            turns.push(Turn {
                session,
                time: time.clone(),
                text: format!("{} said, \"{}\"{}", turn.speaker, turn.text, shared.unwrap_or_default()),
            });
        }
    }
    let question = |raw: RawQuestion| {
        let evidence = evidence(&raw.evidence, &places);
        (!evidence.is_empty()).then_some(Question { text: raw.question, category: raw.category, evidence })
    };
    let questions = raw.qa.into_iter().filter_map(question).collect();
    Ok(Conversation { id: raw.sample_id, turns, questions })
}

/// A few fields hold several ids, and a few ids are of no turn.
fn evidence(ids: &[String], places: &HashMap<String, usize>) -> Vec<usize> {
    let ids = ids.iter().flat_map(|ids| ids.split([';', ' ', '\t', '\n']));
    let mut found: Vec<usize> = ids.filter_map(|id| places.get(id).copied()).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// `1:56 pm on 8 May, 2023` in the form of records.
fn time_of(text: &str) -> Result<String> {
    let parsed = || {
        let (clock, date) = text.split_once(" on ")?;
        let (time, half) = clock.split_once(' ')?;
        let (hour, minute) = time.split_once(':')?;
        let hour: u8 = hour.parse().ok().filter(|hour| (1..=12).contains(hour))?;
        let hour = hour % 12 + if half == "pm" { 12 } else { 0 };
        let minute: u8 = minute.parse().ok().filter(|minute| *minute < 60)?;
        let mut words = date.split([' ', ',']).filter(|word| !word.is_empty());
        let day: u8 = words.next()?.parse().ok()?;
        let name = words.next()?;
        let month = MONTHS.iter().position(|month| *month == name)? + 1;
        let year: u16 = words.next()?.parse().ok()?;
        Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:00Z"))
    };
    parsed().with_context(|| format!("{text:?} is no time such as \"1:56 pm on 8 May, 2023\""))
}

const MONTHS: [&str; 12] = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_and_questions_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("l.json");
        let text = r#"[{"sample_id":"c1","conversation":{"speaker_a":"A",
            "session_1_date_time":"12:09 am on 13 September, 2023",
            "session_1":[{"speaker":"A","dia_id":"D1:1","text":"hi"},
                         {"speaker":"B","dia_id":"D1:2","text":"see","blip_caption":"a cat"}],
            "session_2_date_time":"1:56 pm on 8 May, 2024"},
            "qa":[{"question":"q1","evidence":["D1:2; D1:1","D9:9","D1:1"],"category":1,"answer":3},
                  {"question":"q2","evidence":["D:1"],"category":2},{"question":"q3","evidence":[],"category":5}]}]"#;
        std::fs::write(&path, text).unwrap();
        let read = read(&path).unwrap();
        let texts: Vec<&str> = read[0].turns.iter().map(|turn| turn.text.as_str()).collect();
        assert_eq!(texts, ["A said, \"hi\"", "B said, \"see\" and shared a cat"]);
        assert_eq!(read[0].turns[1].time, "2023-09-13T00:09:00Z");
        assert_eq!(read[0].questions.len(), 1, "those without evidence do not count");
        assert_eq!(read[0].questions[0].evidence, [0, 1]);
    }
}
