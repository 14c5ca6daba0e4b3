//! The ledger's health, for `/healthz` and `muninn doctor`.

use std::fmt;
use std::path::PathBuf;

/// A damaged database that was renamed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedLedger {
    /// Its new path.
    pub path: PathBuf,
    /// The time of the renaming, RFC 3339.
    pub at: String,
    /// How many rows were copied to the new ledger; empty if another process copied them.
    pub saved: String,
}

/// The ledger's health.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerHealth {
    /// No problem.
    Ok,
    /// A damaged ledger was renamed, and a new one is in use.
    DamagedLedger(DamagedLedger),
    /// The ledger is damaged, and its rows are being copied to a new one.
    Repairing,
    /// The file was removed or replaced while in use. Nothing new is added; blocks are replayed from the open file.
    Removed(PathBuf),
    /// The ledger cannot be used, for this reason.
    Unusable(String),
}

impl fmt::Display for LedgerHealth {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LedgerHealth::Ok => out.write_str("ok"),
            LedgerHealth::DamagedLedger(aside) => {
                let path = aside.path.display();
                write!(out, "put aside: a damaged ledger is kept as {path} since {}; a new one is used", aside.at)?;
                if aside.saved.is_empty() { Ok(()) } else { write!(out, "; {}", aside.saved) }
            }
            LedgerHealth::Repairing => out.write_str("damaged: its readable rows are being copied to a new ledger"),
            LedgerHealth::Removed(path) => write!(
                out,
                "removed: {} was removed while in use; nothing new is added to requests until the gateway is restarted",
                path.display()
            ),
            LedgerHealth::Unusable(reason) => write!(out, "unusable: {reason}"),
        }
    }
}
