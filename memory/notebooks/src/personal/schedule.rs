//! When a reminder is due: cron expressions and single times, in a time zone.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Span, Timestamp};

use super::error::PersonalError;
use super::reminder_kind::ReminderKind;

/// The most changes of a clock that are looked at for a skipped time.
const MOST_CHANGES: usize = 64;

/// The longest expression, in bytes.
const MOST_EXPRESSION: usize = 200;

/// The times of a reminder.
///
/// Where clocks are changed, a time that is skipped is due at the end of the gap, and one that is repeated is due once; an
/// expression with `*` hours follows the clock (the rules of Vixie cron).
#[derive(Debug, Clone)]
pub struct Schedule {
    times: Times,
    zone: TimeZone,
    /// Whether a time that a clock skips is left out: of an expression with `*` hours.
    follows_clock: bool,
}

#[derive(Debug, Clone)]
enum Times {
    Cron(Box<Cron>),
    Once(Timestamp),
}

impl Schedule {
    /// The schedule of an expression: five fields or a nickname such as `@daily`, or a time.
    ///
    /// # Errors
    /// [`PersonalError::Schedule`] or [`PersonalError::Time`] if it is not understood; whether it is ever due is not checked.
    pub fn parse(kind: ReminderKind, expression: &str, zone: TimeZone) -> Result<Schedule, PersonalError> {
        let refused = |message: String| PersonalError::Schedule {
            expression: expression.chars().take(MOST_EXPRESSION).collect(),
            message,
        };
        if expression.len() > MOST_EXPRESSION {
            return Err(refused(format!("it has more than {MOST_EXPRESSION} bytes")));
        }
        let times = match kind {
            // Due times are kept in seconds.
            ReminderKind::Once => Times::Once(whole_second(time(expression, &zone)?)),
            ReminderKind::Cron => {
                let cron = parsed(expression).map_err(|()| refused(wrong(expression)))?;
                Times::Cron(Box::new(cron))
            }
        };
        let hours = expression.split_whitespace().nth(1).or(Some(expression).filter(|text| text.trim() == "@hourly"));
        let follows_clock = hours.is_some_and(|hours| hours.starts_with('*') || hours.starts_with('@'));
        Ok(Schedule { times, zone, follows_clock })
    }

    /// The first time after an instant; `None` if there is none.
    pub fn after(&self, instant: Timestamp) -> Option<Timestamp> {
        match &self.times {
            Times::Once(at) => (*at > instant).then_some(*at),
            Times::Cron(cron) => {
                let from = instant.to_zoned(self.zone.clone());
                let next = cron.find_next_occurrence(&from, false).ok().map(|next| next.timestamp());
                let skipped = (!self.follows_clock).then(|| self.skipped_by(cron, instant, next)).flatten();
                skipped.into_iter().chain(next).min()
            }
        }
    }

    /// The end of the first gap before `next` in which the expression has a time. croner finds a single time of a gap there,
    /// but none of a list.
    fn skipped_by(&self, cron: &Cron, instant: Timestamp, next: Option<Timestamp>) -> Option<Timestamp> {
        let gaps = self.zone.following(instant).take(MOST_CHANGES).map(|change| change.timestamp());
        let before_next = gaps.take_while(|at| next.is_none_or(|next| *at < next));
        before_next.into_iter().find(|at| {
            let just_before = at.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(*at);
            let [from, to] = [just_before, *at].map(|at| self.zone.to_datetime(at));
            let civil = |time: DateTime| time.to_zoned(TimeZone::UTC).ok();
            let first = civil(from).and_then(|from| cron.find_next_occurrence(&from, false).ok());
            first.is_some_and(|first| first.datetime() < to)
        })
    }

    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// The words of the expression.
    pub fn describe(&self) -> String {
        match &self.times {
            Times::Once(at) => format!("Once, at {}", at.to_zoned(self.zone.clone()).strftime("%Y-%m-%d %H:%M")),
            Times::Cron(cron) => cron.describe(),
        }
    }
}

