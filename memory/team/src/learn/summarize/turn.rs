use super::super::Turn;

/// A turn with the agent's answer.
#[derive(Debug, Clone, Copy)]
pub struct AnsweredTurn<'a> {
    /// The question and the actions.
    pub turn: &'a Turn,
    /// The agent's final answer; empty if unknown.
    pub answer: &'a str,
}
