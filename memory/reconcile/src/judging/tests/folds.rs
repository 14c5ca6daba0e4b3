//! Folds by rules: the newer record stands for the older one, both are found, and a person can undo it.

use muninn_base::RelPath;
use muninn_recall::Memories;
use muninn_team::records::{Body, Home, MAIN, Record, RecordFile, RecordStatus};
use muninn_team::{Store, history};

use super::on_disk::TestWorktree;
use super::{lines, next, union};
use crate::judge::FittedJudge;
use crate::{JudgeSetup, Plan, PlanInput, ReconcileOptions, Segment, apart, folds, open_conflicts, plan, reconcile};

fn with_judge<T>(run: impl FnOnce(&JudgeSetup<'_>) -> T) -> T {
    let judge = FittedJudge::shipped().unwrap();
    run(&JudgeSetup { judge: &judge, embedder: Some(judge.vectors()), progress: &(), reconciler: None })
}

fn learning(id: &str, session: &str, text: &str) -> Record {
    let line = serde_json::json!({
        "id": id, "ts": format!("2026-01-0{id}T00:00:00Z"), "type": "learning", "text": text, "confidence": 0.5,
        "session": session, "sources": [{"path": format!("{id}.rs"), "blob": id}],
    });
    Record::parse(&line.to_string()).unwrap()
}

fn segment(record: Record) -> Segment {
    Segment {
        name: format!("session_S{}.0.jsonl", record.id),
        bytes: record.line().len() as u64 + 1,
        records: vec![record],
    }
}

fn reconciled(records: &[Record]) -> Plan {
    let segments = records.iter().cloned().map(segment).collect();
    with_judge(|judging| plan(&PlanInput { segments, ..PlanInput::default() }, judging))
}

/// Each recalled record: its id, and its confidence in percent.
fn recalled(main: &[Record]) -> Vec<(String, i32)> {
    let memories = Memories::of_records(main, None);
    let percent = |confidence: Option<f32>| confidence.map_or(0, |confidence| (confidence * 100.0).round() as i32);
    let mut recalled: Vec<_> =
        memories.items().iter().map(|item| (item.source.clone(), percent(item.confidence))).collect();
    recalled.sort();
    recalled
}

#[test]
fn newer_record_stands_for_the_older_with_its_text_date_and_sources() {
    let after = reconciled(&[learning("2", "b", "Use x for it."), learning("1", "a", "Use `x` for it")]);
    assert_eq!(recalled(&after.main), [("2".to_owned(), 75)], "two independent sessions");
    assert_eq!(after.summary.duplicates, 1);
    let [fold] = &after.folds[..] else { panic!("{:?}", after.folds) };
    assert_eq!((&*fold.older.id, &*fold.newer.id, &*fold.newer.text), ("1", "2", "Use x for it."));
    assert!(fold.same_statement && !fold.earlier && fold.by == "rules");
    let memories = Memories::of_records(&after.main, None);
    let newest = &memories.items()[0];
    assert_eq!((&*newest.text, newest.cites[0].path.as_str()), ("Use x for it.", "2.rs"));
    assert_eq!(newest.date.as_deref(), Some("2026-01-02T00:00:00Z"));
    // A session that repeats itself is no second witness.
    let after = reconciled(&[learning("1", "a", "Use x"), learning("2", "a", "Use x.")]);
    assert_eq!(recalled(&after.main), [("2".to_owned(), 50)]);
}

#[test]
fn folding_is_independent_of_order_and_of_the_number_of_people() {
    let texts =
        ["Use `x y` z.", "Use x y z", "Use the x y z", "Use x `y z`", "Use X y z", "use x y z", "Use x \"y z\""];
    let records: Vec<Record> =
        texts.iter().zip(1..).map(|(text, number)| learning(&number.to_string(), &number.to_string(), text)).collect();
    let one = reconciled(&records);
    let shown = recalled(&one.main);
    let turned: Vec<Record> = records.iter().rev().cloned().collect();
    assert_eq!(lines(&reconciled(&turned).main), lines(&one.main));
    for mask in 0..1_u32 << records.len() {
        let is_left = |at: &usize| mask & 1 << at != 0;
        let side = |wanted: bool| -> Vec<Record> {
            (0..records.len()).filter(|at| is_left(at) == wanted).map(|at| records[at].clone()).collect()
        };
        if mask % 7 != 0 {
            continue;
        }
        let (left, right) = (reconciled(&side(true)), reconciled(&side(false)));
        let merged = PlanInput {
            main: union(&left.main, &right.main),
            log: union(&left.log, &right.log),
            conflicts: union(&left.conflicts, &right.conflicts),
            ..PlanInput::default()
        };
        let both = with_judge(|judging| plan(&merged, judging));
        assert_eq!(lines(&both.main), lines(&one.main), "{mask}");
        assert_eq!(recalled(&both.main), shown, "{mask}");
        let again = with_judge(|judging| plan(&next(&both, Vec::new()), judging));
        assert!(again.folds.is_empty() && lines(&again.main) == lines(&both.main));
    }
}

/// A worktree whose main has these records.
fn desk(records: &[Record]) -> TestWorktree {
    let desk = TestWorktree::new();
    desk.repo.git(&["rm", "-q", "-r", ".muninn/memory/sessions"]);
    write(&desk, records);
    desk
}

fn write(desk: &TestWorktree, records: &[Record]) {
    let text: String = records.iter().map(|record| record.line() + "\n").collect();
    desk.repo.write(MAIN, text.as_bytes());
}

fn run(store: &Store) -> crate::Reconciled {
    with_judge(|judging| reconcile(store, ReconcileOptions::default(), judging, &mut |_| {}).unwrap())
}

fn main_of(home: &Home) -> Vec<Record> {
    let text = std::fs::read_to_string(home.root().join(MAIN)).unwrap();
    text.lines().map(|line| Record::parse(line).unwrap()).collect()
}

#[test]
fn fold_is_found_undone_and_never_made_again() {
    let desk = desk(&[learning("1", "a", "Use x."), learning("2", "b", "Use `x`"), learning("3", "c", "Use the x")]);
    let store = desk.store();
    let done = run(&store);
    assert_eq!(done.folds.len(), 2, "{:?}", done.folds);
    let main = RecordFile::Home(RelPath::new(MAIN).unwrap());
    let superseded = Memories::superseded(store.home(), std::slice::from_ref(&main));
    let past: Vec<_> = superseded
        .items()
        .iter()
        .map(|item| {
            let superseded = item.superseded.as_ref().unwrap();
            (&*item.source, &*superseded.until, superseded.by.as_deref())
        })
        .collect();
    let until = "2026-01-03T00:00:00Z";
    assert_eq!(past.len(), 2);
    assert!(past.contains(&("1", until, Some("3"))) && past.contains(&("2", until, Some("3"))), "{past:?}");
    assert!(history(&store, "1").unwrap().iter().any(|event| event.text.contains("1 is a duplicate of")));
    // By a part of the fold's id.
    let fold = done.folds.iter().find(|fold| fold.older.id == "1").unwrap();
    let undone = apart(&store, &fold.id[fold.id.len() - 8..]).unwrap();
    assert_eq!((undone.older.id.as_str(), undone.newer.id.as_str()), ("1", "3"));
    let shown = |store: &Store| recalled(&main_of(store.home())).into_iter().map(|(id, _)| id).collect::<String>();
    assert_eq!(shown(&store), "13", "the second record is still folded into the third");
    for _ in 0..2 {
        let done = run(&store);
        assert!(done.folds.is_empty() && done.summary.duplicates == 0, "{done:?}");
        assert_eq!(shown(&store), "13");
    }
    assert!(open_conflicts(store.home()).unwrap().is_empty());
    let unknown = apart(&store, "3").unwrap_err();
    assert!(unknown.to_string().contains("`3`"), "{unknown}");
}

/// Each of the copies that is set apart is recalled by itself, whichever it is and however many there are.
#[test]
fn record_that_is_set_apart_is_folded_into_no_other_copy() {
    for copies in [2, 3, 4, 8] {
        let texts = ["Use x.", "Use `x`", "Use the x", "Use \"x\"."];
        let records: Vec<Record> = (1..=copies)
            .map(|number| learning(&number.to_string(), &number.to_string(), texts[number % texts.len()]))
            .collect();
        for number in 1..copies {
            let desk = desk(&records);
            let store = desk.store();
            run(&store);
            let id = number.to_string();
            apart(&store, &id).unwrap();
            let expected = [id, copies.to_string()];
            for _ in 0..2 {
                let main = main_of(store.home());
                let shown: Vec<String> = recalled(&main).into_iter().map(|(id, _)| id).collect();
                assert_eq!(shown, expected, "{copies} copies");
                assert!(run(&store).folds.is_empty());
            }
        }
    }
}

/// The next session learns one of both texts again.
#[test]
fn copies_of_a_record_that_is_set_apart_take_nothing_else_in() {
    for (text, expected) in [("Use x", "13"), ("Use x.", "23"), ("Use the x", "123")] {
        let records = [learning("1", "a", "Use x."), learning("2", "b", "Use x")];
        let desk = desk(&reconciled(&records).main);
        apart(&desk.store(), "1").unwrap();
        let mut main = main_of(desk.store().home());
        main.push(learning("3", "c", text));
        let after = with_judge(|judging| plan(&PlanInput { main, ..PlanInput::default() }, judging));
        let mut shown: Vec<String> = recalled(&after.main).into_iter().map(|(id, _)| id).collect();
        shown.sort();
        assert_eq!(shown.concat(), expected, "{text}");
    }
}

#[test]
fn undoing_a_fold_binds_another_branch() {
    let records = [learning("1", "a", "Use x."), learning("2", "b", "Use x")];
    let folded = reconciled(&records).main;
    let mine = desk(&folded);
    apart(&mine.store(), "1").unwrap();
    let mine = main_of(mine.store().home());
    assert_eq!(mine.len(), folded.len() + 1, "a line is added, and none is changed");
    // A third person folded them again on another branch.
    let merged = union(&mine, &reconciled(&[records[1].clone(), records[0].clone(), learning("4", "d", "Other")]).main);
    assert_eq!(recalled(&merged).len(), 3);
    let after = with_judge(|judging| plan(&PlanInput { main: merged, ..PlanInput::default() }, judging));
    assert_eq!(recalled(&after.main).len(), 3);
    assert!(after.folds.is_empty());
}

#[test]
fn folds_of_earlier_versions_are_listed_and_undone() {
    let mut records = vec![
        learning("1", "a", "The limit is +5"),
        learning("2", "b", "The limit is -5"),
        learning("3", "c", "Use x."),
        learning("4", "d", "Use x"),
    ];
    for (id, kept, folded) in [("A1", "1", "2"), ("A2", "3", "4")] {
        let line = format!(
            r#"{{"id":"{id}","ts":"2026-01-05T00:00:00Z","type":"same","kept":"{kept}","folded":"{folded}","by":"rules","reason":"alike"}}"#
        );
        records.push(Record::parse(&line).unwrap());
    }
    let desk = desk(&records);
    let store = desk.store();
    let done = run(&store);
    assert!(done.notes.iter().any(|note| note.contains("--review-folds")), "{:?}", done.notes);
    let listed = folds(store.home()).unwrap();
    let earlier: Vec<_> = listed
        .iter()
        .map(|fold| (&*fold.id, fold.earlier, fold.same_statement, &*fold.older.text, &*fold.newer.text))
        .collect();
    let expected = [("A1", true, false, "The limit is +5", "The limit is -5"), ("A2", true, true, "Use x.", "Use x")];
    assert_eq!(earlier, expected);
    apart(&store, "a1").unwrap();
    assert_eq!(folds(store.home()).unwrap().len(), 1);
    let shown: Vec<String> = recalled(&main_of(store.home())).into_iter().map(|(id, _)| id).collect();
    assert_eq!(shown, ["1", "2", "4"]);
    assert!(run(&store).notes.is_empty());
}

#[test]
fn repeated_statement_does_not_fill_main() {
    let records: Vec<Record> = (0..300)
        .map(|number| {
            let line = format!(
                r#"{{"id":"{number:03}","ts":"2026-01-01T00:00:00Z","type":"learning","text":"Use x for it","session":"S{number}"}}"#
            );
            Record::parse(&line).unwrap()
        })
        .collect();
    let after = reconciled(&records);
    let links = after.main.iter().filter(|record| matches!(record.body, Body::Same(_))).count();
    assert!(links <= 300 * 16, "{links}");
    assert_eq!(recalled(&after.main).len(), 1);
    assert_eq!(after.folds.len(), 299);
}

#[test]
fn quotes_around_different_spans_stay_apart_among_many_copies_without_quotes() {
    for copies in [1, 16, 20, 60] {
        let one = |number: usize, text: &str| {
            let line = serde_json::json!({
                "id": format!("{number:03}"), "ts": "2026-01-01T00:00:00Z", "type": "learning", "text": text,
                "session": format!("S{number}"),
            });
            Record::parse(&line.to_string()).unwrap()
        };
        let mut records = vec![one(0, "Use \"fast\" mode only")];
        records.extend((1..=copies).map(|number| one(number, "Use fast mode only")));
        records.push(one(900, "Use \"fast mode\" only"));
        let after = reconciled(&records);
        let status = RecordStatus::of(&after.main);
        assert_ne!(status.kept("000"), status.kept("900"), "{copies}");
        assert_eq!(recalled(&after.main).len(), 2, "{copies}");
    }
}

/// A clone can bring gigabytes of zeros in a few packed kilobytes.
#[test]
fn huge_main_memory_is_an_error_and_never_read() {
    let desk = desk(&[learning("1", "a", "Use x.")]);
    let store = desk.store();
    let main = std::fs::File::options().write(true).open(store.home().root().join(MAIN)).unwrap();
    main.set_len(1300 << 20).unwrap();
    let refused =
        with_judge(|judging| reconcile(&store, ReconcileOptions::default(), judging, &mut |_| {}).unwrap_err());
    let refused = std::error::Error::source(&refused).map_or(String::new(), ToString::to_string);
    assert!(refused.contains("more than 256 MiB"), "{refused}");
    let loaded = Memories::superseded(store.home(), &[RecordFile::Home(RelPath::new(MAIN).unwrap())]);
    assert!(loaded.notes().iter().any(|note| note.contains("more than 1280 MiB")), "{:?}", loaded.notes());
}
