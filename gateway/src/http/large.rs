//! Threads for work on large bodies: reading, splicing and converting them, and counting their tokens.
//!
//! A worker's thread carries all of its streams, which stand still while it computes. The workers' blocking threads wait
//! on disks and models, so they may all be taken. These threads only compute: work that waits in between is a future,
//! and leaves its thread to others meanwhile.

use std::sync::OnceLock;

use tokio::runtime::{Builder, Runtime};
use tokio_util::task::AbortOnDropHandle;

/// A body above this many bytes is large: reading one of this size takes about a millisecond.
const LARGE: usize = 256 << 10;

/// The threads, one for each core. They start with the first large body.
#[derive(Default)]
pub(super) struct LargeBodies(OnceLock<Option<Runtime>>);

impl LargeBodies {
    /// Does work on a body of this many bytes: here if it is small, else on one of the threads. Dropping the future stops
    /// work that waits.
    ///
    /// # Errors
    /// What the work panicked with, where it ran on one of the threads.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, tokio::task::JoinError> {
        if bytes > LARGE
            && let Some(runtime) = self.0.get_or_init(start)
        {
            return AbortOnDropHandle::new(runtime.spawn(work)).await;
        }
        Ok(work.await)
    }
}

fn start() -> Option<Runtime> {
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name("muninn-large")
        .enable_all()
        .build()
        .inspect_err(|error| tracing::error!(%error, "large bodies are handled by the workers"))
        .ok()
}

impl Drop for LargeBodies {
    fn drop(&mut self) {
        // The last to hold it may be a task, where waiting for threads is not allowed.
        if let Some(runtime) = self.0.take().flatten() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_large_bodies_leave_the_thread_and_a_panic_is_told() {
        let runtime = Builder::new_current_thread().build().unwrap();
        let here = std::thread::current().id();
        runtime.block_on(async {
            let pool = LargeBodies::default();
            let thread = async || std::thread::current().id();
            assert_eq!(pool.run(LARGE, thread()).await.unwrap(), here);
            assert!(pool.0.get().is_none(), "nothing is started before it is needed");
            assert_ne!(pool.run(LARGE + 1, thread()).await.unwrap(), here);
            let panicked = pool.run(LARGE + 1, async { panic!("broken") }).await;
            assert!(panicked.unwrap_err().is_panic());
            drop(pool);
        });
    }

    #[test]
    fn work_stops_when_nobody_waits_for_it() {
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let pool = LargeBodies::default();
            let (held, stopped) = tokio::sync::oneshot::channel::<()>();
            let (begins, begun) = tokio::sync::oneshot::channel();
            let endless = pool.run(LARGE + 1, async move {
                let _held = held;
                let _waits = begins.send(());
                std::future::pending::<()>().await;
            });
            tokio::select! {
                _ = endless => unreachable!(),
                _ = begun => {}
            }
            assert!(stopped.await.is_err());
        });
    }
}
