//! A simulated year: every due time is claimed once or accounted for, whatever the clock and the process do. The due times come
//! from an oracle that walks through all minutes of the year and knows nothing of cron libraries.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::Map;

use super::super::super::reminder::ReminderExtras;
use super::super::super::reminder_kind::ReminderKind;
use super::*;

const ZONES: [&str; 4] = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"];
const START: &str = "2027-01-01T00:00:00Z";
const MINUTES: i64 = 365 * 24 * 60;
/// The reminders of a usual run.
const REMINDERS: usize = 12;

/// The fields of an expression; an empty one is `*`.
#[derive(Debug, Clone)]
struct Pattern {
    minutes: BTreeSet<i8>,
    hours: BTreeSet<i8>,
    days: BTreeSet<i8>,
    weekdays: BTreeSet<i8>,
    expression: String,
}

impl Pattern {
    fn random(rng: &mut fastrand::Rng) -> Pattern {
        let minute = rng.i8(0..60);
        // Around the hours at which clocks change, more often than not.
        let hour = if rng.bool() { rng.i8(1..4) } else { rng.i8(0..24) };
        let one = |value: i8| BTreeSet::from([value]);
        let (minutes, hours, fields) = match rng.u8(0..20) {
            0 => (one(minute), BTreeSet::new(), format!("{minute} *")),
            1 => ((0..60).step_by(30).collect(), one(hour), format!("*/30 {hour}")),
            2..6 => (one(0), (0..24).step_by(6).collect(), "0 */6".to_owned()),
            6..15 => (one(minute), one(hour), format!("{minute} {hour}")),
            _ => (
                BTreeSet::from([minute, (minute + 7) % 60]),
                one(hour),
                format!("{minute},{} {hour}", (minute + 7) % 60),
            ),
        };
        let (days, weekdays, rest) = match rng.u8(0..4) {
            0 => (one(rng.i8(1..29)), BTreeSet::new(), None),
            1 => (BTreeSet::new(), (1..6).collect(), Some("* * 1-5")),
            _ => (BTreeSet::new(), BTreeSet::new(), Some("* * *")),
        };
        let rest = rest.map_or_else(|| format!("{} * *", days.first().unwrap()), str::to_owned);
        Pattern { minutes, hours, days, weekdays, expression: format!("{fields} {rest}") }
    }

    /// One minute and one hour: such a time is neither skipped nor repeated where clocks change.
    fn is_fixed(&self) -> bool {
        self.minutes.len() == 1 && self.hours.len() == 1
    }

    fn matches(&self, at: DateTime) -> bool {
        let has = |set: &BTreeSet<i8>, value: i8| set.is_empty() || set.contains(&value);
        has(&self.minutes, at.minute())
            && has(&self.hours, at.hour())
            && has(&self.days, at.day())
            && has(&self.weekdays, at.weekday().to_sunday_zero_offset())
    }
}

/// A minute of the year in a time zone.
struct Minute {
    second: i64,
    local: DateTime,
    /// Whether the clock has shown this time before.
    is_repeated: bool,
    /// The local times that the clock left out before it.
    skipped: Vec<DateTime>,
}

fn minutes(zone: &str, start: Timestamp) -> Vec<Minute> {
    let zone = TimeZone::get(zone).unwrap();
    let local = |minute: i64| (start + SignedDuration::from_mins(minute)).to_zoned(zone.clone()).datetime();
    let mut before = local(-1);
    let mut furthest = before;
    let minute = |minute: i64| {
        let now = local(minute);
        let next = |time: DateTime| time + SignedDuration::from_mins(1);
        let skipped = std::iter::successors(Some(next(before)), |time| Some(next(*time)));
        let skipped = skipped.take_while(|time| *time < now).collect();
        let is_repeated = now <= furthest;
        (before, furthest) = (now, furthest.max(now));
        Minute { second: start.as_second() + minute * 60, local: now, is_repeated, skipped }
    };
    (0..MINUTES).map(minute).collect()
}

/// The due times of a pattern, in seconds.
fn oracle(pattern: &Pattern, minutes: &[Minute]) -> BTreeSet<i64> {
    let is_due = |minute: &&Minute| {
        if pattern.is_fixed() {
            let was_skipped = minute.skipped.iter().any(|time| pattern.matches(*time));
            was_skipped || (!minute.is_repeated && pattern.matches(minute.local))
        } else {
            pattern.matches(minute.local)
        }
    };
    minutes.iter().filter(is_due).map(|minute| minute.second).collect()
}

fn reminder(id: usize, pattern: &Pattern, zone: &str, catch_up: CatchUp) -> Reminder {
    Reminder {
        id: format!("r{id}"),
        kind: ReminderKind::Cron,
        expression: pattern.expression.clone(),
        description: "d".to_owned(),
        payload: "p".to_owned(),
        agent: None,
        model: None,
        created_at: Some(START.to_owned()),
        muninn: Some(ReminderExtras { zone: Some(zone.to_owned()), catch_up, ..ReminderExtras::default() }),
        others: Map::new(),
    }
}

