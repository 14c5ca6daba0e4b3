//! The table of doors and kinds of callers: the only place that says who may do what.
//!
//! Each route of the HTTP server and each tool of the MCP server is declared with its [`Door`]. [`Caller::may`] reads the
//! table, before a route's handler or a tool runs. A handler then applies the restrictions that depend on the request: the
//! names of models and backends, and the directory.

#[cfg(any(test, feature = "fixture"))]
pub mod page;

use thiserror::Error;

use super::Denied;
use muninn_wire::error::ErrorKind;

/// Something that callers ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// Whether the process runs.
    Liveness,
    /// The state of the gateway with the paths of its directories, which errors then also name.
    Details,
    /// The root page, and paths that do not exist.
    Elsewhere,
    /// A conversation with a model.
    Converse,
    /// The tokens of a prompt.
    CountTokens,
    ListModels,
    /// Embeddings and completions, whose model is checked.
    Complete,
    /// The other paths of the API, whose requests are forwarded without inspection.
    Forward,
    /// The metrics of all callers.
    Metrics,
    /// The pages of the wiki.
    ReadWiki,
    /// Changes of the wiki.
    WriteWiki,
    /// The Model Context Protocol: handshake, lists and prompts.
    Mcp,
    /// Tools that read the repository and the team's memory.
    ReadTools,
    WriteTools,
    /// Records and worklog lines that are made of conversations.
    Learn,
    /// Tools of personal memory.
    PersonalTools,
    /// Receipts of the caller's own requests.
    Receipts,
    /// Personal memory in prompts: the files that are always loaded, and notes.
    PersonalInPrompts,
    Hooks,
}

/// A kind of callers: a column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallerKind {
    /// A program of the user on the daemon's socket, which checks its peer, or on the standard streams.
    Local,
    /// No keys are configured, and the peer's process belongs to the user of this process.
    OwnProcess,
    /// No keys are configured, and the peer's process belongs to another user, or the system does not tell, or the request
    /// is that of a web page of this machine.
    OtherProcess,
    /// The holder of a key without restrictions.
    Key,
    /// The holder of a key that is restricted to models, backends or directories.
    RestrictedKey,
    /// The holder of the key that `[personal] key` names. If that key is restricted, the column counts for the doors of
    /// personal memory only.
    PersonalKey,
    /// Keys are configured, and the request has none or an unknown one.
    NoKey,
    /// A web page of another origin, or a request for another host. It is refused before it has a caller.
    WebPage,
}

/// A cell of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    Open,
    /// Open for the models and backends of the key.
    ItsModels,
    /// Open for the directories of the key.
    ItsRoots,
    Closed,
}

/// A row of the table.
struct Row {
    door: Door,
    /// What is asked for, in a sentence such as "the key cannot use ...".
    name: &'static str,
    /// The rules of each [`CallerKind`], in their order.
    rules: [Rule; 8],
}

const fn row(door: Door, name: &'static str, rules: [Rule; 8]) -> Row {
    Row { door, name, rules }
}

/// The table. A door's row is at its number.
const TABLE: [Row; 19] = {
    use Door as D;
    use Rule::{Closed as N, ItsModels as M, ItsRoots as R, Open as Y};
    // Local, OwnProcess, OtherProcess, Key, RestrictedKey, PersonalKey, NoKey, WebPage
    [
        row(D::Liveness, "`ok` of the health check", [Y, Y, Y, Y, Y, Y, Y, N]),
        row(D::Details, "details of the health check, and directories in errors", [Y, Y, N, Y, N, Y, N, N]),
        row(D::Elsewhere, "the root page and unknown paths", [Y, Y, Y, Y, Y, Y, N, N]),
        row(D::Converse, "conversations", [Y, Y, Y, Y, M, Y, N, N]),
        row(D::CountTokens, "token counting", [Y, Y, Y, Y, M, Y, N, N]),
        row(D::ListModels, "the list of models", [Y, Y, Y, Y, M, Y, N, N]),
        row(D::Complete, "embeddings, completions and compaction", [Y, Y, Y, Y, M, Y, N, N]),
        row(D::Forward, "other paths of the API, whose requests are not inspected", [Y, Y, Y, Y, N, Y, N, N]),
        row(D::Metrics, "the metrics of all callers", [Y, Y, Y, Y, N, Y, N, N]),
        row(D::ReadWiki, "the wiki", [Y, Y, Y, Y, R, Y, N, N]),
        row(D::WriteWiki, "changes of the wiki", [Y, Y, N, Y, N, Y, N, N]),
        row(D::Mcp, "the MCP endpoint: handshake, lists and prompts", [Y, Y, Y, Y, Y, Y, N, N]),
        row(D::ReadTools, "tools and resources that read", [Y, Y, Y, Y, R, Y, N, N]),
        row(D::WriteTools, "tools that write", [Y, Y, N, Y, N, Y, N, N]),
        row(D::Learn, "learning and the worklog from conversations", [Y, Y, N, Y, N, Y, N, N]),
        row(D::PersonalTools, "tools of personal memory", [Y, Y, N, N, N, Y, N, N]),
        row(D::Receipts, "receipts of its own requests", [Y, Y, N, Y, R, Y, N, N]),
        row(D::PersonalInPrompts, "personal memory in prompts", [Y, Y, N, N, N, Y, N, N]),
        row(D::Hooks, "hooks", [Y, N, N, N, N, N, N, N]),
    ]
};

