//! Failures, deadlines, cancellation and concurrent questions.

use std::sync::atomic::{AtomicUsize, Ordering};

use muninn_base::CancelFlag;
use muninn_tests::{Recorded, Reply as Sent, answers, wait_until};
use muninn_text::model::block_on;

use super::*;

const SOON: Duration = Duration::from_millis(50);

fn is_over(result: &Result<Reply, ModelError>) -> bool {
    matches!(result, Err(ModelError::Over { model }) if model == "local/small")
}

#[test]
fn a_refused_connection_is_unreachable() {
    let error = ask(&model("http://127.0.0.1:1", WireFormat::Chat)).unwrap_err();
    assert!(matches!(&error, ModelError::Unreachable { reason, .. } if reason.contains("cannot connect")), "{error}");
}

#[test]
fn a_broken_connection_is_unreachable() {
    let broken = [
        Upstream::start_with(|_| Sent::hangup()),
        Upstream::start_with(|_| Sent::raw("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"choices\"")),
    ];
    for upstream in broken {
        let error = ask(&model(&upstream.url(), WireFormat::Chat)).unwrap_err();
        assert!(matches!(&error, ModelError::Unreachable { reason, .. } if reason.contains("broke off")), "{error}");
    }
}

#[test]
fn a_deadline_before_the_answer_closes_the_connection() {
    for format in FORMATS {
        let (upstream, control) = Upstream::start_scripted();
        let asked = model(&upstream.url(), format).ask(&question(), &Until::within(SOON));
        assert!(is_over(&asked), "{format:?}: {asked:?}");
        control.wait_for_client_gone();
    }
}

#[test]
fn a_deadline_during_the_answer_closes_the_connection() {
    let (upstream, control) = Upstream::start_scripted();
    let model = model(&upstream.url(), WireFormat::Chat);
    control.head_with(200, &[("content-type", "application/json")]);
    control.send("{\"choices\":[");
    let asked = model.ask(&question(), &Until::within(SOON));
    assert!(is_over(&asked), "{asked:?}");
    control.wait_for_client_gone();
    assert_eq!(ask(&model).unwrap().text, "ok", "the next question succeeds");
}

#[test]
fn cancellation_closes_the_connection() {
    let (upstream, control) = Upstream::start_scripted();
    let model = model(&upstream.url(), WireFormat::Messages);
    let abandoned = CancelFlag::default();
    let until = Until::within(HOUR).or(abandoned.clone());
    let asked = std::thread::spawn(move || model.ask(&question(), &until));
    assert_eq!(upstream.wait_for(1).len(), 1);
    abandoned.cancel();
    control.wait_for_client_gone();
    let asked = asked.join().unwrap();
    assert!(is_over(&asked), "{asked:?}");
}

#[test]
fn nothing_is_sent_after_the_deadline() {
    let upstream = Upstream::start();
    let model = model(&upstream.url(), WireFormat::Chat);
    let asked = model.ask(&question(), &Until::within(Duration::ZERO));
    assert!(is_over(&asked), "{asked:?}");
    assert_eq!(upstream.connections(), 0);
}

#[test]
fn retries_follow_the_backends_setting_and_end_at_the_deadline() {
    let failing_first = |failures: usize| {
        let asked = AtomicUsize::new(0);
        Upstream::start_with(move |request: &Recorded| match asked.fetch_add(1, Ordering::SeqCst) {
            before if before < failures => Sent::json(503, "{}"),
            _ => answers::ok(request),
        })
    };
    let asked = |upstream: &Upstream, retries, until: &Until| {
        let candidate = candidate(&upstream.url(), WireFormat::Chat, |config| config.retries = retries);
        RemoteModel::new(&blocking_client(), candidate, "small", &HeaderMap::new()).ask(&question(), until)
    };
    let upstream = failing_first(1);
    assert_eq!(asked(&upstream, 1, &Until::within(HOUR)).unwrap().text, "ok");
    assert_eq!(upstream.requests().len(), 2);
    let never = failing_first(usize::MAX);
    let ended = asked(&never, u32::MAX, &Until::within(SOON));
    assert!(is_over(&ended), "{ended:?}");
}

#[test]
fn failures_open_the_backends_circuit_and_deadlines_do_not() {
    let failing = Upstream::start_with(|_| Sent::json(500, "{}"));
    let candidate = candidate(&failing.url(), WireFormat::Chat, |_| {});
    let circuit = Arc::clone(&candidate.backend.circuit);
    let model = RemoteModel::new(&blocking_client(), candidate, "small", &HeaderMap::new());
    let failures = LimitsConfig::default().circuit.failures;
    for _ in 0..failures {
        let error = ask(&model).unwrap_err();
        assert!(matches!(error, ModelError::Refused { status: 500, .. }), "{error}");
    }
    let error = ask(&model).unwrap_err();
    assert!(matches!(&error, ModelError::Unreachable { reason, .. } if reason.contains("circuit is open")), "{error}");
    assert_eq!(failing.requests().len(), failures as usize);
    assert_eq!(block_on(circuit.state(std::time::Instant::now())).unwrap().1, failures);

    let (silent, _control) = Upstream::start_scripted();
    let candidate = super::candidate(&silent.url(), WireFormat::Chat, |_| {});
    let circuit = Arc::clone(&candidate.backend.circuit);
    let model = RemoteModel::new(&blocking_client(), candidate, "small", &HeaderMap::new());
    assert!(is_over(&model.ask(&question(), &Until::within(SOON))));
    assert_eq!(
        block_on(circuit.state(std::time::Instant::now())).unwrap().1,
        0,
        "our own deadline is no failure of the backend"
    );
}

/// The backend answers only after all questions have arrived.
#[test]
fn questions_run_concurrently() {
    const MANY: usize = 20;
    let asked = AtomicUsize::new(0);
    let upstream = Upstream::start_with(move |request| {
        asked.fetch_add(1, Ordering::SeqCst);
        wait_until("all questions at the backend", || (asked.load(Ordering::SeqCst) >= MANY).then_some(()));
        answers::ok(request)
    });
    let model = model(&upstream.url(), WireFormat::Responses);
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..MANY).map(|_| scope.spawn(|| ask(&model))).collect();
        for asked in asking {
            assert_eq!(asked.join().unwrap().unwrap().text, "ok");
        }
    });
    assert_eq!(upstream.requests().len(), MANY);
}

#[test]
fn a_connection_is_reused_by_later_questions() {
    let upstream = Upstream::start();
    let model = model(&upstream.url(), WireFormat::Chat);
    for _ in 0..3 {
        ask(&model).unwrap();
    }
    assert_eq!((upstream.requests().len(), upstream.connections()), (3, 1));
}

#[test]
fn a_question_may_be_asked_from_within_a_runtime() {
    let upstream = Upstream::start();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let model = model(&upstream.url(), WireFormat::Chat);
        assert_eq!(ask(&model).unwrap().text, "ok");
        drop(model);
    });
}
