//! The real binary, real sockets, real git.
