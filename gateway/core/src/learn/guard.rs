/// The most bytes in the queue, the most bytes of open conversations (last requests and their answers), and the most bytes
/// of all answers.
pub(crate) const MOST_BYTES: usize = 64 << 20;

/// Catches a panic, so that one conversation does not end the learning from others.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    done.inspect_err(|_| tracing::error!("learning from a conversation panicked")).ok()
}
