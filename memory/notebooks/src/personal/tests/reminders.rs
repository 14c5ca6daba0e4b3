//! The files of reminders.

use super::*;

#[test]
fn reminders_are_files_that_the_other_program_reads_and_does_not_run() {
    let place = Place::new();
    let personal = place.open();
    let made = remind(&personal, reminder("daily.look", ReminderKind::Cron, "0 9 * * 1-5")).unwrap();
    assert_eq!(made.next[0], "2026-03-11 09:00 CET");
    assert_eq!(made.next.len(), 3);
    let written: Value = serde_json::from_str(&place.read("reminders/daily.look.json")).unwrap();
    assert_eq!(written["type"], "cron");
    assert_eq!(written["expression"], "0 9 * * 1-5");
    assert_eq!(written["createdAt"], "2026-03-10T12:00:00.000Z");
    assert!(written.get("agent").is_none(), "{written}");
    let once = remind(&personal, reminder("once", ReminderKind::Once, "2026-03-15T14:30:00")).unwrap();
    assert_eq!(
        (once.next, once.datetime.as_deref()),
        (vec!["2026-03-15 14:30 CET".to_owned()], Some("2026-03-15T14:30:00"))
    );
    assert_eq!(personal.reminders().unwrap().reminders.len(), 2);
    personal.remove_reminder("once").unwrap();
    assert!(matches!(personal.remove_reminder("once"), Err(PersonalError::NoReminder(_))));
}

#[test]
fn a_time_may_be_so_much_from_now() {
    let place = Place::new();
    let personal = place.open();
    for (time, expected) in
        [("+1m", "12:01"), ("+90m", "13:30"), ("+1h30m", "13:30"), (" +2h ", "14:00"), ("+90s", "12:01")]
    {
        let made = remind(&personal, reminder("soon", ReminderKind::Once, time)).unwrap();
        assert_eq!(made.datetime.unwrap()[11..16], *expected, "{time}");
        personal.remove_reminder("soon").unwrap();
    }
    for time in ["+", "+x", "+-5m", "+9999999999d"] {
        let refused = remind(&personal, reminder("soon", ReminderKind::Once, time)).unwrap_err().to_string();
        assert!(refused.contains("no duration") || refused.contains("in the past"), "{time}: {refused}");
    }
}

#[test]
fn expressions_are_refused_in_our_words() {
    let place = Place::new();
    let personal = place.open();
    for (expression, expected) in [
        ("*/90 * * * *", "a step of 90 is longer than the field minute, which has 60 values"),
        ("*/60 * * * *", "a step of 60"),
        ("0-10/90 * * * *", "a step of 90"),
        ("0 */25 * * *", "a step of 25 is longer than the field hour, which has 24 values"),
        ("0 0 */32 * *", "the field day of the month"),
        ("0 0 * */13 *", "the field month"),
        ("0 0 * * */8", "the field day of the week"),
        ("0 9 * *", "it has 4 fields; five are expected: minute, hour, day of the month, month, day of the week"),
        ("0 9 * * * *", "it has 6 fields"),
        ("61 9 * * *", "`61` is no minute"),
        ("0 x * * *", "`x` is no hour"),
        ("0 9 * * 9", "`9` is no day of the week"),
        ("@fortnightly", "there is no such nickname"),
        ("", "it has 0 fields"),
    ] {
        let refused = remind(&personal, reminder("a", ReminderKind::Cron, expression)).unwrap_err().to_string();
        assert!(refused.contains(expected), "{expression}: {refused}");
    }
    for expression in ["*/59 * * * *", "0 */23 * * *", "0,30 9-17/2 * * 1-5", "@daily"] {
        remind(&personal, reminder("a", ReminderKind::Cron, expression)).unwrap();
        personal.remove_reminder("a").unwrap();
    }
}

#[test]
fn reminders_of_the_other_program_are_read_and_damaged_ones_reported() {
    let place = Place::new();
    let theirs = json!({"id": "standup", "type": "cron", "expression": "30 8 * * 1-5", "description": "Weekday mornings",
        "payload": "Start", "agent": "claude", "createdAt": NOW, "later": {"x": 1}});
    place.write("reminders/standup.json", &theirs.to_string());
    place.write("reminders/broken.json", "{");
    place.write("reminders/renamed.json", &theirs.to_string());
    place.write(
        "reminders/never.json",
        &json!({"id": "never", "type": "cron", "expression": "0 0 31 2 *", "description": "d", "payload": "p"})
            .to_string(),
    );
    let Reminders { reminders, problems } = place.open().reminders().unwrap();
    assert_eq!(reminders.iter().map(|one| &*one.id).collect::<Vec<_>>(), ["never", "standup"]);
    assert_eq!((reminders[1].action(), &reminders[1].others["later"]["x"]), (Action::Agent, &json!(1)));
    assert_eq!(serde_json::to_value(&reminders[1]).unwrap(), theirs, "nothing is lost in reading");
    assert!(problems.len() == 2 && problems[0].contains("broken.json"), "{problems:?}");
    assert!(reminders[0].view(NOW.parse().unwrap()).next.is_empty());
}

