//! Memory, CPU time and load from `/proc`. On other systems, and for processes that have ended, there is no value, and
//! the reports leave the figure out.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Resident memory of a process now, in MB of 10^6 bytes.
pub fn resident_mb(pid: u32) -> Option<f64> {
    status_mb(pid, "VmRSS:")
}

/// Resident memory of a process at its highest, in MB of 10^6 bytes.
pub fn peak_mb(pid: u32) -> Option<f64> {
    status_mb(pid, "VmHWM:")
}

/// Open descriptors of a process.
pub fn open_files(pid: u32) -> Option<usize> {
    Some(fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count())
}

/// Load average over the last minute.
pub fn load1() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}

/// CPU time of each thread of a process, in nanoseconds.
///
/// The scheduler's own counts: `/proc/PID/stat` counts in ticks of 10 ms, longer than a short run
/// uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuTimes(BTreeMap<String, u64>);

impl CpuTimes {
    /// Reads the counts of all threads alive now.
    pub fn of(pid: u32) -> Option<Self> {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
        let times: BTreeMap<String, u64> = threads
            .flatten()
            .filter_map(|thread| {
                let id = thread.file_name().into_string().ok()?;
                Some((id, thread_time(&thread.path())?))
            })
            .collect();
        (!times.is_empty()).then_some(Self(times))
    }

    /// Nanoseconds used since `before`. Threads that were started since count whole; those that
    /// have ended since do not count.
    pub fn since(&self, before: &Self) -> u64 {
        let times = self.0.iter();
        times.map(|(id, now)| now.saturating_sub(before.0.get(id).copied().unwrap_or(0))).sum()
    }
}

fn thread_time(task: &Path) -> Option<u64> {
    let text = fs::read_to_string(task.join("schedstat")).ok()?;
    text.split(' ').next()?.parse().ok()
}

fn status_mb(pid: u32, field: &str) -> Option<f64> {
    field_mb(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?, field)
}

fn field_mb(status: &str, field: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_megabytes() {
        let status = "Name:\tmuninn\nVmHWM:\t  250000 kB\nVmRSS:\t  125000 kB\n";
        assert_eq!(field_mb(status, "VmRSS:"), Some(128.0));
        assert_eq!(field_mb(status, "VmHWM:"), Some(256.0));
        assert_eq!(field_mb(status, "VmSwap:"), None);
    }

    #[test]
    fn new_threads_count_and_ended_threads_do_not() {
        let times = |pairs: &[(&str, u64)]| CpuTimes(pairs.iter().map(|(id, ns)| ((*id).to_owned(), *ns)).collect());
        let before = times(&[("1", 100), ("2", 50)]);
        let after = times(&[("1", 130), ("3", 7)]);
        assert_eq!(after.since(&before), 37);
    }
}
