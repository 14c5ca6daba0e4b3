//! Records, a gateway over their repository, and an engine beside: which records a question gets, and why.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Result;
use muninn_context_engine::{Engine, EngineSettings};
use muninn_repo_tools::Worktree;
use muninn_tests::TestEnv;

use super::turns::{Client, Message, Stage};

pub(crate) struct Remembered {
    stage: Stage,
    engine: Engine,
    /// The number of each record, by its id.
    numbers: HashMap<String, usize>,
}

impl Remembered {
    pub(crate) fn start(home: TestEnv, root: &Path, numbers: HashMap<String, usize>) -> Result<Self> {
        let stage = Stage::start(home, root, "");
        let engine = Engine::open(Worktree::discover(root)?, EngineSettings::default());
        engine.refresh(&())?;
        engine.embed(&|| true);
        Ok(Self { stage, engine, numbers })
    }

    /// Asks a question in a session of its own, and returns the packed records.
    pub(crate) fn packed(&self, question: &str, session: usize) -> Result<Vec<usize>> {
        let receipt = self.stage.send(Client::WithTools, &format!("s{session}"), &[Message::user(question)])?;
        let packed = receipt.items.iter().filter_map(|item| self.numbers.get(&item.source));
        Ok(packed.copied().collect())
    }

    /// The records that recall ranks first, with the features of their admission and, last, their probability.
    pub(crate) fn ranked(&self, question: &str) -> Vec<(usize, Vec<f32>)> {
        let ranked = self.engine.memory_features(question).into_iter();
        ranked.filter_map(|(id, features)| Some((*self.numbers.get(&id)?, features))).collect()
    }
}
