//! One endpoint, many spellings of its path.

use muninn_tests::Upstream;

use crate::stage::{QUESTION, Stage, error_message, simple};

#[test]
fn other_spellings_of_an_endpoint_get_context_and_are_forwarded_under_its_path() {
    let stage = Stage::new();
    let [(chat, body), (messages, asked), _] = simple(QUESTION);
    for (path, target, body) in [
        ("/v1//chat/completions", chat, &body),
        ("/v1/chat/completions/", chat, &body),
        ("//v1/chat//completions//", chat, &body),
        ("/v1/chat%2Fcompletions", chat, &body),
        ("/v1/%6Dessages", messages, &asked),
    ] {
        let response = stage.ask(path, &[], body);
        // The second of the same words within ten minutes has the block of the first.
        assert!(["injected", "replayed"].contains(&response.outcome()), "{path}: {}", response.outcome());
        let recorded = stage.upstream.last();
        assert_eq!(recorded.target, target, "{path}");
        assert!(recorded.text().contains("muninn-context"), "{path}");
    }
    let counted = stage.ask("/v1/messages//count_tokens/?beta=true", &[], &asked);
    assert_eq!((counted.status, stage.upstream.last().target.as_str()), (200, "/v1/messages/count_tokens?beta=true"));
}

#[test]
fn paths_with_dot_segments_are_refused_and_never_forwarded() {
    let stage = Stage::with(Upstream::start(), "");
    for path in [
        "/v1/../admin",
        "/v1/./messages",
        "/v1/%2e%2e/admin",
        "/v1/%2E%2e%2fadmin",
        "/v1/files%2f..%2f..%2fadmin",
        "/v1/%252e%252e/admin",
        "/v1/messages/..",
    ] {
        for method in ["GET", "POST"] {
            let response = stage.gateway.request(method, path, &[], b"{}");
            assert_eq!(response.status, 400, "{method} {path}: {}", response.text());
            assert!(error_message(path, &response).contains("segment"), "{path}");
        }
    }
    assert!(stage.upstream.requests().is_empty());
    drop(stage.gateway.request("GET", "/v1/models/org%2Fmodel-1..2", &[], b""));
    assert_eq!(stage.upstream.last().target, "/v1/models/org%2Fmodel-1..2", "as it came");
}
