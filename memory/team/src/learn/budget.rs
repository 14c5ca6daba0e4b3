//! The daily token budget of the summarizer.
//!
//! A small file in the user's state directory contains the day and the tokens spent. The file is read and written under
//! a lock, so that several processes share one budget. The maximum cost of a call is reserved before the call and
//! replaced by its actual cost afterwards. If the process is killed in between, the reservation counts as spent.

use std::path::{Path, PathBuf};
use std::{fs, io};

use jiff::civil::Date;
use muninn_base::private_file;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A budget for each day.
#[derive(Debug, Clone)]
pub struct DailyBudget {
    path: PathBuf,
}

/// Tokens reserved for a call, until [`DailyBudget::settle`].
#[derive(Debug, PartialEq, Eq)]
pub struct Reserved {
    date: Date,
    tokens: u64,
}

/// Why the budget is not available. In this case nothing must be spent.
#[derive(Debug, Error)]
pub enum BudgetError {
    /// The file cannot be read or written.
    #[error("cannot use the budget file {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is damaged. The next reservation is refused and repairs it.
    #[error("the budget file {} is damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
}

/// The tokens spent on a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spending {
    date: Date,
    tokens: u64,
}

/// The format of the file.
#[derive(Serialize, Deserialize)]
struct BudgetFile {
    /// A UTC date, `2026-01-31`.
    date: String,
    tokens: u64,
}

impl Spending {
    /// The spending that counts for a process whose clock says `today`.
    ///
    /// If the clock goes back over midnight, the later day continues, so that no second budget is granted. A stored day
    /// that is more than one day ahead is wrong and is replaced, because otherwise it would block the budget until that
    /// day.
    fn seen_from(self, today: Date) -> Spending {
        let goes_on = self.date == today || today.tomorrow().is_ok_and(|tomorrow| self.date == tomorrow);
        if goes_on { self } else { Spending { date: today, tokens: 0 } }
    }
}

impl DailyBudget {
    /// The budget of all processes with this state directory. Nothing is created or read yet.
    pub fn below(state_dir: &Path) -> Self {
        Self { path: state_dir.join("memory").join("summarizer.json") }
    }

