//! Unexpected statuses, content types and encodings.

use muninn_tests::{Reply, gzip};

use super::*;
use crate::broken_upstream::stage::Broken;
use crate::formats::pairs;
use crate::stage::error_message;

const JSON: &str = "application/json";
const ERROR: &str =
    r#"{"type":"error","error":{"type":"api_error","message":"the model has crashed","code":"crashed","param":null}}"#;

#[test]
fn unexpected_contents_end_in_an_answer_or_an_error() {
    let mut trial = Trial::with("");
    trial.sent("error with status 200 is an error", &[], RELAYED_OR_FAILED, |_| Sent::new(200, JSON, ERROR));
    let huge = format!(r#"{{"error":{{"message":"{}","type":"x","code":"y"}}}}"#, "x".repeat(20 << 20));
    let bodies = [
        (JSON, ERROR.to_owned()),
        ("text/html", "<html><body><h1>Bad gateway</h1></body></html>".to_owned()),
        ("text/plain", String::new()),
        (JSON, "[".repeat(5_000)),
        (JSON, huge),
    ];
    for status in [400, 404, 500, 503] {
        for (content_type, body) in bodies.clone() {
            if body.len() > 1 << 20 && status != 500 {
                continue;
            }
            trial.sent("an error of any status and shape is an error", &[], RELAYED_OR_FAILED, move |_| {
                Sent::new(status, content_type, body.clone())
            });
        }
    }
    for status in [400, 503] {
        trial.sent("a compressed error is an error", &[], RELAYED_OR_FAILED, move |_| {
            let mut sent = Sent::new(status, JSON, gzip(ERROR.as_bytes()));
            sent.headers.push(("content-encoding", "gzip".to_owned()));
            sent
        });
    }
    trial.sent("unrequested compression is an answer or an error", &[], RELAYED_OR_EITHER, compressed);
    let headers = [("Accept-Encoding", "gzip, deflate, br")];
    trial.sent("a client that takes gzip gets the answer", &headers, ANSWERED, |asked| {
        if asked.takes_gzip { compressed(asked) } else { Sent::new(200, asked.content_type(), asked.body) }
    });
    trial.sent("no content is an error", &[], RELAYED_OR_FAILED, |_| Sent::new(204, "text/plain", ""));
    trial.sent("a redirection is an error", &[], RELAYED_OR_FAILED, |_| {
        let mut sent = Sent::new(302, "text/html", "");
        sent.headers.push(("location", "http://127.0.0.1:9/".to_owned()));
        sent
    });
    for content_type in ["text/plain", "application/octet-stream", "nonsense"] {
        trial.sent("wrong content type is tolerated", &[], RELAYED_OR_EITHER, move |asked| {
            Sent::new(200, content_type, asked.body)
        });
    }
    trial.sent("wrong content type is tolerated", &[], RELAYED_OR_EITHER, |asked| {
        let other = if asked.streamed { JSON } else { "text/event-stream" };
        Sent::new(200, other, asked.body)
    });
    trial.sent(
        "stream instead of whole answer and reverse are an answer or an error",
        &[],
        RELAYED_OR_EITHER,
        |asked| {
            let path = asked.format.path();
            if asked.streamed {
                Sent::new(200, JSON, answers::whole(path))
            } else {
                Sent::new(200, "text/event-stream", answers::streamed(path))
            }
        },
    );
}

fn compressed(asked: &Asked) -> Sent {
    let mut sent = Sent::new(200, asked.content_type(), gzip(asked.body.as_bytes()));
    sent.headers.push(("content-encoding", "gzip".to_owned()));
    sent
}

#[test]
fn a_compressed_error_keeps_its_message_for_every_client() {
    let mut broken = Broken::new();
    broken.answer_with(|request| {
        let asked = Asked::of(request);
        let body = if asked.takes_gzip { gzip(ERROR.as_bytes()) } else { ERROR.into() };
        let reply = Reply::json(400, body);
        if asked.takes_gzip { reply.header("content-encoding", "gzip") } else { reply }
    });
    for (client, spoken) in pairs() {
        let body = client.request(spoken.dialect(), true, &[]);
        let gzip = [("Accept-Encoding", "gzip, deflate, br")];
        let response = broken.gateway.post(client.path(), &gzip, body.as_bytes());
        assert_eq!(error_message(client.path(), &response), "the model has crashed");
    }
    broken.assert_lives();
}
