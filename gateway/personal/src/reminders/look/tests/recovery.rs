//! Reminders after a kill, beside other processes, and with bad files.

use super::*;

#[test]
fn killed_claim_is_made_up_for_once_if_it_was_a_line() {
    for action in [Action::Inbox, Action::Agent] {
        let desk = Desk::new().with_agent("echo '{\"result\":\"done\"}'");
        desk.remind_once(action);
        desk.wait(10);
        let reminders = desk.reminders();
        let reminder = desk.personal.reminder("water").unwrap();
        let makers = Makers::from([("water".to_owned(), Maker::Person)]);
        // Claimed, and then the process is gone.
        assert!(reminders.claim(&reminder, Maker::Person, &desk.settings.config, Duration::ZERO).unwrap().is_some());
        reminders.recover(&makers).unwrap();
        assert!(!desk.inbox().contains("water"), "it may be under way in another process");
        desk.wait(10);
        for _ in 0..2 {
            desk.reminders().recover(&makers).unwrap();
            assert_eq!(desk.inbox().matches("[reminder water").count(), usize::from(action == Action::Inbox));
        }
        assert!(desk.fired().is_empty(), "nothing is run again");
    }
}

/// The process ends, or the disk is full, after the claim and before the line is in the inbox, whatever the action was.
#[test]
fn line_that_could_not_be_written_is_written_by_a_later_look() {
    for action in [Action::Inbox, Action::Agent] {
        let desk = Desk::new().with_agent("exit 1");
        desk.remind_once(action);
        desk.wait(10);
        let inbox = desk.personal.root().join("state/inbox.md");
        let text = desk.inbox();
        fs::remove_file(&inbox).unwrap();
        fs::create_dir(&inbox).unwrap();
        desk.run();
        assert_eq!(desk.personal.reminders().unwrap().reminders.len(), 1, "its file stays");
        fs::remove_dir(&inbox).unwrap();
        fs::write(&inbox, text).unwrap();
        desk.wait(2);
        for _ in 0..2 {
            desk.run();
            assert_eq!(desk.inbox().matches("[reminder water").count(), 1, "{}", desk.inbox());
        }
        assert_eq!(desk.inbox().contains("the agent failed"), action == Action::Agent);
        assert!(desk.personal.reminders().unwrap().reminders.is_empty());
    }
}

#[test]
fn new_reminder_with_the_name_of_a_killed_one_stays() {
    let desk = Desk::new();
    desk.remind_once(Action::Inbox);
    desk.wait(10);
    let reminder = desk.personal.reminder("water").unwrap();
    let claimed = desk.reminders().claim(&reminder, Maker::Person, &desk.settings.config, Duration::ZERO).unwrap();
    assert!(claimed.is_some());
    desk.remind(ReminderKind::Once, "2027-03-01T12:00:00Z", ReminderExtras::default());
    desk.wait(10);
    desk.run();
    assert!(desk.inbox().contains("due 2027-03-01T09:10:00Z]"), "{}", desk.inbox());
    assert_eq!(desk.personal.reminder("water").unwrap().expression, "2027-03-01T12:00:00Z");
}

/// A process that looks like macrodata's daemon.
struct OtherDaemon(std::process::Child);

impl OtherDaemon {
    fn start(file: &Path) -> OtherDaemon {
        let child = std::process::Command::new("sh")
            .args(["-c", "read line", "macrodata-daemon"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        fs::write(file, child.id().to_string()).unwrap();
        // For a moment, a new process has no arguments.
        let line = format!("/proc/{}/cmdline", child.id());
        while fs::read(&line).is_ok_and(|line| line.is_empty()) {
            std::thread::yield_now();
        }
        OtherDaemon(child)
    }
}

impl Drop for OtherDaemon {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

#[test]
fn nothing_fires_beside_the_daemon_of_macrodata() {
    let desk = Desk::new();
    desk.remind_once(Action::Inbox);
    desk.wait(10);
    let file = desk.personal.root().join(".daemon.pid");
    let other = OtherDaemon::start(&file);
    let look = desk.run();
    assert!(look.fired.is_empty());
    assert!(look.problems[0].starts_with("macrodata's daemon (process"), "{:?}", look.problems);
    drop(other);
    assert_eq!(desk.fired(), ["water: in the inbox"], "its file alone says nothing");
    // The file of a killed daemon names another program.
    desk.remind(ReminderKind::Once, "2027-03-01T09:20:00Z", ReminderExtras::default());
    desk.wait(10);
    fs::write(&file, std::process::id().to_string()).unwrap();
    assert_eq!(desk.fired(), ["water: in the inbox"]);
}

#[test]
fn times_that_macrodata_fired_are_not_made_up_for() {
    let desk = Desk::new();
    let folder = desk.personal.root().join("reminders");
    fs::create_dir_all(&folder).unwrap();
    let text = r#"{"id":"water","type":"cron","expression":"0 * * * *","description":"d","payload":"p",
        "createdAt":"2026-01-01T00:00:00.000Z"}"#;
    fs::write(folder.join("water.json"), text).unwrap();
    desk.accept_all();
    let fired = |minutes: u64| {
        desk.wait(minutes);
        desk.fired()
    };
    assert!(fired(1).is_empty(), "nobody knows what it fired in the year before");
    assert_eq!(fired(60), ["water: in the inbox"]);
    let file = desk.personal.root().join(".daemon.pid");
    // It does not fire those that Muninn wrote.
    let own = NewReminder {
        id: "own".to_owned(),
        kind: ReminderKind::Cron,
        expression: "0 * * * *".to_owned(),
        description: "d".to_owned(),
        payload: "p".to_owned(),
        extras: ReminderExtras::default(),
    };
    desk.reminders().remind(own, Maker::Person).unwrap();
    let other = OtherDaemon::start(&file);
    assert!(fired(65).is_empty());
    drop(other);
    assert_eq!(fired(1), ["own: in the inbox"]);
    assert_eq!(fired(60), ["own: in the inbox", "water: in the inbox"]);
}

#[test]
fn bad_files_are_reported_and_the_others_fire() {
    let desk = Desk::new();
    desk.remind_once(Action::Inbox);
    let folder = desk.personal.root().join("reminders");
    fs::write(folder.join("bad.json"), "{").unwrap();
    fs::write(
        folder.join("never.json"),
        r#"{"id":"never","type":"cron","expression":"x","description":"d","payload":"p"}"#,
    )
    .unwrap();
    desk.accept_all();
    desk.wait(10);
    let look = desk.run();
    assert_eq!(look.fired, ["water: in the inbox"]);
    assert_eq!(look.problems.len(), 2, "{:?}", look.problems);
    assert!(folder.join("bad.json").exists() && folder.join("never.json").exists());
    fs::write(desk.personal.root().join("macrodata.json"), r#"{"daemon":{"enabled":false}}"#).unwrap();
    assert_eq!(desk.run().problems, ["`daemon.enabled` in macrodata.json is false"]);
}

#[test]
fn two_processes_fire_a_time_once() {
    let desk = Desk::new();
    desk.remind_once(Action::Inbox);
    desk.wait(10);
    let fired: usize = std::thread::scope(|scope| {
        let looks: Vec<_> = (0..8).map(|_| scope.spawn(|| desk.fired().len())).collect();
        looks.into_iter().map(|look| look.join().unwrap()).sum()
    });
    assert_eq!((fired, desk.inbox().matches("[reminder water").count()), (1, 1));
}
