//! Threads for work on large bodies: parsing, splicing and converting them, and counting their tokens.
//!
//! A worker's thread runs all of its streams, and they stall while it computes. The workers' blocking threads may all be
//! waiting for disks and models. The threads here only compute: the work is a future and gives up its thread while it
//! waits.

use std::sync::OnceLock;

use tokio::runtime::{Builder, Runtime};
use tokio_util::task::AbortOnDropHandle;

/// A body above this many bytes is large: parsing one of this size takes about a millisecond.
const LARGE: usize = 256 << 10;

/// The threads, one per core. They start with the first large body.
#[derive(Default)]
pub(super) struct LargeBodies(OnceLock<Option<Runtime>>);

impl LargeBodies {
    /// Runs work on a body of this many bytes: on the current thread if the body is small, else on one of the pool's.
    /// Dropping the future cancels the work.
    ///
    /// # Errors
    /// If the work panics on a thread of the pool.
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
        .inspect_err(
            |error| tracing::error!(%error, "the threads for large bodies did not start; the workers handle them"),
        )
        .ok()
}

impl Drop for LargeBodies {
    fn drop(&mut self) {
        // The last owner may be a task, which must not block.
        if let Some(runtime) = self.0.take().flatten() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_large_bodies_use_the_pool_and_a_panic_is_an_error() {
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
    fn dropping_the_future_cancels_the_work() {
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let pool = LargeBodies::default();
            let (held, stopped) = tokio::sync::oneshot::channel::<()>();
            let (begins, begun) = tokio::sync::oneshot::channel();
            let endless = pool.run(LARGE + 1, async move {
                let _guard = held;
                begins.send(()).unwrap();
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
