//! The allocator of the whole program.

/// Requests begin on one thread and end on another (receipts, learned requests), for which glibc's allocator takes locks that
/// workers then wait for.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
