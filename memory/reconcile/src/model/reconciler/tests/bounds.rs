//! Limits of a model's cost, and the assignment of answers to pairs.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::*;
use super::{LIMITS, ScriptedModel, open, pairs, says};

#[test]
fn token_limit_and_repeated_failures_stop_asking() {
    let texts: Vec<(String, String)> =
        (0..100).map(|at| (format!("Job {at} is slow."), format!("Slow is job {at}."))).collect();
    let model = ScriptedModel::new(|_, question: &str| Ok(says(question, "same")));
    let limits = ReconcilerLimits { tokens: 4_000, ..LIMITS };
    let (said, asked) = Reconciler::new(&model, limits, &()).settle(&open(&texts));
    let batches = model.questions().len();
    assert!((2..8).contains(&batches), "{batches}");
    assert_eq!(asked.answered, said.iter().flatten().count());
    assert!(asked.input + asked.output <= 4_000 && asked.answered < 100, "{asked:?}");
    assert!(said[..asked.answered].iter().all(Option::is_some), "the first pairs are sent first");
    assert!(asked.problem.unwrap().contains("4000 tokens"));
    let model = ScriptedModel::new(|_, _: &str| Ok("no".to_owned()));
    let (_, asked) = Reconciler::new(&model, LIMITS, &()).settle(&open(&texts));
    assert_eq!((asked.answered, model.questions().len()), (0, 4));
    let none = Reconciler::new(&model, LIMITS, &()).settle(&[]);
    assert_eq!((none.0.len(), none.1.open, model.questions().len()), (0, 0, 4));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn each_answer_is_of_its_own_pair(lengths in prop::collection::vec(1usize..700, 0..60)) {
        // Pairs above 2,000 bytes are skipped.
        let texts: Vec<(String, String)> = lengths.iter().enumerate().map(|(at, length)| (format!("{at} {}", "word ".repeat(*length)), "x".to_owned())).collect();
        let model = ScriptedModel::new(|_, question: &str| {
            let mut answer: Value = serde_json::from_str(&says(question, "same")).unwrap();
            for (decision, pair) in answer["decisions"].as_array_mut().unwrap().iter_mut().zip(pairs(question)) {
                if pair["newer"]["text"] == "x" {
                    decision["reason"] = json!(pair["older"]["text"].as_str().unwrap().split(' ').next());
                }
            }
            Ok(answer.to_string())
        });
        let limits = ReconcilerLimits { tokens: u64::MAX, ..LIMITS };
        let (said, asked) = Reconciler::new(&model, limits, &()).settle(&open(&texts));
        for (at, (said, (text, _))) in said.iter().zip(&texts).enumerate() {
            let reason = said.as_ref().map(|said| said.reason.clone());
            let expected = (text.len() < 2_000).then(|| at.to_string());
            prop_assert_eq!(reason, expected);
        }
        prop_assert!(asked.problem.is_none());
        for question in model.questions() {
            prop_assert!(tokens::count(&question) < 3_400);
        }
    }
}
