//! Running git with bounds: its time, its silence, its memory, and what of its output is kept.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often the bounds are checked.
const TICK: Duration = Duration::from_millis(50);
/// The time between asking git to end, which removes its temporary files, and ending it.
const GRACE: Duration = Duration::from_secs(2);
/// The time for output after git has ended: a process in the background, such as a credential cache, can hold its streams.
const LAST_OUTPUT: Duration = Duration::from_millis(500);
/// The most memory of git and of each program that it starts, where the system can bound it: Linux. Files that git maps,
/// such as the index of a large pack, do not count.
#[cfg(target_os = "linux")]
const MAX_MEMORY: u64 = 256 << 20;
/// The most seconds that each of them computes. A fetch of 100,000 entries needs three; a pack of 4 MB can stand for an object
/// of 4 GB.
#[cfg(target_os = "linux")]
const MAX_CPU_SECONDS: u64 = 15;

/// The most time of a command, and the most of its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// From the start to the end.
    pub total: Duration,
    /// Without a byte of output. `--progress` makes git write while it works.
    pub silence: Duration,
    /// The bytes of each stream that are kept. What follows is read and dropped.
    pub output: usize,
}

/// Why a command did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum GitRunError {
    /// git cannot be started.
    #[error("cannot run git: {0}")]
    Start(io::Error),
    /// git failed. Its error output, without progress.
    #[error("{0}")]
    Failed(String),
    /// git was ended, because nothing happened for a while.
    #[error("there was no answer within {} s", .0.as_secs_f32())]
    Silent(Duration),
    /// git was ended, because it took too long.
    #[error("it did not end within {} s", .0.as_secs_f32())]
    TooLong(Duration),
    /// git was ended, because it received more than is taken in.
    #[error("more was received than is taken in at once")]
    TooMuch,
}

/// A message of the threads that read the streams.
enum Output {
    /// A byte came.
    Active,
    /// The stream has ended. The number tells which one.
    Ended(usize, Vec<u8>),
}

/// Runs git in a process group of its own, and returns its output, of which the limits can cut the end. `is_full` is asked while it runs, and ends it.
///
/// # Errors
/// [`GitRunError`]. After a bound was reached, git and all that it started is gone.
pub fn run_git(mut command: Command, limits: RunLimits, is_full: &dyn Fn() -> bool) -> Result<String, GitRunError> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(GitRunError::Start)?;
    bound_resources(&child);
    let (sender, output) = channel();
    if let Some(stdout) = child.stdout.take() {
        collect(0, stdout, limits.output, sender.clone());
    }
    if let Some(stderr) = child.stderr.take() {
        collect(1, stderr, limits.output, sender);
    }
    let mut streams = [Vec::new(), Vec::new()];
    let status = match watch(&mut child, limits, is_full, &output, &mut streams) {
        Ok(status) => status,
        Err(error) => {
            end(&mut child);
            return Err(error);
        }
    };
    let until = Instant::now() + LAST_OUTPUT;
    while let Ok(output) = output.recv_timeout(until.saturating_duration_since(Instant::now())) {
        keep(output, &mut streams);
    }
    let [stdout, stderr] = streams.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if status.success() { Ok(stdout) } else { Err(GitRunError::Failed(without_progress(&stderr))) }
}

/// Waits for the end of a process.
fn watch(
    child: &mut Child,
    limits: RunLimits,
    is_full: &dyn Fn() -> bool,
    output: &Receiver<Output>,
    streams: &mut [Vec<u8>; 2],
) -> Result<std::process::ExitStatus, GitRunError> {
    let started = Instant::now();
    let mut active = started;
    loop {
        match output.recv_timeout(TICK) {
            Ok(output) => {
                active = Instant::now();
                keep(output, streams);
            }
            Err(RecvTimeoutError::Timeout) => {}
            // Both streams are closed, so the process ends, or hides what it does.
            Err(RecvTimeoutError::Disconnected) => thread::sleep(TICK / 10),
        }
        if let Some(status) = child.try_wait().map_err(GitRunError::Start)? {
            return Ok(status);
        }
        if started.elapsed() > limits.total {
            return Err(GitRunError::TooLong(limits.total));
        }
        if active.elapsed() > limits.silence {
            return Err(GitRunError::Silent(limits.silence));
        }
        if is_full() {
            return Err(GitRunError::TooMuch);
        }
    }
}

fn keep(output: Output, streams: &mut [Vec<u8>; 2]) {
    if let Output::Ended(stream, bytes) = output {
        streams[stream] = bytes;
    }
}

/// Reads a stream to its end on a thread of its own, and keeps its beginning.
fn collect(number: usize, mut stream: impl Read + Send + 'static, most: usize, sender: Sender<Output>) {
    thread::spawn(move || {
        let (mut kept, mut buffer) = (Vec::new(), vec![0; 8 << 10]);
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            let room = most - kept.len();
            kept.extend_from_slice(&buffer[..count.min(room)]);
            if sender.send(Output::Active).is_err() {
                return;
            }
        }
        sender.send(Output::Ended(number, kept)).ok();
    });
}

/// The lines of an error output that are no progress.
fn without_progress(stderr: &str) -> String {
    const PROGRESS: [&str; 5] = ["Enumerating ", "Counting ", "Compressing ", "Total ", "Delta "];
    let lines = stderr.split(['\n', '\r']).map(str::trim_end);
    let lines = lines.filter(|line| {
        let own = line.strip_prefix("remote: ").unwrap_or(line);
        let is_progress = PROGRESS.iter().any(|start| own.starts_with(start)) || own.contains("% (");
        !own.trim().is_empty() && !is_progress
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Bounds the memory of a process and of those that it will start, and the time that each computes.
#[cfg(target_os = "linux")]
fn bound_resources(child: &Child) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};

    for (resource, most) in [(Resource::Data, MAX_MEMORY), (Resource::Cpu, MAX_CPU_SECONDS)] {
        let bound = Rlimit { current: Some(most), maximum: Some(most) };
        // A process that has ended already, or a lower limit of the user's, needs no bound.
        prlimit(Some(Pid::from_child(child)), resource, bound).ok();
    }
}

#[cfg(not(target_os = "linux"))]
fn bound_resources(_: &Child) {}

/// Ends a process that has not ended, and its group.
#[cfg(unix)]
fn end(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process_group};

    let group = Pid::from_child(child);
    kill_process_group(group, Signal::TERM).ok();
    let until = Instant::now() + GRACE;
    while Instant::now() < until && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(TICK);
    }
    kill_process_group(group, Signal::KILL).ok();
    child.wait().ok();
}

#[cfg(not(unix))]
fn end(child: &mut Child) {
    child.kill().ok();
    child.wait().ok();
}
