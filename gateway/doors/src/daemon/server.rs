//! The life of a server: listening, idle time, and the end.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use muninn_base::Clock;
use muninn_core::App;
use tokio::sync::{Notify, Semaphore, mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::activity::Activity;
use super::connection;
use super::end::End;
use super::service::{AppService, ConfigFile, Service};
use super::shared::Shared;
use crate::socket::{Host, Listener};

/// The pause between two looks at the clock.
const TICK: Duration = Duration::from_mins(1);
/// The time that calls under way get at the end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// The threads that answer. Hooks of several sessions arrive together, and reading a transcript blocks.
const THREADS: usize = 2;
/// The threads for exploring and for indexes.
const BLOCKING_THREADS: usize = 8;
/// The most connections at a time; others wait.
const MOST_CONNECTIONS: usize = 64;

/// A running server. Dropping it ends it without waiting.
pub struct Server {
    stop: CancellationToken,
    follow: Arc<Notify>,
    ended: oneshot::Receiver<End>,
    thread: Option<JoinHandle<()>>,
}

/// The times of a server.
pub(super) struct Times {
    pub(super) clock: Clock,
    /// The time without calls after which it ends.
    pub(super) idle: Option<Duration>,
    pub(super) tick: Duration,
}

impl Server {
    /// Answers the calls of a daemon until nobody has called for the time `idle`, if there is one, and there are no reminders.
    pub fn daemon(
        app: &Arc<App>,
        listener: Listener,
        config: ConfigFile,
        idle: Option<Duration>,
    ) -> io::Result<Server> {
        let service = AppService { app: Arc::clone(app), config: Some(config) };
        Server::start(service, Host::Daemon, listener, Times::with(idle))
    }

    /// Answers the calls that a gateway takes beside its own requests.
    ///
    /// # Errors
    /// As [`Server::daemon`].
    pub fn beside_gateway(app: &Arc<App>, listener: Listener) -> io::Result<Server> {
        let service = AppService { app: Arc::clone(app), config: None };
        Server::start(service, Host::Gateway, listener, Times::with(None))
    }

    pub(super) fn start<S: Service>(service: S, host: Host, listener: Listener, times: Times) -> io::Result<Server> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(BLOCKING_THREADS)
            .thread_name("muninn-socket")
            .enable_all()
            .build()?;
        let (ends, ending) = mpsc::channel(1);
        let shared = Arc::new(Shared { service, host, activity: Activity::new(times.clock.clone()), ends });
        let (stop, follow) = (CancellationToken::new(), Arc::new(Notify::new()));
        let (sender, ended) = oneshot::channel();
        let thread = std::thread::Builder::new().name("muninn-daemon".to_owned()).spawn({
            let (stop, follow) = (stop.clone(), Arc::clone(&follow));
            move || {
                let end = runtime.block_on(listen(listener, shared, times, (ending, stop, follow)));
                // The end does not wait for computations that are under way.
                runtime.shutdown_background();
                sender.send(end).ok();
            }
        })?;
        Ok(Server { stop, follow, ended, thread: Some(thread) })
    }

    /// Reads the configuration again, as the user asks for by a signal.
    pub fn follow(&self) {
        self.follow.notify_one();
    }

    /// Waits for the end. To be called once.
    pub async fn ended(&mut self) -> End {
        (&mut self.ended).await.unwrap_or(End::Stopped)
    }

    /// Stops listening, and waits for the calls under way.
    pub fn shut_down(mut self) {
        self.stop.cancel();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread of the socket panicked");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Times {
    fn with(idle: Option<Duration>) -> Times {
        Times { clock: Clock::system(), idle, tick: TICK }
    }
}

/// Accepts connections until the end, and then waits for the calls under way.
async fn listen<S: Service>(
    listener: Listener,
    shared: Arc<Shared<S>>,
    times: Times,
    ending: (mpsc::Receiver<End>, CancellationToken, Arc<Notify>),
) -> End {
    let calls = TaskTracker::new();
    let end = accept(&listener, &shared, &times, ending, &calls).await;
    tracing::info!("the socket is closed: {end:?}");
    // A process that takes over may listen before this one has ended.
    drop(listener);
    calls.close();
    if timeout(DRAIN_TIMEOUT, calls.wait()).await.is_err() {
        tracing::warn!("calls under way were cut off after {} s", DRAIN_TIMEOUT.as_secs());
    }
    end
}

async fn accept<S: Service>(
    listener: &Listener,
    shared: &Arc<Shared<S>>,
    times: &Times,
    (mut ending, stop, follow): (mpsc::Receiver<End>, CancellationToken, Arc<Notify>),
    calls: &TaskTracker,
) -> End {
    let accepting = match listener.accepting() {
        Ok(accepting) => accepting,
        Err(error) => {
            tracing::error!(%error, "cannot accept connections");
            return End::Stopped;
        }
    };
    let free = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut ticks = interval(times.tick);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let next = || async {
        let permit = Arc::clone(&free).acquire_owned().await;
        accepting.accept().await.map(|(stream, _)| (stream, permit))
    };
    loop {
        let accepted = tokio::select! {
            biased;
            Some(end) = ending.recv() => return end,
            () = stop.cancelled() => return End::Stopped,
            () = follow.notified() => {
                shared.service.follow();
                continue;
            }
            _ = ticks.tick() => {
                shared.service.follow();
                let is_idle = times.idle.is_some_and(|idle| shared.activity.is_idle_for(idle));
                if is_idle && !shared.service.is_needed() {
                    return End::Idle;
                }
                if !listener.is_reachable() {
                    return End::Unreachable;
                }
                continue;
            }
            accepted = next() => accepted,
        };
        match accepted {
            Ok((stream, permit)) => {
                let shared = Arc::clone(shared);
                calls.spawn(async move {
                    if let Err(error) = connection::serve(stream, shared).await {
                        tracing::debug!(%error, "a connection ended early");
                    }
                    drop(permit);
                });
            }
            Err(error) => {
                // Most likely out of descriptors: wait for open connections to end instead of spinning.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}