#[derive(Debug, Default)]
struct Totals {
    due: usize,
    claimed: usize,
    /// Claimed times of reminders that have only one.
    single: usize,
    late: usize,
    missed: usize,
    skipped: usize,
    unknown: usize,
    sleeps: usize,
    set_back: usize,
    kills: usize,
}

#[test]
fn every_due_time_of_a_year_is_claimed_once_or_accounted_for() {
    let count = std::env::var("MUNINN_REMINDERS").ok().and_then(|count| count.parse().ok());
    let mut rng = fastrand::Rng::with_seed(27);
    // In memory, where the system has such a folder: each claim is synchronised with the disk.
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let state = tempfile::tempdir_in(place).unwrap();
    let root = Path::new("/somewhere");
    let start: Timestamp = START.parse().unwrap();
    let mut firings = Firings::open(state.path()).unwrap();
    let mut places = Vec::new();
    let years = ZONES.map(|zone| minutes(zone, start));
    for id in 0..count.unwrap_or(REMINDERS) {
        let (pattern, zone) = (Pattern::random(&mut rng), ZONES[id % ZONES.len()]);
        let catch_up = if rng.u8(0..4) == 0 { CatchUp::Skip } else { CatchUp::Once };
        // A reminder that is made at a minute is not due in it.
        let year = &years[id % ZONES.len()][1..];
        let mut reminder = reminder(id, &pattern, zone, catch_up);
        let due = match id % 5 {
            0 => {
                let unique: Vec<&Minute> = year.iter().filter(|minute| !minute.is_repeated).collect();
                let minute = unique[rng.usize(0..unique.len())];
                reminder.kind = ReminderKind::Once;
                reminder.expression = minute.local.to_string();
                BTreeSet::from([minute.second])
            }
            _ => oracle(&pattern, year),
        };
        places.push((reminder, due, start.as_second()));
    }
    let mut totals = Totals { due: places.iter().map(|(_, due, _)| due.len()).sum(), ..Totals::default() };
    let mut expected = BTreeMap::new();
    let mut minute = 0;
    while minute < MINUTES - 1 {
        // A few times a week a machine sleeps, its clock is set back, or the process is killed.
        match rng.u32(0..5_000) {
            0..3 => {
                minute += rng.i64(1..3_000);
                totals.sleeps += 1;
            }
            3 => {
                minute = (minute - rng.i64(1..180)).max(0);
                totals.set_back += 1;
            }
            _ => minute += 1,
        }
        minute = minute.min(MINUTES - 1);
        let now = start + SignedDuration::from_mins(minute);
        for (reminder, due, accounted) in &mut places {
            let passed: Vec<i64> = if *accounted < now.as_second() {
                due.range(*accounted + 1..=now.as_second()).copied().collect()
            } else {
                Vec::new()
            };
            // Most minutes have nothing: looking is repeated for some of them.
            if passed.is_empty() && rng.u16(0..2_000) > 0 {
                continue;
            }
            let claim = firings.claim(root, reminder, now, Duration::ZERO).unwrap();
            let Some(newest) = passed.last() else {
                assert_eq!(claim, None, "{} at {now}", reminder.expression);
                continue;
            };
            *accounted = *newest;
            totals.missed += passed.len() - 1;
            let is_late = now.as_second() - newest > 90;
            let key = (reminder.id.clone(), *newest);
            let catch_up = reminder.muninn.as_ref().unwrap().catch_up;
            if is_late && catch_up == CatchUp::Skip && reminder.kind == ReminderKind::Cron {
                assert_eq!(claim, None);
                totals.skipped += 1;
                assert!(expected.insert(key, Some("skipped: late".to_owned())).is_none());
                continue;
            }
            let claim = claim.unwrap_or_else(|| panic!("{} is due at {now}", reminder.expression));
            let found = (claim.due.as_second(), claim.missed as usize, claim.is_late);
            assert_eq!(found, (*newest, passed.len() - 1, is_late), "{}", reminder.expression);
            totals.claimed += 1;
            totals.single += usize::from(reminder.kind == ReminderKind::Once);
            totals.late += usize::from(is_late);
            let is_killed = rng.u16(0..200) == 0;
            if is_killed {
                firings = Firings::open(state.path()).unwrap();
                totals.kills += 1;
                totals.unknown += 1;
            } else {
                assert!(firings.finish(root, &claim, "done", now).unwrap());
            }
            assert!(expected.insert(key, (!is_killed).then(|| "done".to_owned())).is_none(), "claimed twice");
        }
    }
    let listed = firings.list(root).unwrap().into_iter();
    let listed: BTreeMap<_, _> = listed.map(|firing| ((firing.id, firing.due.as_second()), firing.result)).collect();
    assert_eq!(listed, expected);
    println!("{totals:?}");
    assert_eq!(totals.claimed + totals.missed + totals.skipped, totals.due);
    assert!(
        totals.late > 0 && totals.skipped > 0 && totals.unknown > 0 && totals.set_back > 0 && totals.single > 0,
        "{totals:?}"
    );
}

