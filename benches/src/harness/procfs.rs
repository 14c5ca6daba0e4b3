//! Memory, CPU time, load and limits of processes. `/proc` is read; on other systems, and for processes that have ended,
//! there is no value, and reports leave the figure out.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::progress;
use super::stats::rounded;

/// Resident memory, in MB of 10^6 bytes.
pub(crate) fn resident_mb(pid: u32) -> Option<f64> {
    status_mb(pid, "VmRSS:")
}

/// Peak resident memory, in MB of 10^6 bytes.
pub(crate) fn peak_mb(pid: u32) -> Option<f64> {
    status_mb(pid, "VmHWM:")
}

pub(crate) fn open_files(pid: u32) -> Option<usize> {
    Some(fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count())
}

pub(crate) fn load1() -> Option<f64> {
    first_number(Path::new("/proc/loadavg"))
}

/// The CPU time of each thread of a process, in nanoseconds, as the scheduler counts it. `/proc/PID/stat` counts in ticks
/// of 10 ms, which is longer than a short run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CpuTimes(BTreeMap<String, u64>);

impl CpuTimes {
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let mut times = BTreeMap::new();
        for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
            let time = first_number(&thread.path().join("schedstat"));
            times.extend(thread.file_name().into_string().ok().zip(time));
        }
        (!times.is_empty()).then_some(Self(times))
    }

    /// Nanoseconds used since `before`. Threads started since then count whole; threads that ended do not count.
    pub(crate) fn since(&self, before: &Self) -> u64 {
        let times = self.0.iter();
        times.map(|(id, now)| now.saturating_sub(before.0.get(id).copied().unwrap_or(0))).sum()
    }
}

/// Raises this process's soft limit on open files to `needed` if it is lower, and returns the limit. Processes that are
/// started later inherit it.
pub(crate) fn allow_open_files(needed: u64) -> Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    let soft = limit.current.unwrap_or(u64::MAX);
    if soft >= needed {
        return Ok(soft);
    }
    if let Some(hard) = limit.maximum.filter(|hard| *hard < needed) {
        bail!("the hard limit on open files is {hard}, and {needed} are needed");
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum: limit.maximum })
        .with_context(|| format!("the soft limit on open files cannot be raised to {needed}"))?;
    progress(&format!("soft limit on open files raised from {soft} to {needed}"));
    Ok(needed)
}

fn first_number<T: std::str::FromStr>(path: &Path) -> Option<T> {
    fs::read_to_string(path).ok()?.split(' ').next()?.parse().ok()
}

fn status_mb(pid: u32, field: &str) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(rounded(kibibytes * 1024.0 / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_threads_count_and_ended_threads_do_not() {
        let times = |pairs: &[(&str, u64)]| CpuTimes(pairs.iter().map(|(id, ns)| ((*id).to_owned(), *ns)).collect());
        assert_eq!(times(&[("1", 130), ("3", 7)]).since(&times(&[("1", 100), ("2", 50)])), 37);
    }
}
