//! What happens while a process or a session lives: reminders fire, and changes are committed.

use std::io::{self, Write};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use muninn_base::Supervisor;
use muninn_notebooks::personal::Personal;
use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::reminders::{LookReport, Part, ReminderSettings, Reminders};
use super::versions::{Committed, Pushing, VersionError, commit, unconfirmed_remote};

/// The longest pause between two looks at the wall clock.
const TICK: Duration = Duration::from_secs(30);
/// The time after which an index that nobody searches is no longer held.
const UNUSED: Duration = Duration::from_mins(5);
/// The time without a change after which changes are committed.
const DEBOUNCE: Duration = Duration::from_secs(2);
/// The pause before changes are committed that could not be.
const RETRY: Duration = Duration::from_mins(5);

/// Fires reminders and commits changes, on a thread of its own, until the process ends. `settings`: those in force, until there are
/// none.
pub fn keep(
    reminders: Arc<Reminders>,
    settings: impl Fn() -> Option<ReminderSettings> + Send + 'static,
    supervisor: &Supervisor,
) -> io::Result<()> {
    let stopping = supervisor.stopping().clone();
    let work = move || {
        let runtime = match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return tracing::error!(%error, "reminders do not fire"),
        };
        runtime.block_on(upkeep(&reminders, &settings, &stopping));
    };
    supervisor.keep("reminders", work).map(drop)
}

async fn upkeep(
    reminders: &Arc<Reminders>,
    settings: &impl Fn() -> Option<ReminderSettings>,
    stopping: &CancellationToken,
) {
    let personal = reminders.personal();
    let mut runs = JoinSet::new();
    let mut problems = Vec::new();
    let mut changes = Changes::default();
    // What changed while no process watched is committed, too.
    let mut versions = Versions::default();
    versions.commit_after(DEBOUNCE);
    if let Some(unconfirmed) = settings().and_then(|it| unconfirmed_remote(personal, it.config.git_remote.as_deref())) {
        tracing::warn!("changes of personal memory: {unconfirmed}");
    }
    while let Some(settings) = settings() {
        changes.watch(personal);
        let look = reminders.look(Part::All, &settings, (&mut runs, stopping), &mut |_| false);
        // The same problem at every look would fill the log.
        for problem in look.problems.iter().filter(|problem| !problems.contains(*problem)) {
            tracing::warn!("reminders: {problem}");
        }
        problems.clone_from(&look.problems);
        if settings.config.enabled {
            if changes.watcher.is_none() {
                versions.commit_after(TICK);
            }
            versions.start_if_due(personal, settings.config.git_remote.clone(), stopping);
        } else {
            versions.at = Some(Instant::now() + TICK);
        }
        personal.release_unused(UNUSED);
        let pause = pause(reminders, &look).min(versions.pause());
        tokio::select! {
            biased;
            () = stopping.cancelled() => break,
            () = wait(pause) => {}
            () = changes.seen.notified() => versions.changed(),
            Some(ended) = runs.join_next(), if !runs.is_empty() => {
                ended.iter().for_each(|line| reminders.signal(line, &settings));
            }
            Some(ended) = versions.running.join_next(), if !versions.running.is_empty() => versions.ended(ended.ok()),
        }
    }
    while runs.join_next().await.is_some() {}
    while versions.running.join_next().await.is_some() {}
}

/// When changes are committed.
#[derive(Default)]
struct Versions {
    at: Option<Instant>,
    /// At most one at a time.
    running: JoinSet<Committed>,
    is_unpushed: bool,
    /// The problem that was logged last. It is logged once, and not at each try.
    problem: Option<String>,
}

impl Versions {
    /// A change: more may follow.
    fn changed(&mut self) {
        self.at = Some(Instant::now() + DEBOUNCE);
    }

    /// Commits after a pause, if nothing else is planned.
    fn commit_after(&mut self, pause: Duration) {
        self.at.get_or_insert(Instant::now() + pause);
    }

