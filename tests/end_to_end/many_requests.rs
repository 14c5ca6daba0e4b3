//! Twenty thousand requests of every kind, on connections that stay open.
#![cfg(target_os = "linux")]

use std::sync::atomic::{AtomicUsize, Ordering};

use muninn_tests::http::Connection;

use crate::broken_upstream::stage::{Broken, assert_well_formed};
use crate::formats::{ALL, Turn};

const REQUESTS: usize = 20_000;
const CLIENTS: usize = 8;

#[test]
#[ignore = "takes minutes: run nightly"]
fn twenty_thousand_requests_succeed_in_constant_memory() {
    let mut broken = Broken::new();
    // Pools, caches and allocators reach their final size first.
    ask(&broken, REQUESTS / 4);
    let (memory, descriptors) = (broken.gateway.memory_mb("VmRSS"), broken.gateway.descriptors().len());
    ask(&broken, REQUESTS - REQUESTS / 4);
    let (memory_now, descriptors_now) = (broken.gateway.memory_mb("VmRSS"), broken.gateway.descriptors().len());
    println!("{memory} MB, then {memory_now} MB; {descriptors} descriptors, then {descriptors_now}");
    assert!(memory_now <= memory + memory / 10 + 4, "{memory} MB grew to {memory_now} MB");
    assert!(descriptors_now <= descriptors + 4, "{descriptors} grew to {descriptors_now}");
    assert_eq!(broken.upstream.requests().len(), REQUESTS);
    let receipts = || {
        let status = broken.env.stdout_of(&broken.env.path("repositories/demo"), &["status", "--json"]);
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        (status["ledger"]["receipts"] == REQUESTS).then_some(())
    };
    muninn_tests::wait_until("a receipt of every request", receipts);
    broken.assert_lives();
}

fn ask(broken: &Broken, count: usize) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut connection = Connection::open(broken.gateway.address);
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    if number >= count {
                        return;
                    }
                    let (client, spoken) = (ALL[number % 3], ALL[number / 3 % 3]);
                    let turn = Turn::User(format!("hello {number}"));
                    let body = client.request(spoken.dialect(), !number.is_multiple_of(4), &[turn]);
                    connection.send("POST", client.path(), &[], body.as_bytes());
                    let response = connection.response();
                    assert_eq!(response.status, 200, "{number}: {}", response.text());
                    assert_well_formed(client, &response, "one of many");
                }
            });
        }
    });
}
