//! What happens while a process or a session lives: reminders fire, and changes are committed.

use std::io::{self, Write};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use muninn_memory::personal::Personal;
use muninn_repo_tools::Supervisor;
use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::reminders::{Look, Means, Part, Reminders};
use super::versions;

/// The longest pause between two looks at the wall clock.
const TICK: Duration = Duration::from_secs(30);
/// The time after which an index that nobody searches is no longer held.
const UNUSED: Duration = Duration::from_mins(5);
/// The time without a change after which changes are committed.
const DEBOUNCE: Duration = Duration::from_secs(2);

/// Fires reminders and commits changes, on a thread of its own, until the process ends. `means`: the settings in force.
/// `fired`: gets a line about each reminder that fired.
///
/// # Errors
/// If the thread cannot be started.
pub fn keep(
    reminders: Arc<Reminders>,
    means: impl Fn() -> Means + Send + 'static,
    fired: impl Fn(&str) + Send + 'static,
    supervisor: &Supervisor,
) -> io::Result<()> {
    let stopping = supervisor.stopping().clone();
    let work = move || {
        let runtime = match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return tracing::error!(%error, "reminders do not fire"),
        };
        runtime.block_on(upkeep(&reminders, &means, &fired, &stopping));
    };
    supervisor.keep("reminders", work).map(drop)
}

async fn upkeep(
    reminders: &Arc<Reminders>,
    means: &impl Fn() -> Means,
    fired: &impl Fn(&str),
    stopping: &CancellationToken,
) {
    if let Err(error) = reminders.recover() {
        tracing::error!(%error, "claims of reminders without a result are not looked at");
    }
    let personal = reminders.personal();
    let mut runs = JoinSet::new();
    let mut problems = Vec::new();
    let mut changes = Changes::default();
    // What changed while no process watched is committed, too.
    let mut commit_at = Some(Instant::now() + DEBOUNCE);
    loop {
        changes.watch(personal);
        let look = reminders.look(Part::All, &means(), (&mut runs, stopping), &mut |_| false);
        look.fired.iter().for_each(|line| fired(line));
        // The same problem at every look would fill the log.
        for problem in look.problems.iter().filter(|problem| !problems.contains(*problem)) {
            tracing::warn!("reminders: {problem}");
        }
        problems.clone_from(&look.problems);
        if commit_at.is_some_and(|at| at <= Instant::now()) {
            commit_at = None;
            let personal = Arc::clone(personal);
            let committed = tokio::task::spawn_blocking(move || versions::commit(&personal)).await;
            if let Ok(Err(error)) = committed {
                tracing::warn!("personal memory is not committed: {error}");
            }
        }
        personal.release_unused(UNUSED);
        let until_commit = commit_at.map(|at| at.saturating_duration_since(Instant::now()));
        let pause = pause(reminders, &look).min(until_commit.unwrap_or(TICK));
        tokio::select! {
            () = stopping.cancelled() => break,
            () = wait(pause) => {}
            () = changes.told.notified() => commit_at = Some(Instant::now() + DEBOUNCE),
            Some(ended) = runs.join_next(), if !runs.is_empty() => ended.iter().for_each(|line| fired(line)),
        }
    }
    while runs.join_next().await.is_some() {}
}

/// The changes of the directory. Where the system cannot watch it, they are seen at the next tick.
#[derive(Default)]
struct Changes {
    told: Arc<Notify>,
    watcher: Option<Box<dyn Send>>,
}

impl Changes {
    /// Watches the directory from now on, if it exists.
    fn watch(&mut self, personal: &Personal) {
        if self.watcher.is_none() && personal.root().is_dir() {
            let told = Arc::clone(&self.told);
            let watcher = personal.watch_all(move || told.notify_one()).ok();
            self.watcher = watcher.map(|watcher| Box::new(watcher) as Box<dyn Send>);
        }
    }
}

/// Prints the reminders of a session, a line each, as they become due, until nobody reads.
///
/// # Errors
/// If the runtime cannot be created.
pub fn follow(reminders: &Arc<Reminders>, means: &Means, out: &mut impl Write) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let stopping = CancellationToken::new();
        let mut is_read = true;
        let mut changes = Changes::default();
        while is_read {
            changes.watch(reminders.personal());
            let mut tell = |line: &str| {
                let line = line.replace(['\n', '\r'], " ");
                is_read = is_read && writeln!(out, "{line}").and_then(|()| out.flush()).is_ok();
                is_read
            };
            // What is due and cannot be told goes to the inbox.
            let look = reminders.look(Part::Session, means, (&mut JoinSet::new(), &stopping), &mut tell);
            tokio::select! {
                () = wait(pause(reminders, &look)) => {}
                () = changes.told.notified() => {}
            }
        }
    });
    Ok(())
}

/// Waits on a thread of the runtime. A timer of the runtime itself wakes up to four times on the way to a time that is half a
/// minute away.
async fn wait(pause: Duration) {
    let (owner, dropped) = mpsc::channel::<()>();
    tokio::task::spawn_blocking(move || dropped.recv_timeout(pause))
        .await
        .ok();
    drop(owner);
}

/// The time to the next look: at the next due time, if it comes before the tick. The clock may be set meanwhile, and a sleep
/// does not pass while the machine sleeps.
fn pause(reminders: &Reminders, look: &Look) -> Duration {
    let until = look.next.map(|next| next.duration_since(reminders.now()));
    let until = until.map(|until| Duration::try_from(until).unwrap_or(Duration::ZERO));
    // A due time that cannot be claimed yet waits for the tick.
    until
        .filter(|until| *until > Duration::ZERO)
        .map_or(TICK, |until| until.min(TICK))
}
