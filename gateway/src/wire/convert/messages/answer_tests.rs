//! Answers, streamed and whole.
