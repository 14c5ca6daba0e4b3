//! Records, a gateway over their repository, and an engine beside: which records a question gets, and why.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, ensure};
use muninn_base::Supervisor;
use muninn_context_engine::{Engine, EngineSettings};
use muninn_repo_tools::Worktree;
use muninn_tests::TestEnv;
use muninn_text::embed;

use super::turns::{Client, Message, Stage};
use crate::gateway::muninn;

pub(crate) struct Remembered {
    stage: Stage,
    engine: Engine,
    /// The number of each record, by its id.
    numbers: HashMap<String, usize>,
}

impl Remembered {
    /// `minilm` is the directory of its files; without it, static vectors serve.
    pub(crate) fn start(
        home: TestEnv,
        root: &Path,
        numbers: HashMap<String, usize>,
        minilm: Option<&Path>,
    ) -> Result<Self> {
        let engine = Engine::open(Worktree::discover(root)?, EngineSettings::default());
        if let Some(directory) = minilm {
            let pulled = muninn(&home).args(["model", "pull", "--from"]).arg(directory).output()?;
            ensure!(pulled.status.success(), "{}", String::from_utf8_lossy(&pulled.stderr));
            engine.set_encoder(Some(Arc::from(embed::minilm(directory, &Supervisor::default())?)));
        }
        let stage = Stage::start(home, root, "");
        engine.refresh(&())?;
        engine.embed(&|| true, &|_, _| ());
        Ok(Self { stage, engine, numbers })
    }

    /// Asks a question in a session of its own, and returns the records that are packed in full, and those that are named.
    pub(crate) fn packed(&self, question: &str, session: usize) -> Result<[Vec<usize>; 2]> {
        let receipt = self.stage.send(Client::WithTools, &format!("s{session}"), &[Message::user(question)])?;
        let of_kind = |kind: &str| {
            let items = receipt.items.iter().filter(|item| item.kind == kind);
            items.filter_map(|item| self.numbers.get(&item.source)).copied().collect()
        };
        Ok([of_kind("memory"), of_kind("hint")])
    }

    /// The records that recall ranks first, with the features of their admission and their probability.
    pub(crate) fn ranked(&self, question: &str) -> Vec<(usize, BTreeMap<&'static str, f32>)> {
        let ranked = self.engine.memory_features(question).into_iter();
        ranked.filter_map(|(id, features)| Some((*self.numbers.get(&id)?, features.into_iter().collect()))).collect()
    }
}
