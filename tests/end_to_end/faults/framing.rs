//! Answers whose head or framing is wrong or excessive.

use muninn_tests::http::Connection;
use muninn_tests::{Reply, until_closed};

use super::*;
use crate::broken_upstream::stage::Broken;
use crate::formats::{Turn, all_pairs};

#[test]
fn missing_last_chunk_ends_the_answer_after_what_arrived() {
    survive(
        Expected { native: &[Answered], whole: &[Failed, Cut], converted: &[Answered, Failed] },
        |asked, socket| {
            write(socket, asked.chunked())?;
            write(socket, chunk(asked.body))
        },
    );
}

#[test]
fn a_length_that_is_too_short_cuts_the_answer() {
    let fault = |request: &Recorded| {
        let asked = Asked::of(request);
        let head = asked.head(&format!("content-length: {}\r\n", asked.half().len()));
        Reply::raw(head + asked.body)
    };
    Trial::with("")
        .run(&[], RELAYED_OR_FAILED, fault, |asked| Some(Sent::new(200, asked.content_type(), asked.half())));
}

#[test]
fn a_length_that_is_too_long_ends_with_the_connection() {
    survive(
        Expected { native: &[Answered], whole: &[Failed, Cut], converted: &[Answered, Failed] },
        |asked, socket| {
            write(socket, asked.head(&format!("content-length: {}\r\n", asked.body.len() + 100)))?;
            write(socket, asked.body)
        },
    );
}

#[test]
fn chunked_coding_wins_over_content_length() {
    let mut trial = Trial::with("");
    for length in [3, 100_000] {
        trial.written(ANSWERED, move |asked, socket| {
            let framing = format!("content-length: {length}\r\ntransfer-encoding: chunked\r\n");
            write(socket, asked.head(&framing))?;
            write(socket, chunk(asked.body))?;
            write(socket, chunk(""))
        });
    }
}

#[test]
fn two_content_lengths_are_an_error() {
    survive(FAILED, |asked, socket| {
        let length = asked.body.len();
        write(socket, asked.head(&format!("content-length: {length}\r\ncontent-length: 3\r\n")))?;
        write(socket, asked.body)
    });
}

#[test]
fn oversized_chunk_size_ends_the_answer_with_an_error() {
    let mut trial = Trial::with("");
    for size in ["fffffffffffffffff", "-5", "7fffffffffffffff", "zz"] {
        trial.written(BROKEN_OFF, move |asked, socket| {
            write(socket, asked.chunked())?;
            write(socket, format!("{size}\r\n"))?;
            write(socket, asked.half())
        });
    }
}

#[test]
fn interim_responses_are_skipped() {
    survive(EITHER, |asked, socket| {
        write(socket, "HTTP/1.1 102 Processing\r\n\r\n".repeat(1_000))?;
        write(socket, asked.chunked())?;
        write(socket, chunk(asked.body))?;
        write(socket, chunk(""))
    });
}

#[test]
fn ten_thousand_headers_are_an_error() {
    survive(FAILED, |asked, socket| {
        let many: String = (0..10_000).map(|number| format!("x-{number}: y\r\n")).collect();
        write(socket, asked.answer(&many))
    });
}

#[test]
fn endless_headers_are_an_error() {
    survive_with("first_byte_timeout_ms = 5000\n", FAILED, |_, socket| {
        write(socket, "HTTP/1.1 200 OK\r\n")?;
        write_for_ever(socket, b"x-more: y\r\n")
    });
}

#[test]
fn a_header_with_a_huge_value_is_an_error() {
    survive(EITHER, |asked, socket| write(socket, asked.answer(&format!("x-huge: {}\r\n", "y".repeat(1 << 20)))));
}

#[test]
fn endless_header_is_an_error() {
    survive_with("first_byte_timeout_ms = 5000\n", FAILED, |_, socket| {
        write(socket, "HTTP/1.1 200 OK\r\nx-huge: ")?;
        write_for_ever(socket, b"y")
    });
}

#[test]
fn a_header_with_forbidden_bytes_is_an_error() {
    let mut trial = Trial::with("");
    for header in ["x-nul: a\0b", "x y: z", ": nameless", "no colon"] {
        trial.written(EITHER, move |asked, socket| write(socket, asked.answer(&format!("{header}\r\n"))));
    }
}

#[test]
fn missing_content_type_is_tolerated() {
    Sent::survive(RELAYED_OR_ANSWERED, |asked| Sent { status: 200, headers: Vec::new(), body: asked.body.into() });
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
