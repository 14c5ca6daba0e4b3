//! Running a program with bounds: its time, what of its output is kept, and everything that it starts.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

/// The bytes of each stream that are usually kept.
pub(super) const MOST_KEPT: usize = 1 << 20;
/// The time between asking a process to end and ending it.
const GRACE: Duration = Duration::from_secs(5);
/// The same when Muninn itself is to end, which waits half a second for its tasks.
const GRACE_AT_STOP: Duration = Duration::from_millis(200);
/// The time for output that processes in the background still hold open.
const LAST_OUTPUT: Duration = Duration::from_millis(500);

/// How a program ended.
#[derive(Debug)]
pub(super) enum End {
    Exited(ExitStatus),
    /// It took too long.
    TimedOut,
    /// Muninn ends.
    Stopped,
}

/// A program that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) end: End,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Runs a command in a process group of its own, which is gone afterwards. Up to `kept` bytes of each stream are kept.
pub(super) async fn run(
    mut command: Command,
    input: &[u8],
    kept: usize,
    timeout: Duration,
    stopping: &CancellationToken,
) -> io::Result<Ended> {
    command
        .stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn()?;
    let group = child.id();
    let stdin = child.stdin.take();
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let streams = (child.stdout.take(), child.stderr.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // A program that does not read its input has an error of its own.
            stdin.write_all(input).await.ok();
        }
    };
    let end = {
        let read =
            async { tokio::join!(collect(streams.0, &mut stdout, kept), collect(streams.1, &mut stderr, kept), write) };
        let limit = tokio::time::sleep(timeout);
        tokio::pin!(read, limit);
        let mut is_read = false;
        let end = loop {
            tokio::select! {
                status = child.wait() => break End::Exited(status?),
                () = &mut limit => break End::TimedOut,
                () = stopping.cancelled() => break End::Stopped,
                _ = &mut read, if !is_read => is_read = true,
            }
        };
        let grace = match end {
            End::Exited(_) => None,
            End::TimedOut => Some(GRACE),
            End::Stopped => Some(GRACE_AT_STOP),
        };
        end_group(&mut child, group, grace).await;
        if !is_read && !matches!(end, End::Stopped) {
            tokio::time::timeout(LAST_OUTPUT, read).await.ok();
        }
        end
    };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Ended { end, stdout: text(stdout), stderr: text(stderr) })
}

/// Reads a stream to its end, and keeps its beginning.
async fn collect(stream: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>, most: usize) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; 8 << 10];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        let room = most - kept.len();
        kept.extend_from_slice(&buffer[..count.min(room)]);
    }
}

/// Ends all processes of the group. `grace`: the time in which its first one may end, if it still runs.
#[cfg(unix)]
async fn end_group(child: &mut Child, group: Option<u32>, grace: Option<Duration>) {
    use rustix::process::{Pid, Signal, kill_process_group};

    let Some(group) = group.and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) else {
        return;
    };
    if kill_process_group(group, Signal::TERM).is_err() {
        return;
    }
    match grace {
        Some(grace) => drop(tokio::time::timeout(grace, child.wait()).await),
        None => tokio::time::sleep(LAST_OUTPUT).await,
    }
    kill_process_group(group, Signal::KILL).ok();
    child.wait().await.ok();
}

#[cfg(not(unix))]
async fn end_group(child: &mut Child, _: Option<u32>, grace: Option<Duration>) {
    if let Some(grace) = grace {
        tokio::time::timeout(grace, child.kill()).await.ok();
    }
}
