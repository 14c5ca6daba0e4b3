//! The life of the server, from bind to drain.
//!
//! One thread accepts connections and distributes them round robin to workers; each worker is a thread with its own
//! runtime. A proxy mostly wakes up: with both sides of a request on one thread, no wake-up crosses threads and no lock is
//! shared on the path of the bytes. Exploring, indexing and other computations run on blocking threads.

use std::net::{SocketAddr, TcpListener, TcpStream as StdStream};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use muninn_backend::Transport;
use muninn_backend::access::Peer;
use muninn_config::{Config, ConfigError};
use muninn_core::App;
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::mount::Mount;
use super::{Shared, Worker, routes};

/// The blocking threads of one worker, for explorations and the index.
const BLOCKING_THREADS: usize = 8;

/// The least time that a stop gives to the learner.
const STOP_GRACE: Duration = Duration::from_millis(500);

/// Why a server did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The address is in use or not one of this machine.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// The configuration is invalid on this machine.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// TLS cannot be set up.
    #[error("cannot prepare connections to backends: {0}")]
    Transport(#[from] reqwest::Error),
    /// A thread or runtime cannot be created.
    #[error("cannot start a worker: {0}")]
    Worker(std::io::Error),
}

/// A running gateway. Dropping it stops it without draining.
pub struct Server {
    address: SocketAddr,
    app: Arc<App>,
    stop: CancellationToken,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Binds, opens the repository in `directory`, and starts to serve.
    ///
    /// # Errors
    /// [`StartError`]; nothing is left running then.
    ///
    /// `mounts` are the endpoints of other doors by their paths; requests to them are admitted like all others.
    pub fn start(
        config: Config,
        directory: &Path,
        mounts: impl FnOnce(&Arc<App>) -> Vec<Mount>,
    ) -> Result<Server, StartError> {
        let bind = |source| StartError::Bind { address: config.listen, source };
        let listener = TcpListener::bind(config.listen).map_err(bind)?;
        listener.set_nonblocking(true).map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        let connect_timeout = config.limits.connect_timeout;
        let app = Arc::new(App::open(config, directory, address.port())?);
        let mounts = mounts(&app);
        let shared: Arc<Shared> = Arc::default();
        let mut server = Server { address, stop: app.supervisor.stopping().clone(), app, threads: Vec::new() };
        let workers = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let mut queues = Vec::with_capacity(workers);
        for number in 0..workers {
            let worker = Worker {
                app: Arc::clone(&server.app),
                shared: Arc::clone(&shared),
                transport: Transport::new(connect_timeout)?,
                bookkeeping: TaskTracker::new(),
                sockets: TaskTracker::new(),
            };
            let (queue, connections) = unbounded_channel();
            queues.push(queue);
            let (stop, mounts) = (server.stop.clone(), mounts.clone());
            server.spawn(format!("muninn-{number}"), move || work(worker, mounts, connections, stop))?;
        }
        let stop = server.stop.clone();
        server.spawn("muninn-accept".to_owned(), move || accept(listener, queues, stop))?;
        Ok(server)
    }

    /// Starts a thread that runs a future on a runtime of its own.
    fn spawn<F: Future<Output = ()>>(
        &mut self,
        name: String,
        run: impl FnOnce() -> F + Send + 'static,
    ) -> Result<(), StartError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(BLOCKING_THREADS)
            .thread_name(format!("{name}-blocking"))
            .build()
            .map_err(StartError::Worker)?;
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            runtime.block_on(run());
            // A stop does not wait for computations that are under way.
            runtime.shutdown_background();
        });
        self.threads.push(thread.map_err(StartError::Worker)?);
        Ok(())
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The application behind it.
    pub fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// Stops accepting connections, drains open requests within the configured time, and returns when all has ended.
    pub fn shut_down(mut self) {
        let stop_by = Instant::now() + self.app.settings().config.limits.drain_timeout;
        self.stop.cancel();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a worker panicked");
            }
        }
        // The learner gets time even if the drain took all of it: open conversations are in memory only.
        self.app.close(stop_by.max(Instant::now() + STOP_GRACE));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn accept(listener: TcpListener, queues: Vec<UnboundedSender<StdStream>>, stop: CancellationToken) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, "cannot accept connections"),
    };
    let mut next = 0;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        match accepted.and_then(|(stream, _)| stream.into_std()) {
            Ok(stream) => {
                queues[next % queues.len()].send(stream).ok();
                next += 1;
            }
            Err(error) => {
                // Most likely out of descriptors: wait for open connections to end instead of spinning.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn work(
    worker: Worker,
    mounts: Vec<Mount>,
    mut connections: UnboundedReceiver<StdStream>,
    stop: CancellationToken,
) {
    let limits = worker.app.settings().config.limits.clone();
    let (bookkeeping, sockets, app) = (worker.bookkeeping.clone(), worker.sockets.clone(), Arc::clone(&worker.app));
    let service = TowerToHyperService::new(routes::service(worker, mounts));
    let open = TaskTracker::new();
    loop {
        let stream = tokio::select! {
            stream = connections.recv() => stream,
            () = stop.cancelled() => None,
        };
        let Some(stream) = stream else { break };
        let prepared = stream.set_nodelay(true).and_then(|()| TcpStream::from_std(stream));
        let prepared = prepared.and_then(|stream| Ok((Peer::new(stream.local_addr()?, stream.peer_addr()?), stream)));
        let (peer, stream) = match prepared {
            Ok((peer, stream)) => (Arc::new(peer), stream),
            Err(error) => {
                tracing::debug!(%error, "a connection was closed before it was served");
                continue;
            }
        };
        let service = service.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Arc::clone(&peer));
            service.call(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.header_timeout)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        let stop = stop.clone();
        open.spawn(async move {
            let mut connection = pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = stop.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
    // No request waits for background explorations.
    app.explorations.close();
    let ended = async {
        for tasks in [open, sockets] {
            tasks.close();
            tasks.wait().await;
        }
    };
    let drained = tokio::time::timeout(limits.drain_timeout, ended).await;
    if drained.is_err() {
        tracing::warn!("open requests were cut off after {} s", limits.drain_timeout.as_secs());
    }
    bookkeeping.close();
    bookkeeping.wait().await;
}
