//! The tool `explore` of the MCP server.

use muninn_tests::{Reply, TestEnv, Upstream};
use serde_json::{Value, json};

use super::stage::{CITED, finds, named};
use crate::MUNINN;
use crate::mcp::{ALONE, Client};
use crate::stage::{FILES, QUESTION};

fn client(configuration: &str) -> (TestEnv, Client) {
    let env = TestEnv::new(MUNINN);
    env.connect_with(&Upstream::start(), &format!("{configuration}{ALONE}"));
    let root = env.repository("demo", &FILES);
    let client = Client::start(&env, &root, |command| {
        command.args(["--tools", "code"]);
    });
    (env, client)
}

fn tools(client: &mut Client) -> Vec<String> {
    let listed = client.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn configured_model_explores_and_leaves_a_receipt() {
    let explorer = Upstream::start_with(finds);
    let (_env, mut client) = client(&named(&explorer.url(), ""));
    assert!(tools(&mut client).contains(&"explore".to_owned()));
    let (result, text) = client.call("explore", &json!({"question": QUESTION}));
    assert_eq!(result["isError"], false, "{text}");
    let (receipt, rest) = text.split_once('\n').unwrap();
    assert_eq!(rest, format!("{CITED}\n\nThere."));
    let address = format!("muninn://receipt/{}", receipt.strip_prefix("receipt ").unwrap());
    let read = client.request("resources/read", &json!({"uri": address}));
    let receipt: Value = serde_json::from_str(read["result"]["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!((&receipt["outcome"], &receipt["format"]), (&json!("explored"), &json!("mcp")));
    assert_eq!(receipt["exploration"]["model"], "scout/scout-1");
    assert!(client.leave());
}

#[test]
fn failing_model_is_an_error_of_the_tool() {
    let explorer = Upstream::start_with(|_| Reply::json(500, json!({"error": {"message": "broken"}}).to_string()));
    let (_env, mut client) = client(&named(&explorer.url(), ""));
    let (result, text) = client.call("explore", &json!({"question": QUESTION}));
    assert_eq!(result["isError"], true);
    assert!(text.contains("the model failed"), "{text}");
    assert!(client.leave());
}

#[test]
fn tool_is_not_offered_without_a_model() {
    let (_env, mut client) = client("");
    assert!(!tools(&mut client).contains(&"explore".to_owned()));
    let refused = client.request("tools/call", &json!({"name": "explore", "arguments": {"question": QUESTION}}));
    assert_eq!(refused["error"]["code"], -32602);
    assert!(client.leave());
}
