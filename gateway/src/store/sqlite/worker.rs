//! A thread with a queue of what it is to do.

use std::sync::mpsc::{Receiver, Sender, channel};

use muninn_repo_tools::{Supervisor, Task};

/// The queue's end that requests hold. The thread ends when it is dropped, after what was queued.
pub(super) struct Worker<J> {
    queue: Option<Sender<J>>,
    task: Task,
}

impl<J: Send + 'static> Worker<J> {
    /// Starts the thread, as a task of this name. `run` ends with the queue, and is called again where it panicked.
    pub(super) fn start(
        supervisor: &Supervisor,
        name: &'static str,
        mut run: impl FnMut(&Receiver<J>) + Send + 'static,
    ) -> std::io::Result<Worker<J>> {
        let (queue, jobs) = channel();
        Ok(Worker {
            queue: Some(queue),
            task: supervisor.keep_owned(name, move || run(&jobs))?,
        })
    }

    /// Queues a job. Where the thread has ended the job is dropped.
    pub(super) fn send(&self, job: J) {
        if let Some(queue) = &self.queue {
            let _ended = queue.send(job);
        }
    }
}

impl<J> Drop for Worker<J> {
    fn drop(&mut self) {
        self.queue = None;
        self.task.wait();
    }
}
