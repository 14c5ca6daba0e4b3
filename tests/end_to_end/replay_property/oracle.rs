//! The oracle: properties of any two requests, checked over everything that was sent and everything that arrived.
//!
//! - *Prefixes.* Where the client's earlier prompt begins a later one of the same session, the backend's does too. Across
//!   sessions the same is asked of forks (sessions to which all of the history is new) whose origin is certain: whatever
//!   session each of the turns can have come from, it had the same there.
//! - *The other way round.* Where a client goes back to what was the beginning of a longer prompt, so do we.
//! - *Decisions stay.* A turn that went without stays without.
//! - *Nothing foreign.* A block names its own repository only. One that nobody has answered yet was made in this session;
//!   an answered one in this session, or in one that the history can have come from.
//!
//! Three things excuse a request. One that was forwarded while the ledger was broken, and says so in its response, may lack
//! what was there before; it then says nothing about later ones either, since they cannot follow both it and what came
//! before it. Whatever was decided by a request that failed need not be remembered. And where a client takes back the
//! end of a message (an appended reminder) after it was sent with it, the shorter turn is one of its own, with a
//! block of its own; should the client then go on from the longer one, that one's history counts.

use std::collections::{HashMap, HashSet};

use super::prompt::{Prompt, Turn};

/// A request, as it was sent and as it arrived.
#[derive(Debug)]
pub(super) struct Exchange {
    pub repository: usize,
    pub session: Option<String>,
    /// What step it was, for reports.
    pub step: String,
    /// The client's own request for something beside the conversation.
    pub side: bool,
    pub outcome: String,
    pub client: Prompt,
    pub upstream: Prompt,
}

/// What was checked, so that nothing passes by having nothing to do.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Checked {
    pub requests: usize,
    pub pairs: usize,
    pub pairs_across_sessions: usize,
    pub injected: usize,
    pub replayed: usize,
    pub different_blocks: usize,
    pub failed: usize,
    pub excused: usize,
}

type Session = Option<String>;
/// A turn of a repository's conversations, by its text.
type Place = (usize, u64);

enum Origin {
    Known,
    New(Place),
}

#[derive(Default)]
pub(super) struct Oracle {
    pub checked: Checked,
    exchanges: Vec<Exchange>,
    excused: HashSet<usize>,
    by_prompt: HashMap<Place, Vec<usize>>,
    /// The requests that begin with a prompt, and go on.
    by_beginning: HashMap<Place, Vec<usize>>,
    /// Sessions that asked a turn themselves, before it was answered.
    asked: HashMap<Place, HashSet<Session>>,
    /// How sessions were seen to go on after a turn.
    went_on: HashMap<Place, HashMap<Session, HashSet<u64>>>,
    /// Blocks by turn, with the session that they were made in.
    made: HashMap<Place, Vec<(Session, String)>>,
    /// The block that a session had at a turn.
    had: HashMap<(Place, Session), String>,
    different: HashSet<String>,
}

impl Oracle {
    /// Checks a request against all before it.
    ///
    /// # Errors
    /// What is wrong, for a person to read.
    pub(super) fn check(&mut self, exchange: Exchange) -> Result<(), String> {
        let turns = exchange.client.turns();
        self.same_but_for_blocks(&exchange)?;
        let verdict = self
            .prefixes(&exchange, &turns)
            .and_then(|()| self.goes_back(&exchange))
            .and_then(|()| self.origins(&exchange, &turns));
        let index = self.exchanges.len();
        match verdict {
            Err(_) if exchange.outcome == "failed" => {
                self.excused.insert(index);
                self.checked.excused += 1;
            }
            other => other?,
        }
        self.remember(exchange, &turns);
        Ok(())
    }

