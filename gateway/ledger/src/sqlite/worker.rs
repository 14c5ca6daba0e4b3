//! A thread with a job queue.

use std::sync::mpsc::{Receiver, Sender, channel};

use muninn_base::{Supervisor, Task};

/// The sending end of the queue. When it is dropped, the thread finishes the queued jobs and ends.
pub(super) struct Worker<J> {
    queue: Option<Sender<J>>,
    task: Task,
}

impl<J: Send + 'static> Worker<J> {
    /// Starts the thread as a task named `name`. `run` returns when the queue is closed, and is called again after a
    /// panic.
    pub(super) fn start(
        supervisor: &Supervisor,
        name: &'static str,
        mut run: impl FnMut(&Receiver<J>) + Send + 'static,
    ) -> std::io::Result<Worker<J>> {
        let (queue, jobs) = channel();
        Ok(Worker { queue: Some(queue), task: supervisor.keep_owned(name, move || run(&jobs))? })
    }

    /// Queues a job. If the thread has ended, the job is dropped.
    pub(super) fn send(&self, job: J) {
        if let Some(queue) = &self.queue {
            queue.send(job).ok();
        }
    }
}

impl<J> Drop for Worker<J> {
    fn drop(&mut self) {
        self.queue = None;
        self.task.wait();
    }
}
