//! The table as Markdown, for docs/sharing.md.

use super::{CallerKind, Door, Rule, TABLE};

/// The columns with their heads.
const COLUMNS: [(CallerKind, &str); 8] = [
    (CallerKind::Local, "socket, stdio"),
    (CallerKind::OwnProcess, "no keys: your program"),
    (CallerKind::OtherProcess, "no keys: another user"),
    (CallerKind::Key, "key"),
    (CallerKind::RestrictedKey, "restricted key"),
    (CallerKind::PersonalKey, "key of `[personal]`"),
    (CallerKind::NoKey, "no valid key"),
    (CallerKind::WebPage, "web page"),
];

/// Renders the table. `reached_by`: the routes and tools of a door.
pub fn table(reached_by: impl Fn(Door) -> Vec<String>) -> String {
    let heads = COLUMNS.map(|(_, head)| format!(" {head} |")).concat();
    let mut page = format!("| door | reached by |{heads}\n|---|---|{}\n", "---|".repeat(COLUMNS.len()));
    for row in &TABLE {
        let rules = COLUMNS.map(|(kind, _)| match row.door.rule(kind) {
            Rule::Open => " yes |",
            Rule::ItsModels => " its models |",
            Rule::ItsRoots => " its roots |",
            Rule::Closed => " no |",
        });
        let reached = reached_by(row.door).join(", ");
        page.push_str(&format!("| {} | {reached} |{}\n", row.name, rules.concat()));
    }
    page
}

pub fn doors() -> impl Iterator<Item = Door> {
    TABLE.iter().map(|row| row.door)
}
