//! Registers sqlite-vec. It is a C library, and calling it is unsafe: this is the only unsafe code in the workspace.
#![expect(unsafe_code, reason = "SQLite has no safe way to register an extension that is linked in")]

use rusqlite::auto_extension::{RawAutoExtension, register_auto_extension};

/// Registers sqlite-vec for all connections that this process opens from now on. Further calls have no effect.
pub(super) fn register() -> rusqlite::Result<()> {
    // SAFETY: the crate declares its entry point without parameters, but its C source defines it with the parameters of
    // an extension. SQLite ignores an entry point that is already registered, and this entry point opens and closes no
    // database.
    unsafe {
        let entry = std::mem::transmute::<*const (), RawAutoExtension>(sqlite_vec::sqlite3_vec_init as *const ());
        register_auto_extension(entry)
    }
}
