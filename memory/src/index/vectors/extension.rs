//! sqlite-vec comes as C code, and to call that is unsafe: the one place in the workspace where it is allowed.
#![expect(
    unsafe_code,
    reason = "SQLite has no safe way to register an extension that is linked in"
)]

use rusqlite::auto_extension::{RawAutoExtension, register_auto_extension};

/// Has every connection that this process opens from now on know the tables of sqlite-vec. Again does nothing.
pub(super) fn register() -> rusqlite::Result<()> {
    // SAFETY: the crate declares its entry point without parameters; in its C source it has those of an extension.
    // SQLite ignores an entry point that it has already, and this one opens and closes no database.
    unsafe {
        let entry = std::mem::transmute::<*const (), RawAutoExtension>(sqlite_vec::sqlite3_vec_init as *const ());
        register_auto_extension(entry)
    }
}
