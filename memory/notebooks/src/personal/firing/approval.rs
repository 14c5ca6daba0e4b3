//! Who made each reminder, kept in the state directory of this machine.
//!
//! The file of a reminder may come from an archive, from a remote or from a program, and says of itself whatever its writer
//! liked. So what fires is decided here: a reminder that the user or a tool of this machine made, or that the user has said
//! yes to, in exactly this form. Any other one waits.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, TransactionBehavior, params};

use super::super::directory::Personal;
use super::super::reminder::{Action, NewReminder, Reminder, ScheduleView};
use super::maker::{Maker, Makers};
use super::{FiringError, Firings, schedule_words};

/// The word of a reminder that an earlier version knew, which did not note makers.
const EARLIER: &str = "earlier";

/// Creates the table. In a database of an earlier version, the reminders that it knew are entered.
pub(super) fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let select = "SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'makers'";
    if !transaction.query_row(select, [], |row| row.get::<_, bool>(0))? {
        transaction.execute_batch(&format!(
            "CREATE TABLE makers (
                root TEXT NOT NULL, id TEXT NOT NULL, maker TEXT NOT NULL, form TEXT NOT NULL, PRIMARY KEY (root, id)
            ) STRICT;
            INSERT INTO makers SELECT root, id, '{EARLIER}', schedule FROM schedules;"
        ))?;
    }
    transaction.commit()
}

impl Firings {
    /// Makes a reminder, or replaces the one with this id, and notes who made it. One that is never due is refused.
    ///
    /// # Errors
    /// [`FiringError`]; nothing is written then.
    pub fn remind(&self, personal: &Personal, new: NewReminder, maker: Maker) -> Result<ScheduleView, FiringError> {
        let reminder = personal.planned(new)?;
        // Before there is a file, which another process looks at without delay.
        self.note_maker(personal.root(), &reminder, maker)?;
        personal.write_reminder(&reminder)?;
        Ok(reminder.view(personal.clock.now()))
    }

    /// Notes who made a reminder, or said yes to it in this form.
    pub fn note_maker(&self, root: &Path, reminder: &Reminder, maker: Maker) -> Result<(), FiringError> {
        self.connection.execute(
            "INSERT OR REPLACE INTO makers (root, id, maker, form) VALUES (?1, ?2, ?3, ?4)",
            params![root.to_string_lossy(), reminder.id, maker.word(), reminder.form()],
        )?;
        Ok(())
    }

    /// Forgets who made a reminder that is removed. The same file has to be made or accepted anew.
    pub fn forget_maker(&self, root: &Path, id: &str) -> Result<(), FiringError> {
        let delete = "DELETE FROM makers WHERE root = ?1 AND id = ?2";
        self.connection.execute(delete, params![root.to_string_lossy(), id])?;
        Ok(())
    }

