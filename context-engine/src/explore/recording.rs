//! What a model said in an exploration, kept, so that the exploration can be made again without it.
//!
//! A reply is found by what its exploration was asked and by its turn. What the tools return is not recorded: a replay
//! runs them, on the repository as it is then, and so shows what has changed about them.

use std::io::{self, BufRead, Write};
use std::sync::{Mutex, PoisonError};

use muninn_memory::model::{Ask, Message, Model, ModelError, Reply};
use muninn_repo_tools::Until;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::prompt;

/// The replies of one run, one JSON object a line where it is written down.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    model: String,
    exchanges: Vec<Exchange>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Exchange {
    model: String,
    asked: String,
    turn: usize,
    reply: Reply,
}

/// Why a recording cannot be read.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// Its text.
    #[error("the recording cannot be read")]
    Read(#[from] io::Error),
    /// A line of it.
    #[error("line {line} of the recording is none of its lines")]
    Line {
        /// Which, from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

impl Recording {
    /// Reads what [`Self::write`] wrote.
    ///
    /// # Errors
    /// [`RecordingError`], with the line.
    pub fn read(from: impl BufRead) -> Result<Self, RecordingError> {
        let mut exchanges = Vec::new();
        for (at, line) in from.lines().enumerate() {
            let line = line?;
            let exchange = serde_json::from_str(&line);
            exchanges.push(exchange.map_err(|source| RecordingError::Line { line: at + 1, source })?);
        }
        let model = exchanges
            .first()
            .map_or_else(String::new, |first: &Exchange| first.model.clone());
        Ok(Self { model, exchanges })
    }

    /// Writes it, a line for each reply.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        for exchange in &self.exchanges {
            serde_json::to_writer(&mut to, exchange)?;
            to.write_all(b"\n")?;
        }
        to.flush()
    }
}

/// The recorded model. What was not recorded, it cannot say.
impl Model for Recording {
    fn id(&self) -> &str {
        &self.model
    }

    fn ask(&self, ask: &Ask<'_>, _: &Until) -> Result<Reply, ModelError> {
        let (asked, turn) = place(ask);
        let found = self
            .exchanges
            .iter()
            .find(|exchange| exchange.asked == asked && exchange.turn == turn);
        found
            .map(|exchange| exchange.reply.clone())
            .ok_or_else(|| ModelError::Unusable {
                model: self.model.clone(),
                reason: format!("turn {turn} of this exploration was not recorded"),
            })
    }
}

/// A model whose replies are kept on their way.
pub struct Recorder<'m> {
    model: &'m dyn Model,
    exchanges: Mutex<Vec<Exchange>>,
}

impl<'m> Recorder<'m> {
    /// Asks this model.
    pub fn of(model: &'m dyn Model) -> Self {
        let exchanges = Mutex::default();
        Self { model, exchanges }
    }

    /// What was said, in the order in which it came.
    pub fn finish(self) -> Recording {
        Recording {
            model: self.model.id().to_owned(),
            exchanges: self.exchanges.into_inner().unwrap_or_else(PoisonError::into_inner),
        }
    }
}

impl Model for Recorder<'_> {
    fn id(&self) -> &str {
        self.model.id()
    }

    fn ask(&self, ask: &Ask<'_>, until: &Until) -> Result<Reply, ModelError> {
        let reply = self.model.ask(ask, until)?;
        let (asked, turn) = place(ask);
        let mut exchanges = self.exchanges.lock().unwrap_or_else(PoisonError::into_inner);
        exchanges.push(Exchange {
            model: self.model.id().to_owned(),
            asked: asked.to_owned(),
            turn,
            reply: reply.clone(),
        });
        Ok(reply)
    }
}

/// What an exploration was asked, and which turn this is, from 1.
fn place<'a>(ask: &Ask<'a>) -> (&'a str, usize) {
    let opening = match ask.messages.first() {
        Some(Message::User(opening)) => prompt::asked(opening),
        _ => "",
    };
    let said = ask
        .messages
        .iter()
        .filter(|message| matches!(message, Message::Assistant { .. }));
    (opening, said.count() + 1)
}
