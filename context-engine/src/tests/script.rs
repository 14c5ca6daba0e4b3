//! A scripted model that checks the conversation like a server.

use std::collections::VecDeque;
use std::time::Duration;

use muninn_base::Until;
use muninn_text::model::{Message, Model, ModelError, ModelRequest, Reply, ToolInvocation};
use parking_lot::Mutex;

use crate::Engine;
use crate::explore::{DeepLimits, ExploreOutcome};

/// A model that gives one reply after the other, and repeats the last one.
pub(super) struct Script {
    replies: Mutex<VecDeque<Result<Reply, u16>>>,
    /// The received requests, formatted.
    heard: Mutex<Vec<String>>,
}

impl Script {
    pub(super) fn new(replies: impl IntoIterator<Item = Result<Reply, u16>>) -> Self {
        Self { replies: Mutex::new(replies.into_iter().collect()), heard: Mutex::new(Vec::new()) }
    }

    pub(super) fn says(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::new(replies.into_iter().map(Ok))
    }

    pub(super) fn heard(&self, turn: usize) -> String {
        self.heard.lock()[turn].clone()
    }
}

impl Model for Script {
    fn id(&self) -> &str {
        "test/script"
    }

    fn ask(&self, ask: &ModelRequest<'_>, _: &Until) -> Result<Reply, ModelError> {
        check(ask);
        let heard = format!("{}\n{:?}\n{:?}\n{:?}", ask.system, ask.messages, ask.tools.len(), ask.choice);
        self.heard.lock().push(heard);
        let mut replies = self.replies.lock();
        let reply = match replies.len() {
            1 => replies[0].clone(),
            _ => replies.pop_front().unwrap(),
        };
        reply.map_err(|status| ModelError::Refused {
            model: "test/script".to_owned(),
            status,
            message: "no".to_owned(),
        })
    }
}

/// Checks the rules of every server: alternating roles, and one result directly after each call.
fn check(ask: &ModelRequest<'_>) {
    assert!(!matches!(ask.messages.last(), Some(Message::Assistant { .. }) | None));
    assert!(matches!(ask.messages.first(), Some(Message::User(_))));
    for pair in ask.messages.windows(2) {
        match pair {
            [Message::Assistant { calls, .. }, next] if !calls.is_empty() => {
                let Message::Results(results) = next else { panic!("calls without results: {next:?}") };
                let ids = |ids: Vec<&String>| ids.into_iter().cloned().collect::<Vec<_>>();
                let asked = ids(calls.iter().map(|call| &call.id).collect());
                assert_eq!(asked, ids(results.iter().map(|result| &result.id).collect()));
                let mut once = asked.clone();
                once.sort_unstable();
                once.dedup();
                assert_eq!(once.len(), asked.len(), "each id once");
                for call in calls {
                    assert!(
                        serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&call.arguments).is_ok()
                    );
                }
            }
            [Message::Results(_) | Message::User(_), Message::Results(_)] => panic!("results of nothing"),
            _ => {}
        }
    }
}

pub(super) fn calls(made: &[(&str, &str)]) -> Reply {
    let call = |(at, (name, arguments)): (usize, &(&str, &str))| ToolInvocation {
        id: format!("call_{at}"),
        name: (*name).to_owned(),
        arguments: (*arguments).to_owned(),
    };
    Reply { calls: made.iter().enumerate().map(call).collect(), ..Reply::default() }
}

pub(super) fn words(text: &str) -> Reply {
    Reply { text: text.to_owned(), ..Reply::default() }
}

pub(super) fn deep() -> DeepLimits {
    DeepLimits { until: Until::within(Duration::from_secs(600)), ..DeepLimits::default() }
}

pub(super) const QUESTION: &str = "How long does a retry wait before it asks the backend again?";

pub(super) fn explore(engine: &Engine, script: &Script) -> ExploreOutcome {
    engine.explore_deep(QUESTION, &deep(), script, &())
}