    /// Reserves tokens; `None` if the day would exceed `limit`.
    ///
    /// # Errors
    /// [`BudgetError::Io`]. In this case nothing must be spent.
    pub fn reserve(&self, today: Date, tokens: u64, limit: u64) -> Result<Option<Reserved>, BudgetError> {
        let _lock = self.lock()?;
        let day = match self.read() {
            Ok(day) => day.unwrap_or(Spending { date: today, tokens: 0 }).seen_from(today),
            // The spending is unknown, so the whole budget counts as spent today.
            Err(BudgetError::Damaged { .. }) => {
                self.write(Spending { date: today, tokens: limit })?;
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let spent = day.tokens.saturating_add(tokens);
        if spent > limit {
            return Ok(None);
        }
        self.write(Spending { tokens: spent, ..day })?;
        Ok(Some(Reserved { date: day.date, tokens }))
    }

    /// Replaces a reservation by the tokens used. If another day has begun since, nothing changes.
    ///
    /// # Errors
    /// [`BudgetError`]; then the reservation counts as used.
    pub fn settle(&self, reserved: Reserved, used: u64) -> Result<(), BudgetError> {
        let _lock = self.lock()?;
        match self.read()? {
            Some(day) if day.date == reserved.date => {
                self.write(Spending { tokens: day.tokens.saturating_sub(reserved.tokens).saturating_add(used), ..day })
            }
            _ => Ok(()),
        }
    }

    /// The tokens spent today, reservations included.
    pub fn spent(&self, today: Date) -> Result<u64, BudgetError> {
        Ok(self.read()?.map_or(0, |day| day.seen_from(today).tokens))
    }

    fn lock(&self) -> Result<fs::File, BudgetError> {
        let lock = self.path.with_extension("lock");
        let made = self.path.parent().map_or(Ok(()), private_file::dir);
        made.and_then(|()| private_file::lock(&lock)).map_err(self.failed())
    }

    fn read(&self) -> Result<Option<Spending>, BudgetError> {
        let bytes = match private_file::read_whole(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(self.failed()(source)),
        };
        let written = serde_json::from_slice(&bytes).ok();
        let day = written.and_then(|BudgetFile { date, tokens }| {
            let date = date.parse().ok()?;
            Some(Spending { date, tokens })
        });
        let path = self.path.clone();
        day.map(Some).ok_or(BudgetError::Damaged { path })
    }

    fn write(&self, day: Spending) -> Result<(), BudgetError> {
        let written = BudgetFile { date: day.date.to_string(), tokens: day.tokens };
        let bytes = serde_json::to_vec(&written).map_err(io::Error::from);
        bytes.and_then(|bytes| private_file::replace(&self.path, &bytes)).map_err(self.failed())
    }

    fn failed(&self) -> impl FnOnce(io::Error) -> BudgetError {
        let path = self.path.clone();
        move |source| BudgetError::Io { path, source }
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    const TODAY: Date = date(2026, 3, 1);

    fn budget() -> (tempfile::TempDir, DailyBudget) {
        let state = tempfile::tempdir().unwrap();
        let budget = DailyBudget::below(state.path());
        (state, budget)
    }

    #[test]
    fn reservation_is_replaced_by_actual_cost() {
        let (_state, budget) = budget();
        assert_eq!(budget.spent(TODAY).unwrap(), 0);
        let reserved = budget.reserve(TODAY, 800, 1_000).unwrap().unwrap();
        assert_eq!(budget.spent(TODAY).unwrap(), 800);
        assert_eq!(budget.reserve(TODAY, 201, 1_000).unwrap(), None);
        budget.settle(reserved, 300).unwrap();
        assert_eq!(budget.spent(TODAY).unwrap(), 300);
        assert!(budget.reserve(TODAY, 700, 1_000).unwrap().is_some(), "the budget must be usable to the last token");
        assert_eq!(budget.reserve(TODAY, 1, 1_000).unwrap(), None);
        assert_eq!(budget.reserve(TODAY, u64::MAX, u64::MAX).unwrap().unwrap().tokens, u64::MAX);
    }

    #[test]
    fn concurrent_processes_share_one_budget() {
        let (state, _) = budget();
        let granted: usize = std::thread::scope(|scope| {
            let gateways: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let budget = DailyBudget::below(state.path());
                        (0..50).filter(|_| budget.reserve(TODAY, 10, 1_000).unwrap().is_some()).count()
                    })
                })
                .collect();
            gateways.into_iter().map(|gateway| gateway.join().unwrap()).sum()
        });
        assert_eq!(granted, 100);
        assert_eq!(DailyBudget::below(state.path()).spent(TODAY).unwrap(), 1_000);
    }

    #[test]
    fn each_day_has_its_own_budget() {
        let (_state, budget) = budget();
        let reserved = budget.reserve(TODAY, 900, 1_000).unwrap().unwrap();
        let tomorrow = TODAY.tomorrow().unwrap();
        assert_eq!(budget.spent(tomorrow).unwrap(), 0);
        assert!(budget.reserve(tomorrow, 900, 1_000).unwrap().is_some());
        budget.settle(reserved, 0).unwrap();
        assert_eq!(budget.spent(tomorrow).unwrap(), 900, "settling yesterday's call must not change today's spending");
    }

    #[test]
    fn clock_change_neither_doubles_nor_blocks_the_budget() {
        let (_state, budget) = budget();
        let reserved = budget.reserve(TODAY, 900, 1_000).unwrap().unwrap();
        let yesterday = TODAY.yesterday().unwrap();
        assert_eq!(budget.reserve(yesterday, 900, 1_000).unwrap(), None);
        assert!(budget.reserve(yesterday, 100, 1_000).unwrap().is_some());
        budget.settle(reserved, 0).unwrap();
        assert_eq!(budget.spent(TODAY).unwrap(), 100, "both reservations must count on the later day");

        let long_ago = yesterday.yesterday().unwrap();
        let reserved = budget.reserve(long_ago, 900, 1_000).unwrap().unwrap();
        assert_eq!(budget.spent(long_ago).unwrap(), 900);
        budget.settle(reserved, 950).unwrap();
        let end = Date::MAX;
        assert!(
            budget.reserve(end, 1, 1_000).unwrap().is_some(),
            "a reservation on the last possible date must succeed"
        );
        assert!(budget.reserve(TODAY, 1_000, 1_000).unwrap().is_some());
    }

    #[test]
    fn settling_never_underflows() {
        let (_state, budget) = budget();
        let reserved = budget.reserve(TODAY, 500, 1_000).unwrap().unwrap();
        fs::write(&budget.path, r#"{"date":"2026-03-01","tokens":20}"#).unwrap();
        budget.settle(reserved, 7).unwrap();
        assert_eq!(budget.spent(TODAY).unwrap(), 7);
    }

    #[test]
    fn damaged_file_spends_the_rest_of_the_day() {
        for damage in ["", "{", r#"{"date":"today","tokens":1}"#, r#"{"date":"2026-03-01","tokens":-1}"#] {
            let (_state, budget) = budget();
            let reserved = budget.reserve(TODAY, 1, 1_000).unwrap().unwrap();
            fs::write(&budget.path, damage).unwrap();
            assert!(matches!(budget.spent(TODAY), Err(BudgetError::Damaged { .. })), "{damage}");
            assert!(budget.settle(reserved, 1).is_err(), "{damage}");
            assert_eq!(budget.reserve(TODAY, 1, 1_000).unwrap(), None, "{damage}");
            assert_eq!(budget.spent(TODAY).unwrap(), 1_000);
            let tomorrow = TODAY.tomorrow().unwrap();
            assert!(budget.reserve(tomorrow, 1, 1_000).unwrap().is_some());
        }
    }
}