fn parsed(expression: &str) -> Result<Cron, ()> {
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    parser.parse(expression).map_err(|_| ())
}

/// The fields of an expression, and the number of their values.
const FIELDS: [(&str, u32); 5] =
    [("minute", 60), ("hour", 24), ("day of the month", 31), ("month", 12), ("day of the week", 7)];

/// What is wrong with an expression that is not understood.
fn wrong(expression: &str) -> String {
    let expected = FIELDS.map(|(name, _)| name).join(", ");
    let fields: Vec<&str> = expression.split_whitespace().collect();
    if expression.trim_start().starts_with('@') {
        return "there is no such nickname; there are @yearly, @monthly, @weekly, @daily and @hourly".to_owned();
    }
    if fields.len() != FIELDS.len() {
        return format!("it has {} fields; five are expected: {expected}", fields.len());
    }
    let alone = |at: usize| {
        let mut all = ["*"; FIELDS.len()];
        all[at] = fields[at];
        parsed(&all.join(" "))
    };
    let bad = (0..FIELDS.len()).find(|at| alone(*at).is_err());
    bad.map_or_else(
        || format!("its fields do not fit together: {expected}"),
        |at| format!("`{}` is no {}", fields[at], FIELDS[at].0),
    )
}

/// The fault of a step that is longer than its field, such as `*/90` minutes: it would be due once in each hour.
pub(super) fn step_beyond_range(expression: &str) -> Option<String> {
    for (field, (name, values)) in expression.split_whitespace().zip(FIELDS) {
        let steps = field.split(',').filter_map(|part| part.split_once('/')?.1.parse::<u32>().ok());
        if let Some(step) = steps.into_iter().find(|step| *step >= values) {
            return Some(format!("a step of {step} is longer than the field {name}, which has {values} values"));
        }
    }
    None
}

/// A time that begins with `+`, such as `+90m` or `+1h30m`, as the time so much after `now`. Other times stay.
pub(super) fn absolute(time: &str, now: Timestamp) -> Result<String, PersonalError> {
    let Some(duration) = time.trim().strip_prefix('+') else {
        return Ok(time.to_owned());
    };
    let refused = || PersonalError::Duration(time.to_owned());
    let span: Span = duration.parse().map_err(|_| refused())?;
    let at = now.to_zoned(TimeZone::system()).checked_add(span).map_err(|_| refused())?;
    Ok(format!("{:.0}", at.timestamp()))
}

/// The zone with an IANA name; that of the system without one.
///
/// # Errors
/// [`PersonalError::Zone`] if there is none with this name.
pub fn zone(name: Option<&str>) -> Result<TimeZone, PersonalError> {
    match name {
        None => Ok(TimeZone::system()),
        Some(name) => TimeZone::get(name).map_err(|_| PersonalError::Zone(name.to_owned())),
    }
}

fn whole_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

/// Parses a date or a time. A date means its first instant; a time without an offset is in `zone`.
pub fn time(text: &str, zone: &TimeZone) -> Result<Timestamp, PersonalError> {
    let text = text.trim();
    let civil = || text.parse::<DateTime>().or_else(|_| text.parse::<Date>().map(DateTime::from));
    let at = text.parse().ok().or_else(|| in_zone(civil().ok()?, zone));
    at.ok_or_else(|| PersonalError::Time(text.to_owned()))
}

/// The instant of a time in a zone. A time that a clock skips is the end of the gap, and a repeated one is the first.
fn in_zone(time: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    let found = zone.to_ambiguous_zoned(time);
    let is_skipped = matches!(found.offset(), AmbiguousOffset::Gap { .. });
    let at = found.earlier().ok()?.timestamp();
    if is_skipped { Some(zone.following(at).next()?.timestamp()) } else { Some(at) }
}
