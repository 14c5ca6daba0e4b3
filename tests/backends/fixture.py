"""The repository that the conversations are about: small files, one topic each, committed.

Distinct topics, so that each question has one right file and a receipt can be judged. Small files, so that four packs
and their answers fit together into one slot's window. The names are made up: a file that the model could know from its
training would prove nothing.
"""

import os
import subprocess

FILES = {
    "README.md": """# Kelpline

Kelpline carries tide readings from harbour gauges to the forecasting desk. Gauges report over radio, the relay
validates and stores what they send, and the desk asks the relay for curves.
""",
    "relay/src/throttle.rs": """//! The token bucket that keeps one chatty gauge from starving the others.

use std::time::Instant;

/// A bucket per gauge: `burst` readings at once, `per_second` afterwards.
pub struct GaugeThrottle {
    burst: f64,
    per_second: f64,
    tokens: f64,
    refilled: Instant,
}

impl GaugeThrottle {
    /// Refills by the time that has passed, then takes one token; `false` means that the reading is to be dropped.
    pub fn admit_reading(&mut self, now: Instant) -> bool {
        let elapsed = now.duration_since(self.refilled).as_secs_f64();
        self.tokens = (self.tokens + elapsed * self.per_second).min(self.burst);
        self.refilled = now;
        if self.tokens < 1.0 {
            return false;
        }
        self.tokens -= 1.0;
        true
    }
}
""",
    "relay/src/frame.rs": """//! Radio frames: a length byte, a payload and a CRC-16/XMODEM trailer.

const POLYNOMIAL: u16 = 0x1021;

/// Computes the checksum that closes every radio frame.
pub fn frame_checksum(payload: &[u8]) -> u16 {
    payload.iter().fold(0, |mut crc, byte| {
        crc ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            crc = if crc & 0x8000 != 0 { (crc << 1) ^ POLYNOMIAL } else { crc << 1 };
        }
        crc
    })
}

/// Splits a frame into its payload, or says which part was wrong.
pub fn decode_frame(frame: &[u8]) -> Result<&[u8], &'static str> {
    let (&length, rest) = frame.split_first().ok_or("empty frame")?;
    let payload = rest.get(..length as usize).ok_or("frame cut short")?;
    Ok(payload)
}
""",
    "relay/src/main.rs": """//! The relay: receives frames, stores readings.

mod frame;
mod throttle;

fn main() {
    println!("relay ready");
}
""",
    "desk/curve.py": '''"""Tide curves out of scattered readings."""


def interpolate_tide(readings, minute):
    """Cosine interpolation between the two readings around a minute, as printed tide tables use."""
    import math

    before = max((r for r in readings if r.minute <= minute), key=lambda r: r.minute)
    after = min((r for r in readings if r.minute > minute), key=lambda r: r.minute)
    phase = (minute - before.minute) / (after.minute - before.minute)
    weight = (1 - math.cos(math.pi * phase)) / 2
    return before.level + (after.level - before.level) * weight
''',
    "desk/alarm.py": '''"""Storm surge alarms: who is woken, and when."""

SURGE_CENTIMETRES = 45
QUIET_MINUTES = 30


class SurgeAlarm:
    """Raises one alarm per surge, and stays quiet for half an hour after it."""

    def __init__(self, pager):
        self.pager = pager
        self.last_raised = None

    def observe_surge(self, minute, observed, predicted):
        """Pages the duty officer when the water stands more than the surge margin above the prediction."""
        if observed - predicted < SURGE_CENTIMETRES:
            return False
        if self.last_raised is not None and minute - self.last_raised < QUIET_MINUTES:
            return False
        self.last_raised = minute
        self.pager.page_duty_officer(minute, observed - predicted)
        return True
''',
    "desk/export.py": '''"""Monthly spreadsheets for the port authority."""

import csv


def export_month(rows, handle):
    """Writes one line per day: date, high water, low water."""
    writer = csv.writer(handle, delimiter=";")
    for row in rows:
        writer.writerow([row.date.isoformat(), row.high, row.low])
''',
    "web/session.ts": """// Sign-in sessions of the desk's web page: a signed cookie, renewed on use.

export interface DeskSession {
  officer: string;
  expiresAt: number;
}

const RENEWAL_WINDOW_MS = 15 * 60 * 1000;

/** Extends a sign-in cookie that is about to expire; an expired one is refused. */
export function renewDeskSession(session: DeskSession, now: number): DeskSession | null {
  if (session.expiresAt <= now) {
    return null;
  }
  if (session.expiresAt - now > RENEWAL_WINDOW_MS) {
    return session;
  }
  return { ...session, expiresAt: now + 8 * 60 * 60 * 1000 };
}
""",
    "web/palette.ts": """// Colours of the chart, dark enough for a wheelhouse at night.

export const nightPalette = { water: "#0b2545", land: "#3a3a2e", alarm: "#d1495b" };
""",
    "store/compaction.go": """// Package store keeps readings in append-only segments.
package store

import "sort"

// CompactSegments merges small segments into one, newest reading of a gauge and minute winning.
func CompactSegments(segments [][]Reading) []Reading {
	newest := map[Key]Reading{}
	for _, segment := range segments {
		for _, reading := range segment {
			newest[reading.Key()] = reading
		}
	}
	merged := make([]Reading, 0, len(newest))
	for _, reading := range newest {
		merged = append(merged, reading)
	}
	sort.Slice(merged, func(i, j int) bool { return merged[i].Minute < merged[j].Minute })
	return merged
}
""",
    "store/reading.go": """package store

// Reading is one water level, in centimetres above chart datum.
type Reading struct {
	Gauge  string
	Minute int64
	Level  int32
}

// Key says which reading replaces which.
type Key struct {
	Gauge  string
	Minute int64
}

// Key of this reading.
func (r Reading) Key() Key { return Key{r.Gauge, r.Minute} }
""",
    "scripts/calibrate.sh": """#!/bin/sh
# Prints the offset between a gauge and the brass mark on the quay wall.
set -eu
gauge=$1
mark=$2
awk -v mark="$mark" '{ sum += $2 } END { printf "%.1f\\n", mark - sum / NR }' "$gauge"
""",
}

# Each question and the file that answers it.
QUESTIONS = [
    ("How does GaugeThrottle decide whether to admit_reading or drop it?", "relay/src/throttle.rs"),
    ("When does SurgeAlarm page the duty officer, and how long is it quiet afterwards?", "desk/alarm.py"),
    ("Which reading wins when CompactSegments merges small segments of the store?", "store/compaction.go"),
    ("What does renewDeskSession do with a sign-in cookie that is about to expire?", "web/session.ts"),
]


def make_repository(root, files=None, message="kelpline: gauges, relay, desk"):
    """Writes the files under `root` and commits them once; git's own settings of the machine are shut out."""
    for name, text in (files or FILES).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", message]):
        git(root, *command)
    return root


def git(root, *arguments):
    """Runs git in a repository, which has to succeed; what it printed."""
    done = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True, env=git_environment())
    return done.stdout


def git_environment():
    """This process's environment with an author, so that git neither asks nor reads a user's file."""
    who = {"NAME": "Stage", "EMAIL": "stage@example.invalid"}
    people = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    return os.environ | people | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}


def worktree_state(root):
    """What git and the file system say is in the worktree, for a comparison of before and after."""
    command = ["git", "status", "--porcelain", "--ignored", "--untracked-files=all"]
    status = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True, env=git_environment())
    names = sorted(str(p.relative_to(root)) for p in root.rglob("*") if ".git" not in p.relative_to(root).parts)
    return status.stdout, names
