//! The table of doors against the routes and the tools, and against its copy in the documentation.

use std::path::Path;

use muninn_backend::access::{Door, page};
use muninn_context_engine::tools::Effect;
use muninn_core::{ToolSet, client_tools};

use super::routes;
use crate::gate::ELSEWHERE;

/// The endpoint of the MCP server, which another module mounts.
const MCP: &str = "/mcp";

/// The routes and tools that a door is reached by.
fn reached_by(door: Door) -> Vec<String> {
    let paths = routes().into_iter().filter(|route| route.door == door);
    let mut paths: Vec<&str> = paths.map(|route| route.path).collect();
    // They are below one prefix.
    if matches!(door, Door::ReadWiki | Door::WriteWiki) {
        paths.sort_unstable();
    }
    let shown = |path: &str| match path {
        ELSEWHERE => "every other path".to_owned(),
        path => format!("`{}`", path.replace("{*page}", "PAGE").replace("{*path}", "...")),
    };
    let mut reached: Vec<String> = paths.into_iter().map(shown).collect();
    let tools = client_tools().iter().filter(|tool| tool.door() == door);
    reached.extend(tools.map(|tool| format!("`{}`", tool.name())));
    reached.extend(match door {
        Door::Details => vec!["`/healthz`".to_owned()],
        Door::Mcp => vec![format!("`{MCP}`")],
        Door::ReadTools => vec!["`muninn://knowledge/`".to_owned(), "`muninn://memory/`".to_owned()],
        Door::Receipts => vec!["`muninn://receipt/`".to_owned()],
        Door::Learn | Door::PersonalInPrompts => vec!["conversations".to_owned()],
        Door::Hooks => vec!["`muninn hook`".to_owned()],
        _ => Vec::new(),
    });
    reached
}

#[test]
fn each_door_is_reached_by_something() {
    for door in page::doors() {
        assert!(!reached_by(door).is_empty(), "{}", door.name());
    }
}

/// A tool that writes but says that it reads would be open to strangers.
#[test]
fn doors_of_tools_agree_with_what_they_change() {
    for tool in client_tools() {
        let expected = match (tool.set, tool.description.effect) {
            (ToolSet::Personal, _) => Door::PersonalTools,
            (_, Effect::Reads) => Door::ReadTools,
            _ => Door::WriteTools,
        };
        assert_eq!(tool.door(), expected, "{}", tool.name());
    }
}

/// Only the gate adds routes, so that each has a door.
#[test]
fn routes_are_added_in_one_place() {
    let mut found = Vec::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.file_name().is_some_and(|name| name != "tests.rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                if !text.contains("axum") {
                    continue;
                }
                let calls = [".route(", ".route_service(", ".nest(", ".nest_service(", ".fallback(", ".merge("];
                found.extend(calls.iter().filter(|call| text.contains(*call)).map(|call| {
                    let file = path.file_name().unwrap().to_string_lossy();
                    format!("{file}: {call}")
                }));
            }
        }
    }
    assert_eq!(found, ["gate.rs: .route("], "routes are declared with `Route::new`");
}

#[test]
fn documented_table_is_the_real_one() {
    const BEGIN: &str = "<!-- The table of doors. `UPDATE_GOLDEN=1 cargo test` writes it. -->\n";
    const END: &str = "<!-- The end of the table. -->\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sharing.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let table = page::table(reached_by);
    muninn_tests::assert_golden(&path, &format!("{before}{BEGIN}\n{table}\n{END}{after}"));
}
