//! The cost of an exploration beside its model and its tools.

use std::time::Instant;

use muninn_context_engine::explore::Trace;

use crate::scripted::server::Exchange;
use crate::stats::millis;

/// Milliseconds of one exploration.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Timing {
    /// From the beginning until the first request is at the model: lexical lane, tree, first message.
    pub(crate) opening: f64,
    /// For each turn, from the model's answer to the next request, or to the end, without the time of its tools.
    pub(crate) beside: Vec<f64>,
    /// For each turn, the same with its tools.
    pub(crate) with_tools: Vec<f64>,
}

impl Timing {
    /// Times as the server saw them. `None` where turns and requests do not match one to one: something was asked again,
    /// or explorations ran beside each other.
    pub(crate) fn of(started: Instant, ended: Instant, exchanges: &[Exchange], trace: &Trace) -> Option<Self> {
        let first = exchanges.first()?;
        if exchanges.len() != trace.turns.len() || trace.totals().explorations > 1 {
            return None;
        }
        let next = exchanges.iter().skip(1).map(|exchange| exchange.asked);
        let with_tools: Vec<f64> = exchanges
            .iter()
            .zip(next.chain([ended]))
            .map(|(exchange, next)| millis(next.saturating_duration_since(exchange.answered)))
            .collect();
        let beside = with_tools.iter().zip(&trace.turns);
        Some(Self {
            opening: millis(first.asked.saturating_duration_since(started)),
            beside: beside.map(|(all, turn)| (all - turn.tools_ms).max(0.0)).collect(),
            with_tools,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use muninn_context_engine::explore::TurnTrace;

    use super::*;

    #[test]
    fn turn_ends_at_the_next_request() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let exchange = |asked, answered| Exchange { asked: at(asked), answered: at(answered) };
        let turn = |tools_ms| TurnTrace { tools_ms, ..TurnTrace::default() };
        let mut trace = Trace { turns: vec![turn(7.0), turn(0.0)], ..Trace::default() };
        let exchanges = [exchange(20, 120), exchange(130, 200)];
        let timing = Timing::of(start, at(201), &exchanges, &trace).unwrap();
        assert_eq!(timing.opening, 20.0);
        assert_eq!(timing.beside, [3.0, 1.0]);
        assert_eq!(timing.with_tools, [10.0, 1.0]);
        trace.turns.pop();
        assert_eq!(Timing::of(start, at(201), &exchanges, &trace), None);
    }
}