#[test]
fn a_time_that_passed_before_the_first_look_is_told_late_and_a_changed_schedule_makes_up_for_nothing() {
    let state = tempfile::tempdir().unwrap();
    let root = Path::new("/somewhere");
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let mut firings = Firings::open(state.path()).unwrap();
    let mut once = Reminder {
        kind: ReminderKind::Once,
        expression: "2027-01-02T10:00:00".to_owned(),
        ..reminder(1, &Pattern::random(&mut fastrand::Rng::with_seed(1)), "UTC", CatchUp::Once)
    };
    assert_eq!(firings.claim(root, &once, at("2027-01-02T09:59:00Z"), Duration::ZERO).unwrap(), None);
    let late = firings.claim(root, &once, at("2027-01-05T00:00:00Z"), Duration::ZERO).unwrap().unwrap();
    assert!(late.is_late && late.due == at("2027-01-02T10:00:00Z"), "{late:?}");
    // Another process sees the claim.
    let mut other = Firings::open(state.path()).unwrap();
    assert_eq!(other.claim(root, &once, at("2027-01-05T00:00:30Z"), Duration::ZERO).unwrap(), None);
    assert!(other.finish(root, &late, "told", at("2027-01-05T00:00:31Z")).unwrap());
    assert!(!firings.finish(root, &late, "told", at("2027-01-05T00:00:32Z")).unwrap());
    once.kind = ReminderKind::Cron;
    once.expression = "0 12 * * *".to_owned();
    assert_eq!(firings.claim(root, &once, at("2027-01-08T13:00:00Z"), Duration::ZERO).unwrap(), None);
    assert!(firings.claim(root, &once, at("2027-01-09T12:00:00Z"), Duration::ZERO).unwrap().is_some());
}

/// Two processes may name the zone of the system differently.
#[test]
fn times_without_a_zone_are_claimed_whoever_looked_before() {
    let state = tempfile::tempdir().unwrap();
    let root = Path::new("/somewhere");
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let mut reminder = reminder(1, &Pattern::random(&mut fastrand::Rng::with_seed(1)), "UTC", CatchUp::Once);
    reminder.expression = "0 * * * *".to_owned();
    reminder.muninn.as_mut().unwrap().zone = None;
    for hour in 1..5 {
        let mut firings = Firings::open(state.path()).unwrap();
        let stored = "SELECT schedule FROM schedules";
        let stored = firings.connection.query_row(stored, [], |row| row.get::<_, String>(0));
        assert!(stored.is_err() || stored.unwrap().contains("* |"), "no zone of this process is stored");
        let now = at(&format!("2027-01-02T0{hour}:00:10Z"));
        let claimed = firings.claim(root, &reminder, now, Duration::ZERO).unwrap();
        assert!(claimed.is_some(), "{hour}");
    }
}

#[test]
fn a_single_time_is_due_whenever_its_file_was_made() {
    let state = tempfile::tempdir().unwrap();
    let root = Path::new("/somewhere");
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    for (number, made) in [(0, None), (1, Some("2027-06-01T00:00:00Z"))] {
        let mut firings = Firings::open(state.path()).unwrap();
        let mut once = Reminder {
            kind: ReminderKind::Once,
            expression: "2027-01-02T10:00:00Z".to_owned(),
            created_at: made.map(str::to_owned),
            ..reminder(number, &Pattern::random(&mut fastrand::Rng::with_seed(1)), "UTC", CatchUp::Skip)
        };
        let claim = |firings: &mut Firings, once: &Reminder, now: &str| {
            let claim = firings.claim(root, once, at(now), Duration::ZERO).unwrap();
            claim.map(|claim| claim.due.to_string())
        };
        let due = claim(&mut firings, &once, "2027-06-02T00:00:00Z");
        assert_eq!(due.as_deref(), Some("2027-01-02T10:00:00Z"));
        assert_eq!(claim(&mut firings, &once, "2027-06-03T00:00:00Z"), None);
        // Made anew, with another time.
        once.expression = "2027-06-03T12:00:00Z".to_owned();
        once.created_at = Some("2027-06-03T11:00:00Z".to_owned());
        let due = claim(&mut firings, &once, "2027-06-04T00:00:00Z");
        assert_eq!(due.as_deref(), Some("2027-06-03T12:00:00Z"));
    }
}

#[test]
fn damaged_database_is_named_in_the_error() {
    let state = tempfile::tempdir().unwrap();
    std::fs::write(state.path().join(FILE), "no database, but long enough to be taken for one".repeat(99)).unwrap();
    let error = Firings::open(state.path()).err().unwrap().to_string();
    assert!(error.starts_with("cannot use reminders.db: "), "{error}");
}
