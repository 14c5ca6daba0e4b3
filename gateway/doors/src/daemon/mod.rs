//! The socket of the user's programs: hooks call the application of a process that already holds the index.
//!
//! A daemon serves nothing else, and ends when nobody has called for half an hour. A gateway listens too, if no daemon does.

mod activity;
mod connection;
mod end;
mod server;
mod service;
mod shared;

pub use end::End;
pub use server::Server;
pub use service::ConfigFile;

#[cfg(test)]
mod tests;