    fn same_but_for_blocks(&self, exchange: &Exchange) -> Result<(), String> {
        let (bare, blocks) = exchange.upstream.without_injected();
        if bare.said != exchange.client.said {
            return Err(report("the backend got another prompt", &[exchange]));
        }
        if blocks.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(report("two blocks at one place", &[exchange]));
        }
        Ok(())
    }

    fn prefixes(&mut self, exchange: &Exchange, turns: &[Turn]) -> Result<(), String> {
        let repository = exchange.repository;
        let is_fork = !turns
            .iter()
            .any(|turn| self.knows(&exchange.session, (repository, turn.text)));
        for length in 1..=exchange.client.said.len() {
            let place = (repository, exchange.client.beginnings[length]);
            for index in self.by_prompt.get(&place).into_iter().flatten() {
                let earlier = &self.exchanges[*index];
                if self.excused.contains(index) {
                    continue;
                }
                let same_session = earlier.session == exchange.session;
                let counts = same_session || (is_fork && self.is_certain_origin(earlier, exchange, turns));
                if !counts {
                    continue;
                }
                self.checked.pairs += 1;
                self.checked.pairs_across_sessions += usize::from(!same_session);
                if !earlier.upstream.begins(&exchange.upstream) {
                    let shared = turns.iter().rfind(|turn| turn.end <= length);
                    let history = shared.map(|turn| self.history((repository, turn.text)));
                    let what = "the backend's prompts do not extend each other";
                    return Err(report(
                        &format!("{what}\n{}", history.unwrap_or_default()),
                        &[earlier, exchange],
                    ));
                }
                let decided = same_session && !earlier.side && earlier.outcome != "failed";
                let at_end = |prompt: &Prompt| prompt.without_injected().1.iter().any(|(at, _)| *at == length);
                if decided && at_end(&exchange.upstream) && !at_end(&earlier.upstream) {
                    return Err(report("a turn that went without got a block", &[earlier, exchange]));
                }
            }
        }
        Ok(())
    }

    /// Where an earlier request of the session began with this prompt and went on, the block at its end stood there, too.
    fn goes_back(&mut self, exchange: &Exchange) -> Result<(), String> {
        let place = (exchange.repository, exchange.client.whole());
        let length = exchange.client.said.len();
        for index in self.by_beginning.get(&place).into_iter().flatten() {
            let earlier = &self.exchanges[*index];
            if self.excused.contains(index) || earlier.session != exchange.session {
                continue;
            }
            self.checked.pairs += 1;
            if exchange.upstream.begins(&earlier.upstream) {
                continue;
            }
            if earlier.client.is_inside_a_message(length) {
                self.excused.insert(self.exchanges.len());
                self.checked.excused += 1;
                return Ok(());
            }
            let what = "the client went back, and the backend's prompt is not what it was there";
            return Err(report(what, &[earlier, exchange]));
        }
        Ok(())
    }

    /// Whether the history in `later` up to the end of `earlier` can only be that of `earlier`: whatever session each of
    /// its turns came from had the same there.
    fn is_certain_origin(&self, earlier: &Exchange, later: &Exchange, turns: &[Turn]) -> bool {
        let length = earlier.client.said.len();
        let mut shared = turns.iter().filter(|turn| turn.end <= length);
        let is_certain = |turn: &Turn| {
            let place = (later.repository, turn.text);
            let had = |session: &Session| self.had.get(&(place, session.clone()));
            let mut possible = self.possible(place, turn.answered).into_iter();
            turn.answered.is_some() && possible.all(|session| had(session) == had(&earlier.session))
        };
        !earlier.side && earlier.outcome != "failed" && shared.all(is_certain)
    }

    /// Whether a session asked a turn, or had it in its history.
    fn knows(&self, session: &Session, place: Place) -> bool {
        let asked = self.asked.get(&place).is_some_and(|asked| asked.contains(session));
        asked
            || self
                .went_on
                .get(&place)
                .is_some_and(|sessions| sessions.contains_key(session))
    }

    /// The sessions that a turn with this answer can come from: they were seen to go on with it, or they asked and were
    /// not seen to go on at all. Where nobody was seen to, it can be any that knows the turn.
    fn possible(&self, place: Place, answer: Option<u64>) -> HashSet<&Session> {
        let is_this = |answers: &HashSet<u64>| answer.is_some_and(|answer| answers.contains(&answer));
        let went_on: Vec<_> = self.went_on.get(&place).into_iter().flatten().collect();
        let asked = self.asked.get(&place).into_iter().flatten();
        let nobody_was_seen = !went_on.iter().any(|(_, answers)| is_this(answers));
        // Of those that name no session there may be several.
        let may_be = |session: &Session| {
            nobody_was_seen || session.is_none() || !went_on.iter().any(|(other, _)| *other == session)
        };
        let seen = went_on
            .iter()
            .filter(|(_, answers)| nobody_was_seen || is_this(answers));
        seen.map(|(session, _)| *session)
            .chain(asked.filter(|session| may_be(session)))
            .collect()
    }

    fn origins(&mut self, exchange: &Exchange, turns: &[Turn]) -> Result<(), String> {
        let (_, blocks) = exchange.upstream.without_injected();
        let count = blocks.len();
        for (number, (at, block)) in blocks.into_iter().enumerate() {
            let turn = turns.iter().rfind(|turn| turn.end <= at);
            let may_be_new = number + 1 == count && matches!(exchange.outcome.as_str(), "injected" | "partial");
            match self.origin(exchange, turn, block, may_be_new) {
                Ok(Origin::Known) => self.checked.replayed += 1,
                Ok(Origin::New(place)) => {
                    self.checked.injected += 1;
                    self.checked.different_blocks += usize::from(self.different.insert(block.to_owned()));
                    self.made
                        .entry(place)
                        .or_default()
                        .push((exchange.session.clone(), block.to_owned()));
                }
                Err(wrong) => {
                    let history = turn.map(|turn| self.history((exchange.repository, turn.text)));
                    return Err(report(
                        &format!("{wrong}: {block}\n{}", history.unwrap_or_default()),
                        &[exchange],
                    ));
                }
            }
        }
        Ok(())
    }

    /// Where a block comes from.
    fn origin(
        &self,
        exchange: &Exchange,
        turn: Option<&Turn>,
        block: &str,
        may_be_new: bool,
    ) -> Result<Origin, &'static str> {
        let (own, other) = (MARKS[exchange.repository], MARKS[1 - exchange.repository]);
        if !block.contains(own) || block.contains(other) {
            return Err("a block of another repository");
        }
        let turn = turn.ok_or("a block that belongs to no turn")?;
        let place = (exchange.repository, turn.text);
        let session = &exchange.session;
        let made = self.made.get(&place).map_or(&[][..], Vec::as_slice);
        let of_this_session = made.iter().any(|(by, _)| by == session);
        let by: Vec<_> = made
            .iter()
            .filter(|(_, text)| text == block)
            .map(|(by, _)| by)
            .collect();
        if by.contains(&session) || self.had.get(&(place, session.clone())).is_some_and(|had| had == block) {
            return Ok(Origin::Known);
        }
        if may_be_new && turn.answered.is_none() {
            return if of_this_session {
                Err("a second block for the same turn")
            } else {
                Ok(Origin::New(place))
            };
        }
        if turn.answered.is_none() {
            return Err("a block of a turn that nobody answered, from another session");
        }
        if of_this_session {
            return Err("not the block that this session had here");
        }
        let had = |session: &Session| self.had.get(&(place, session.clone())).is_some_and(|had| had == block);
        if !self.possible(place, turn.answered).into_iter().any(had) {
            return Err("a block from a session that this history cannot come from");
        }
        Ok(Origin::Known)
    }

    /// Everything that was sent about one turn, for reports.
    fn history(&self, place: Place) -> String {
        let mut text = String::new();
        for exchange in self.exchanges.iter().filter(|exchange| exchange.repository == place.0) {
            let Some(turn) = exchange.client.turns().into_iter().find(|turn| turn.text == place.1) else {
                continue;
            };
            let (_, blocks) = exchange.upstream.without_injected();
            let block = blocks
                .iter()
                .find(|(at, _)| *at >= turn.end)
                .map(|(_, block)| block.len());
            let answer = turn.answered.map(|answer| answer & 0xffff);
            let (step, session, outcome) = (&exchange.step, &exchange.session, &exchange.outcome);
            text.push_str(&format!(
                "  {step}: {session:?} {outcome} answer {answer:04x?} block {block:?}\n"
            ));
        }
        text
    }

    fn remember(&mut self, exchange: Exchange, turns: &[Turn]) {
        self.checked.requests += 1;
        self.checked.failed += usize::from(exchange.outcome == "failed");
        let index = self.exchanges.len();
        let repository = exchange.repository;
        for turn in turns {
            let place = (repository, turn.text);
            match turn.answered {
                None if !exchange.side => {
                    self.asked.entry(place).or_default().insert(exchange.session.clone());
                }
                None => {}
                Some(answer) => {
                    let sessions = self.went_on.entry(place).or_default();
                    sessions.entry(exchange.session.clone()).or_default().insert(answer);
                }
            }
        }
        for (at, block) in exchange.upstream.without_injected().1 {
            if let Some(turn) = turns.iter().rfind(|turn| turn.end <= at) {
                let place = ((repository, turn.text), exchange.session.clone());
                self.had.entry(place).or_insert_with(|| block.to_owned());
            }
        }
        let (whole, shorter) = exchange.client.beginnings.split_last().expect("there is the empty one");
        self.by_prompt.entry((repository, *whole)).or_default().push(index);
        for beginning in shorter {
            self.by_beginning
                .entry((repository, *beginning))
                .or_default()
                .push(index);
        }
        self.exchanges.push(exchange);
    }
}

/// A word that every path of a repository holds, and no other repository's does.
pub(super) const MARKS: [&str; 2] = ["alpha_", "beta_"];

fn report(what: &str, exchanges: &[&Exchange]) -> String {
    let mut text = format!("{what}\n");
    for exchange in exchanges {
        text.push_str(&format!(
            "  {} in session {:?}, repository {}, x-muninn-context: {}\n{}\n",
            exchange.step,
            exchange.session,
            exchange.repository,
            exchange.outcome,
            exchange.upstream.outline()
        ));
    }
    text
}
