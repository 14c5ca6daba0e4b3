//! The deep lane: a model explores for a question, and what it cites is put into the prompt.
//!
//! Two fakes stand at sockets: the backend that answers, and the explorer, a chat server that says what the test tells it.

mod background;
mod background_rules;
mod command;
mod fail_open;
mod hostile;
mod inline;
mod leaving;
mod stage;
mod streams;
mod who;