#[test]
fn ids_and_expressions_that_cannot_be_are_refused() {
    let place = Place::new();
    let personal = place.open();
    for id in ["", "../x", "a/b", ".hidden", "a\\b", &"x".repeat(101), "a\0b"] {
        let refused = remind(&personal, reminder(id, ReminderKind::Cron, "0 9 * * *"));
        assert!(matches!(refused, Err(PersonalError::Id(_))), "{id:?}: {refused:?}");
    }
    let long = format!("0 9 * * {}", "1,".repeat(500_000));
    for expression in ["", "x", "0 9 * *", "0 0 9 * * *", "60 * * * *", "0 0 31 2 *", "*/0 * * * *", &long] {
        let refused = remind(&personal, reminder("a", ReminderKind::Cron, expression));
        assert!(matches!(refused, Err(PersonalError::Schedule { .. })), "{refused:?}");
    }
    for expression in ["tomorrow", "2026-13-01T10:00:00", "2020-01-01T10:00:00"] {
        assert!(remind(&personal, reminder("a", ReminderKind::Once, expression)).is_err(), "{expression}");
    }
    let mut elsewhere = reminder("a", ReminderKind::Cron, "0 9 * * *");
    elsewhere.extras.zone = Some("Mars/Olympus".to_owned());
    assert!(matches!(remind(&personal, elsewhere), Err(PersonalError::Zone(_))));
    assert!(personal.reminders().unwrap().reminders.is_empty());
}

#[test]
fn a_time_that_a_clock_skips_is_due_at_the_end_of_the_gap() {
    for (name, once, expressions, end) in [
        (
            "Europe/Berlin",
            "2027-03-28T02:30",
            &["30 2 28 3 *", "10,50 2 28 3 *", "*/20 2 28 3 *", "0-59/7 2 * 3 *", "30 2 * * *"][..],
            "2027-03-28T01:00:00Z",
        ),
        ("America/New_York", "2027-03-14T02:15", &["15 2 14 3 *", "15,45 2 14 3 *"], "2027-03-14T07:00:00Z"),
        ("Australia/Lord_Howe", "2027-10-03T02:10", &["10 2 3 10 *", "5,10 2 3 10 *"], "2027-10-02T15:30:00Z"),
        ("America/Santiago", "2027-09-05T00:00", &["0 0 5 9 *", "0,30 0 5 9 *"], "2027-09-05T04:00:00Z"),
    ] {
        let (zone, end): (_, Timestamp) = (zone(Some(name)).unwrap(), end.parse().unwrap());
        let before = end - jiff::SignedDuration::from_hours(20);
        let due = |kind, expression: &str| Schedule::parse(kind, expression, zone.clone()).unwrap().after(before);
        assert_eq!(due(ReminderKind::Once, once), Some(end), "{name} {once}");
        for expression in expressions {
            assert_eq!(due(ReminderKind::Cron, expression), Some(end), "{name} {expression}");
        }
        // Hours that follow the clock skip it.
        let hourly = due(ReminderKind::Cron, "30 * * * *").unwrap();
        assert!(hourly < end, "{name} {hourly}");
    }
    // A time that exists twice is the first one.
    let berlin = zone(Some("Europe/Berlin")).unwrap();
    let once = Schedule::parse(ReminderKind::Once, "2027-10-31T02:30", berlin).unwrap();
    assert_eq!(once.after(Timestamp::UNIX_EPOCH).unwrap().to_string(), "2027-10-31T00:30:00Z");
}

#[test]
fn clock_changes_are_those_of_cron() {
    let zone = zone(Some("Europe/Berlin")).unwrap();
    let due = |expression: &str, from: &str, count: usize| -> Vec<String> {
        let schedule = Schedule::parse(ReminderKind::Cron, expression, zone.clone()).unwrap();
        let first: Timestamp = from.parse().unwrap();
        let times = std::iter::successors(schedule.after(first), |time| schedule.after(*time));
        times.take(count).map(|time| time.to_string()).collect()
    };
    // 02:30 does not exist on 28 March 2027, and exists twice on 31 October.
    assert_eq!(due("30 2 * * *", "2027-03-27T12:00:00Z", 2), ["2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"]);
    assert_eq!(due("30 2 * * *", "2027-10-30T12:00:00Z", 2), ["2027-10-31T00:30:00Z", "2027-11-01T01:30:00Z"]);
    assert_eq!(due("0,30 * * * *", "2027-10-30T23:59:00Z", 4).len(), 4);
}
