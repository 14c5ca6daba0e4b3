//! Answers whose head or framing is wrong or excessive.

use muninn_tests::http::Connection;
use muninn_tests::{Reply, until_closed};

use super::*;
use crate::broken_upstream::stage::Broken;
use crate::formats::{Turn, all_pairs};

#[test]
fn wrong_framings_end_in_an_answer_or_an_error() {
    let mut trial = Trial::with("");
    trial.written(
        "missing last chunk ends the answer after what arrived",
        Expected { native: &[Answered], whole: &[Failed, Cut], converted: &[Answered, Failed] },
        |asked, socket| {
            write(socket, asked.chunked())?;
            write(socket, chunk(asked.body))
        },
    );
    let fault = |request: &Recorded| {
        let asked = Asked::of(request);
        let head = asked.head(&format!("content-length: {}\r\n", asked.half().len()));
        Reply::raw(head + asked.body)
    };
    trial.run("a length that is too short cuts the answer", &[], RELAYED_OR_FAILED, fault, |asked| {
        Some(Sent::new(200, asked.content_type(), asked.half()))
    });
    trial.written(
        "a length that is too long ends with the connection",
        Expected { native: &[Answered], whole: &[Failed, Cut], converted: &[Answered, Failed] },
        |asked, socket| {
            write(socket, asked.head(&format!("content-length: {}\r\n", asked.body.len() + 100)))?;
            write(socket, asked.body)
        },
    );
    for length in [3, 100_000] {
        trial.written("chunked coding wins over content length", ANSWERED, move |asked, socket| {
            let framing = format!("content-length: {length}\r\ntransfer-encoding: chunked\r\n");
            write(socket, asked.head(&framing))?;
            write(socket, chunk(asked.body))?;
            write(socket, chunk(""))
        });
    }
    trial.written("two content lengths are an error", FAILED, |asked, socket| {
        let length = asked.body.len();
        write(socket, asked.head(&format!("content-length: {length}\r\ncontent-length: 3\r\n")))?;
        write(socket, asked.body)
    });
    for size in ["fffffffffffffffff", "-5", "7fffffffffffffff", "zz"] {
        trial.written("oversized chunk size ends the answer with an error", BROKEN_OFF, move |asked, socket| {
            write(socket, asked.chunked())?;
            write(socket, format!("{size}\r\n"))?;
            write(socket, asked.half())
        });
    }
    trial.written("interim responses are skipped", EITHER, |asked, socket| {
        write(socket, "HTTP/1.1 102 Processing\r\n\r\n".repeat(1_000))?;
        write(socket, asked.chunked())?;
        write(socket, chunk(asked.body))?;
        write(socket, chunk(""))
    });
    trial.written("ten thousand headers are an error", FAILED, |asked, socket| {
        let many: String = (0..10_000).map(|number| format!("x-{number}: y\r\n")).collect();
        write(socket, asked.answer(&many))
    });
    trial.written("a header with a huge value is an error", EITHER, |asked, socket| {
        write(socket, asked.answer(&format!("x-huge: {}\r\n", "y".repeat(1 << 20))))
    });
    for header in ["x-nul: a\0b", "x y: z", ": nameless", "no colon"] {
        trial.written("a header with forbidden bytes is an error", EITHER, move |asked, socket| {
            write(socket, asked.answer(&format!("{header}\r\n")))
        });
    }
    trial.sent("missing content type is tolerated", &[], RELAYED_OR_ANSWERED, |asked| Sent {
        status: 200,
        headers: Vec::new(),
        body: asked.body.into(),
    });
}

#[test]
fn endless_heads_are_errors() {
    let mut trial = Trial::with("first_byte_timeout_ms = 5000\n");
    trial.written("endless headers are an error", FAILED, |_, socket| {
        write(socket, "HTTP/1.1 200 OK\r\n")?;
        write_for_ever(socket, b"x-more: y\r\n")
    });
    trial.written("endless header is an error", FAILED, |_, socket| {
        write(socket, "HTTP/1.1 200 OK\r\nx-huge: ")?;
        write_for_ever(socket, b"y")
    });
}

#[test]
fn unsolicited_response_is_discarded() {
    let mut broken = Broken::new();
    broken.answer_with(|request| {
        let asked = Asked::of(request);
        let answer = |body: &str| {
            let head = asked.head(&format!("content-length: {}\r\n", body.len()));
            format!("{head}{body}")
        };
        let both = answer(asked.body) + &answer(&asked.body.replace("ok", "planted"));
        Reply::written(move |socket| {
            write(socket, both)?;
            until_closed(socket)
        })
    });
    for (client, spoken) in all_pairs() {
        for _ in 0..3 {
            let mut connection = Connection::open(broken.gateway.address);
            let body = client.request(spoken.dialect(), true, &[Turn::User("hello".to_owned())]);
            connection.send("POST", client.path(), &[], body.as_bytes());
            let answer = client.read_stream(&connection.response().text());
            assert_eq!(answer.text, "ok", "{client:?} -> {spoken:?}");
        }
    }
    broken.assert_lives();
}