    fn start_if_due(&mut self, personal: &Arc<Personal>, remote: Option<String>, stopping: &CancellationToken) {
        if self.running.is_empty() && self.at.is_some_and(|at| at <= Instant::now()) {
            self.at = None;
            let (personal, stopping) = (Arc::clone(personal), stopping.clone());
            let pushing = Pushing { remote, is_unpushed: self.is_unpushed };
            self.running.spawn(async move { commit(&personal, pushing, &stopping).await });
        }
    }

    fn ended(&mut self, committed: Option<Committed>) {
        let Some(committed) = committed else { return };
        self.is_unpushed = committed.is_unpushed;
        if let Some(VersionError::Busy) = committed.error {
            // A gateway and a daemon see the same changes.
            return self.commit_after(TICK);
        }
        let problem = committed.error.map(|error| error.to_string());
        if let Some(problem) = &problem {
            self.commit_after(RETRY);
            if self.problem.as_ref() != Some(problem) {
                tracing::warn!("changes of personal memory wait: {problem}");
            }
        }
        self.problem = problem;
    }

    /// The time until something is to be started.
    fn pause(&self) -> Duration {
        match self.at {
            Some(at) if self.running.is_empty() => at.saturating_duration_since(Instant::now()),
            _ => TICK,
        }
    }
}

/// The changes of the directory. Where the system cannot watch it, they are seen at the next tick.
#[derive(Default)]
struct Changes {
    seen: Arc<Notify>,
    watcher: Option<Box<dyn Send>>,
}

impl Changes {
    /// Watches the directory from now on, if it exists.
    fn watch(&mut self, personal: &Personal) {
        if self.watcher.is_none() && personal.root().is_dir() {
            let seen = Arc::clone(&self.seen);
            let watcher = personal.watch_all(move || seen.notify_one()).ok();
            self.watcher = watcher.map(|watcher| Box::new(watcher) as Box<dyn Send>);
        }
    }
}

/// Prints the reminders of a session, a line each, as they become due, until nobody reads. `unread`: says that nobody does, before
/// a line is lost.
pub fn follow(
    reminders: &Arc<Reminders>,
    settings: &ReminderSettings,
    out: &mut impl Write,
    unread: &CancellationToken,
) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let stopping = CancellationToken::new();
        let mut is_read = true;
        let mut changes = Changes::default();
        while is_read && !unread.is_cancelled() {
            changes.watch(reminders.personal());
            let mut tell = |line: &str| {
                let line = line.replace(['\n', '\r'], " ");
                is_read = is_read && writeln!(out, "{line}").and_then(|()| out.flush()).is_ok();
                is_read
            };
            // What is due and cannot be told goes to the inbox.
            let look = reminders.look(Part::Session, settings, (&mut JoinSet::new(), &stopping), &mut tell);
            tokio::select! {
                () = unread.cancelled() => {}
                () = wait(pause(reminders, &look)) => {}
                () = changes.seen.notified() => {}
            }
        }
    });
    Ok(())
}

/// Waits on a thread of the runtime. A timer of the runtime itself wakes up to four times on the way to a time that is half a
/// minute away.
async fn wait(pause: Duration) {
    let (owner, dropped) = mpsc::channel::<()>();
    tokio::task::spawn_blocking(move || dropped.recv_timeout(pause)).await.ok();
    drop(owner);
}

/// The time to the next look: at the next due time, if it comes before the tick. The clock may be set meanwhile, and a sleep
/// does not pass while the machine sleeps.
fn pause(reminders: &Reminders, look: &LookReport) -> Duration {
    let until = look.next.map(|next| next.duration_since(reminders.now()));
    let until = until.map(|until| Duration::try_from(until).unwrap_or(Duration::ZERO));
    // A due time that cannot be claimed yet waits for the tick.
    until.filter(|until| *until > Duration::ZERO).map_or(TICK, |until| until.min(TICK))
}
