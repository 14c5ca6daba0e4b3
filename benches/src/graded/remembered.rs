//! Records, a gateway over their repository, and an engine beside: which records a question gets, and why.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Result;
use muninn_context_engine::{Engine, EngineSettings};
use muninn_repo_tools::Worktree;
use muninn_tests::{Gateway, TestEnv};

use crate::format::Format;
use crate::gateway_process::{configuration, serve, wait_until_settled};
use crate::stand;
use crate::turns::{Client, Message, send};
use crate::upstream::Upstream;

/// A gateway that answers with records, and an engine beside.
pub(crate) struct Remembered {
    home: TestEnv,
    gateway: Gateway,
    engine: Engine,
    _upstream: Upstream,
    /// The number of each record, by its id.
    numbers: HashMap<String, usize>,
}

impl Remembered {
    /// Starts a gateway and an engine over a repository whose records have these numbers.
    pub(crate) fn start(home: TestEnv, root: &Path, numbers: HashMap<String, usize>) -> Result<Self> {
        let upstream = stand::upstream(0)?;
        home.write_config(&format!("{}[context]\ndeadline_ms = 20000\n", configuration(&upstream, Format::Chat)));
        let gateway = serve(&home, root);
        wait_until_settled(&gateway);
        let engine = Engine::open(Worktree::discover(root)?, EngineSettings::default());
        engine.refresh(&())?;
        engine.embed(&|| true);
        Ok(Self { home, gateway, engine, _upstream: upstream, numbers })
    }

    /// Asks a question in a session of its own, and returns the packed records.
    pub(crate) fn packed(&self, question: &str, session: usize) -> Result<Vec<usize>> {
        let through = (&self.home, &self.gateway);
        let session = format!("s{session}");
        let receipt = send(through, Client::WithTools, &session, &[Message::user(question)])?;
        let packed = receipt.items.iter().filter_map(|item| self.numbers.get(&item.source));
        Ok(packed.copied().collect())
    }

    /// The records that recall ranks first, with the features of their admission and, last, their probability.
    pub(crate) fn ranked(&self, question: &str) -> Vec<(usize, Vec<f32>)> {
        let ranked = self.engine.memory_features(question).into_iter();
        let ranked = ranked.filter_map(|(id, features)| Some((*self.numbers.get(&id)?, features)));
        ranked.collect()
    }
}