    /// The makers of those reminders that have the form in which they were made or accepted.
    ///
    /// Of the reminders that an earlier version knew, those that only show a text are taken as they are now. Those that run an
    /// agent wait for one yes.
    pub fn makers(&self, root: &Path, reminders: &[Reminder]) -> Result<Makers, FiringError> {
        let mut select = self.connection.prepare_cached("SELECT id, maker, form FROM makers WHERE root = ?1")?;
        let rows = select.query_map([root.to_string_lossy()], |row| {
            let entry: (String, String) = (row.get(1)?, row.get(2)?);
            Ok((row.get::<_, String>(0)?, entry))
        })?;
        let noted: HashMap<_, _> = rows.collect::<rusqlite::Result<_>>()?;
        let mut makers = Makers::new();
        for reminder in reminders {
            let Some((word, form)) = noted.get(&reminder.id) else {
                continue;
            };
            if word == EARLIER && *form == schedule_words(reminder) && reminder.action() != Action::Agent {
                self.note_maker(root, reminder, Maker::Person)?;
                makers.insert(reminder.id.clone(), Maker::Person);
            } else if let Some(maker) = Maker::of(word)
                && *form == reminder.form()
            {
                makers.insert(reminder.id.clone(), maker);
            }
        }
        Ok(makers)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::super::super::reminder::ReminderExtras;
    use super::super::super::reminder_kind::ReminderKind;
    use super::*;
    use muninn_base::Clock;

    fn read(value: &serde_json::Value) -> Reminder {
        serde_json::from_value(value.clone()).unwrap()
    }

    /// A reminder of an archive that claims to be the user's own.
    fn claimed() -> serde_json::Value {
        json!({"id": "tea", "type": "cron", "expression": "0 9 * * *", "description": "Tea", "payload": "p",
            "createdAt": "2026-01-01T00:00:00.000Z",
            "muninn": {"action": "agent", "catchUp": "once", "fromTools": false, "maker": "person"}, "maker": "person"})
    }

    #[test]
    fn any_change_of_an_accepted_reminder_waits_again() {
        let folder = tempfile::tempdir().unwrap();
        let (firings, root) = (Firings::open(folder.path()).unwrap(), PathBuf::from("/me"));
        let accepted = claimed();
        let is_known = |root: &Path, value: &serde_json::Value| {
            let makers = firings.makers(root, &[read(value)]).unwrap();
            makers.contains_key(value["id"].as_str().unwrap())
        };
        assert!(!is_known(&root, &accepted), "what a file says of itself counts for nothing");
        firings.note_maker(&root, &read(&accepted), Maker::Person).unwrap();
        assert!(is_known(&root, &accepted));
        assert!(!is_known(Path::new("/other"), &accepted), "another directory");
        type Change = fn(&mut serde_json::Value);
        let changes: [(&str, Change); 13] = [
            ("id", |it| it["id"] = "coffee".into()),
            ("payload", |it| it["payload"] = "p ".into()),
            ("description", |it| it["description"] = "Teb".into()),
            ("expression", |it| it["expression"] = "* * * * *".into()),
            ("kind", |it| {
                it["type"] = "once".into();
                it["expression"] = "2027-01-01".into();
            }),
            ("action", |it| it["muninn"]["action"] = "session".into()),
            ("agent", |it| it["muninn"]["agent"] = "codex".into()),
            ("directory", |it| it["muninn"]["directory"] = "/".into()),
            ("timeout", |it| it["muninn"]["timeoutSeconds"] = 9.into()),
            ("zone", |it| it["muninn"]["zone"] = "UTC".into()),
            ("runs", |it| it["muninn"]["maxRunsPerHour"] = 60.into()),
            ("the other program's agent", |it| it["agent"] = "claude".into()),
            ("an unknown key", |it| it["muninn"]["new"] = 1.into()),
        ];
        for (name, change) in changes {
            let mut changed = accepted.clone();
            change(&mut changed);
            assert!(!is_known(&root, &changed), "{name}");
        }
        let mut spaced = accepted.clone();
        spaced["muninn"]["fromTools"] = false.into();
        assert!(is_known(&root, &spaced), "the same form");
        firings.forget_maker(&root, "tea").unwrap();
        assert!(!is_known(&root, &accepted), "removed");
    }

    #[test]
    fn makers_are_noted_with_the_reminder() {
        let folder = tempfile::tempdir().unwrap();
        let personal = Personal::new(&folder.path().join("me"), Clock::fixed("2026-03-10T12:00:00Z".parse().unwrap()));
        std::fs::create_dir(personal.root()).unwrap();
        let firings = Firings::open(&folder.path().join("state")).unwrap();
        for maker in [Maker::Tool, Maker::Person, Maker::Tool] {
            let new = NewReminder {
                id: "tea".to_owned(),
                kind: ReminderKind::Cron,
                expression: "0 9 * * *".to_owned(),
                description: format!("{maker:?}"),
                payload: "p".to_owned(),
                extras: ReminderExtras::default(),
            };
            firings.remind(&personal, new, maker).unwrap();
            let found = personal.reminders().unwrap().reminders;
            assert_eq!(firings.makers(personal.root(), &found).unwrap()["tea"], maker);
        }
    }

    /// A database as earlier versions left it.
    #[test]
    fn reminders_that_an_earlier_version_knew_go_on_unless_they_run_an_agent() {
        let folder = tempfile::tempdir().unwrap();
        let (root, mut known) = (PathBuf::from("/me"), claimed());
        for (action, changes, goes_on) in [
            ("inbox", false, true),
            ("notify", false, true),
            ("session", false, true),
            ("agent", false, false),
            ("inbox", true, false),
        ] {
            let state = folder.path().join(format!("{action}-{changes}"));
            known["muninn"]["action"] = action.into();
            let firings = Firings::open(&state).unwrap();
            firings
                .connection
                .execute("INSERT INTO schedules VALUES ('/me', 'tea', ?1, 0)", [schedule_words(&read(&known))])
                .unwrap();
            firings.connection.execute_batch("DROP TABLE makers").unwrap();
            drop(firings);
            let mut now = known.clone();
            if changes {
                now["expression"] = "0 10 * * *".into();
            }
            let firings = Firings::open(&state).unwrap();
            for _ in 0..2 {
                let makers = firings.makers(&root, &[read(&now)]).unwrap();
                assert_eq!(makers.contains_key("tea"), goes_on, "{action} {changes}");
            }
            now["payload"] = "changed".into();
            let makers = firings.makers(&root, &[read(&now)]).unwrap();
            assert!(makers.is_empty(), "{action}: text that changed since");
            firings.note_maker(&root, &read(&now), Maker::Person).unwrap();
            assert_eq!(firings.makers(&root, &[read(&now)]).unwrap().len(), 1);
        }
    }
}
