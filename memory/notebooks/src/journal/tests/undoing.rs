//! The way back from a fetch.

use super::remote::{Attack, message};
use super::{draft, names, section, write};
use crate::journal::{Draft, JournalError};

const EVE: &str = "Eve <eve@example.com> 1700000000 +0000";

fn fetched(attack: &mut Attack, overview: &str) {
    attack.again();
    let blob = attack.blob(format!("{overview}\n").as_bytes());
    let tree = attack.tree(&[format!("100644 blob {blob}\town.md")]);
    let own = attack.own_tip();
    let commit = attack.commit(&tree, Some(&own), EVE, &message("own", "a stranger's entry", ""));
    attack.set_tip(&commit);
    assert_eq!(attack.take_in().unwrap().unwrap().received, 1);
}

#[test]
fn fetch_is_undone_and_entries_since_are_kept() {
    let mut attack = Attack::new();
    let before = attack.own_tip();
    fetched(&mut attack, "a stranger's overview");
    write(&attack.journal, "own", "since");
    write(&attack.journal, "new", "elsewhere");
    let undone = attack.journal.undo_fetch().unwrap();
    assert_eq!((&*undone.remote, undone.removed, undone.kept), ("origin", 1, 2));
    let read = attack.journal.section(&section("own")).unwrap();
    assert_eq!((&*read.overview, read.entry_count, read.conflict), ("the owner's overview", 3, None));
    let listed = attack.journal.entries(&section("own"), 0, 9).unwrap();
    assert_eq!(names(&listed), ["since", "the owner's second", "the owner's first"]);
    assert_eq!(names(&attack.journal.entries(&section("new"), 0, 9).unwrap()), ["elsewhere"]);
    attack.repo.git(&["merge-base", "--is-ancestor", &before, "refs/muninn/journal"]);
    assert!(matches!(attack.journal.undo_fetch(), Err(JournalError::NoFetch)));
}

#[test]
fn overview_that_was_written_upon_a_strangers_is_kept_beside_the_owners() {
    let mut attack = Attack::new();
    fetched(&mut attack, "a stranger's overview");
    let version = attack.journal.section(&section("own")).unwrap().version;
    let mine = Draft { overview: Some("a better overview".to_owned()), ..draft("mine") };
    attack.journal.write(&section("own"), &mine, Some(version)).unwrap();
    attack.journal.undo_fetch().unwrap();
    let read = attack.journal.section(&section("own")).unwrap();
    assert_eq!(read.overview, "the owner's overview");
    assert_eq!(read.conflict.unwrap().other, "a better overview");
}

#[test]
fn last_five_fetches_are_undone_one_by_one_and_each_exactly() {
    let mut attack = Attack::new();
    let mut tips = Vec::new();
    for number in 0..7 {
        tips.push(attack.own_tip());
        fetched(&mut attack, &format!("overview {number}"));
    }
    for tip in tips[2..].iter().rev() {
        attack.journal.undo_fetch().unwrap();
        assert_eq!(attack.own_tip(), *tip);
    }
    assert!(matches!(attack.journal.undo_fetch(), Err(JournalError::NoFetch)));
}

#[test]
fn first_fetch_of_an_empty_journal_is_undone_to_an_empty_one() {
    let mut attack = Attack::new();
    attack.repo.git(&["update-ref", "-d", "refs/muninn/journal"]);
    attack.again();
    let commit = attack.commit(&attack.small_tree(), None, EVE, &message("a", "a stranger's entry", ""));
    attack.set_tip(&commit);
    attack.take_in().unwrap();
    attack.journal.undo_fetch().unwrap();
    assert_eq!(attack.journal.tip().unwrap(), None);
    assert_eq!(attack.journal.toc(None, 1).unwrap(), []);

    attack.again();
    let commit = attack.commit(&attack.small_tree(), None, EVE, &message("a", "a stranger's entry", ""));
    attack.set_tip(&commit);
    attack.take_in().unwrap();
    write(&attack.journal, "own", "since");
    assert_eq!(attack.journal.undo_fetch().unwrap().kept, 1);
    assert_eq!(names(&attack.journal.entries(&section("own"), 0, 9).unwrap()), ["since"]);
    assert_eq!(attack.journal.toc(None, 1).unwrap().len(), 1);
}

#[test]
fn ref_that_another_program_has_moved_is_not_undone_and_the_error_names_the_way_back() {
    let mut attack = Attack::new();
    let before = attack.own_tip();
    fetched(&mut attack, "a stranger's overview");
    attack.repo.git(&["update-ref", "refs/muninn/journal", &format!("{before}~1")]);
    let refused = attack.journal.undo_fetch().unwrap_err().to_string();
    assert!(refused.contains(&before) && refused.contains("git update-ref"), "{refused}");
}

/// A fetch that brings nothing new, or is refused, leaves nothing to undo.
#[test]
fn fetch_without_effect_is_no_fetch_to_undo() {
    let mut attack = Attack::new();
    let own = attack.own_tip();
    attack.set_tip(&own);
    assert_eq!(attack.take_in().unwrap().unwrap().received, 0);
    assert!(matches!(attack.journal.undo_fetch(), Err(JournalError::NoFetch)));
    let name = attack.repo.git(&["for-each-ref", "--format=%(refname)", "refs/muninn/before-fetch"]);
    assert_eq!(name, "");
}