// A door finds its row by its number.
const _: () = {
    let mut number = 0;
    while number < TABLE.len() {
        assert!(TABLE[number].door as usize == number);
        number += 1;
    }
};

impl Door {
    /// What is asked for, as a noun phrase.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The rule for a kind of callers.
    pub fn rule(self, kind: CallerKind) -> Rule {
        self.row().rules[kind as usize]
    }

    /// Whether the rule depends on the owner of a peer's process.
    pub(super) fn depends_on_owner(self) -> bool {
        self.rule(CallerKind::OwnProcess) != self.rule(CallerKind::OtherProcess)
    }

    /// Whether something of the team is written behind it.
    pub(super) fn writes(self) -> bool {
        matches!(self, Door::WriteTools | Door::WriteWiki | Door::Learn)
    }

    /// Whether it is one of personal memory.
    pub(super) fn is_personal(self) -> bool {
        matches!(self, Door::PersonalTools | Door::PersonalInPrompts)
    }

    fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }
}

/// A door that is closed for a caller. The text names no directory: it may be for a stranger.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum ClosedDoor {
    /// The request has no valid key, or too many came with it.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The key is restricted.
    #[error("the access key `{key}` is restricted and cannot use {}", door.name())]
    Restricted {
        /// The key's name.
        key: String,
        door: Door,
    },
    /// Personal memory is its owner's.
    #[error(
        "{} are for their owner only: use `muninn mcp`, or the access key that `[personal] key` names; without keys, the \
         program must run as the user that runs the gateway",
        .0.name()
    )]
    Personal(Door),
    /// The peer's process is not known to belong to the user.
    #[error(
        "{} need a program of the user that runs the gateway, and this one belongs to another user or its user is not \
         known: use `muninn mcp`, or make an access key with `muninn key new NAME`",
        .0.name()
    )]
    OtherUser(Door),
}

impl ClosedDoor {
    /// The kind of error that the client gets.
    pub fn kind(&self) -> ErrorKind {
        match self {
            ClosedDoor::Denied(denied) => denied.kind(),
            ClosedDoor::Restricted { .. } | ClosedDoor::Personal(_) | ClosedDoor::OtherUser(_) => ErrorKind::Permission,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_differ_as_the_rules_of_sharing_say() {
        for row in &TABLE {
            let rule = |kind: CallerKind| row.door.rule(kind);
            let name = row.name;
            assert_eq!(rule(CallerKind::Local), Rule::Open, "{name}");
            assert_eq!(rule(CallerKind::WebPage), Rule::Closed, "{name}");
            let is_live = row.door == Door::Liveness;
            assert_eq!(rule(CallerKind::NoKey) == Rule::Open, is_live, "{name}");
            let free = rule(CallerKind::Key) == Rule::Open;
            assert_eq!(free, !row.door.is_personal() && row.door != Door::Hooks, "{name}");
            // A caller without a key gets no more than one with a key, but for the owner.
            assert!(free || rule(CallerKind::OtherProcess) == Rule::Closed, "{name}");
        }
    }
}
