//! The ledger's health, for `/healthz` and `muninn doctor`.

use std::fmt;
use std::path::PathBuf;

/// A damaged database that was put aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedLedger {
    /// Where it is kept.
    pub path: PathBuf,
    /// When, in RFC 3339.
    pub at: String,
    /// What came of the rows that could be read, where this process did it.
    pub saved: String,
}

/// The ledger's health.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerHealth {
    /// No problem.
    Ok,
    /// A damaged one was put aside, and a new one is used.
    DamagedLedger(DamagedLedger),
    /// It is damaged and being repaired.
    Repairing,
    /// It was removed or replaced while it was in use. Nothing new is added; blocks are put back from the open file.
    Removed(PathBuf),
    /// It cannot be used now, for this reason.
    Unusable(String),
}

impl fmt::Display for LedgerHealth {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LedgerHealth::Ok => out.write_str("ok"),
            LedgerHealth::DamagedLedger(aside) => {
                let path = aside.path.display();
                write!(
                    out,
                    "put aside: a damaged ledger is kept as {path} since {}; a new one is used",
                    aside.at
                )?;
                if aside.saved.is_empty() {
                    Ok(())
                } else {
                    write!(out, "; {}", aside.saved)
                }
            }
            LedgerHealth::Repairing => out.write_str("damaged: what can be read of it is being copied to a new ledger"),
            LedgerHealth::Removed(path) => write!(
                out,
                "removed: {} was removed while in use; nothing new is added to requests until the gateway is restarted",
                path.display()
            ),
            LedgerHealth::Unusable(reason) => write!(out, "unusable: {reason}"),
        }
    }
}
