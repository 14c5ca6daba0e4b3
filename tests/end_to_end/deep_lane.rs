//! The deep lane: a model explores for a question, and its citations are packed into the prompt.
//!
//! Two fakes stand at sockets: the backend, and the explorer, a scripted chat server.

mod background;
mod background_rules;
mod command;
mod fail_open;
mod hostile;
mod inline;
mod leaving;
mod stage;
mod streams;
mod tool;
mod who;
