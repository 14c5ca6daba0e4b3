//! The oracle: checks properties of all pairs of sent and received prompts.
//!
//! - *Extension.* If an earlier prompt of a session is a prefix of a later one at the client, it is a prefix at the
//!   backend too. The same holds across sessions for forks with a certain origin. A fork is a session without own turns
//!   in its history. Its origin is certain if all sessions that a turn can come from had the same block there.
//! - *Return.* If a client returns to a prefix of a longer prompt, the backend gets the same prefix.
//! - *Stability.* A turn without a block stays without one.
//! - *Origin.* A block names only its own repository. The block of an unanswered turn was created in this session. The
//!   block of an answered turn was created in this session, or in a session that the history can come from.
//!
//! There are four exceptions:
//!
//! - A request with the outcome `failed`, which was forwarded while the ledger was broken, may lack earlier blocks. It
//!   is then not compared with later requests, because these cannot extend both it and the requests before it.
//! - Decisions of a failed request need not be stored.
//! - If a client removes the end of a sent message (an appended reminder), the shorter turn is a turn of its own with a
//!   block of its own. If the client later continues from the longer message, the history of the longer one counts.
//! - A conversation without a session id whose texts up to a turn become those of another one without is that one: nothing but
//!   the texts tells them apart.

use std::collections::{HashMap, HashSet};

use super::prompt::{Prompt, Turn};

/// A request with the prompts that the client sent and the backend received.
#[derive(Debug)]
pub(super) struct Exchange {
    pub repository: usize,
    pub session: Option<String>,
    /// The step, for reports.
    pub step: String,
    /// Whether it is a side request.
    pub side: bool,
    pub outcome: String,
    pub client: Prompt,
    pub upstream: Prompt,
}

/// The numbers of checks, so that a run without checks does not pass.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Checked {
    pub requests: usize,
    pub pairs: usize,
    pub pairs_across_sessions: usize,
    pub injected: usize,
    pub replayed: usize,
    pub distinct_blocks: usize,
    pub failed: usize,
    pub excused: usize,
}

type Session = Option<String>;
/// A repository, and the hash of a turn or a prompt.
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
    /// The requests that extend a prompt.
    by_prefix: HashMap<Place, Vec<usize>>,
    /// The sessions that sent a turn before it was answered.
    asked: HashMap<Place, HashSet<Session>>,
    /// The known answers to a turn, by session.
    continuations: HashMap<Place, HashMap<Session, HashSet<u64>>>,
    /// The blocks of a turn, with the session that created them.
    created: HashMap<Place, Vec<(Session, String)>>,
    /// The block of a turn in a session.
    block_of: HashMap<(Place, Session), String>,
    distinct_blocks: HashSet<String>,
}

impl Oracle {
    /// Checks a request against all earlier ones.
    ///
    /// # Errors
    /// A report of the violation.
    pub(super) fn check(&mut self, exchange: Exchange) -> Result<(), String> {
        let turns = exchange.client.turns();
        self.check_rest(&exchange)?;
        let verdict = self
            .check_extension(&exchange, &turns)
            .and_then(|()| self.check_return(&exchange))
            .and_then(|()| self.check_origins(&exchange, &turns));
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

    /// Checks that the backend's prompt differs from the client's by blocks only.
    fn check_rest(&self, exchange: &Exchange) -> Result<(), String> {
        let (bare, blocks) = exchange.upstream.without_injected();
        if bare.pieces != exchange.client.pieces {
            return Err(report("the backend received a different prompt", &[exchange]));
        }
        if blocks.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(report("two blocks at one position", &[exchange]));
        }
        Ok(())
    }

    fn check_extension(&mut self, exchange: &Exchange, turns: &[Turn]) -> Result<(), String> {
        let repository = exchange.repository;
        let is_fork = !turns.iter().any(|turn| self.knows(&exchange.session, (repository, turn.text)));
        for length in 1..=exchange.client.pieces.len() {
            let place = (repository, exchange.client.prefix_hashes[length]);
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
                if !earlier.upstream.is_prefix_of(&exchange.upstream) {
                    if same_session && self.became_another(earlier, exchange, turns) {
                        self.excused.insert(self.exchanges.len());
                        self.checked.excused += 1;
                        return Ok(());
                    }
                    let shared = turns.iter().rfind(|turn| turn.end <= length);
                    let history = shared.map(|turn| self.history((repository, turn.text)));
                    let what = "the backend's prompts do not extend each other";
                    return Err(report(&format!("{what}\n{}", history.unwrap_or_default()), &[earlier, exchange]));
                }
                let decided = same_session && !earlier.side && earlier.outcome != "failed";
                let at_end = |prompt: &Prompt| prompt.without_injected().1.iter().any(|(at, _)| *at == length);
                if decided && at_end(&exchange.upstream) && !at_end(&earlier.upstream) {
                    return Err(report("a turn without a block got one", &[earlier, exchange]));
                }
            }
        }
        Ok(())
    }

    /// Whether a conversation without a session id has the texts of another one by now, up to an answered turn: one that does not
    /// extend `earlier`.
    fn became_another(&self, earlier: &Exchange, exchange: &Exchange, turns: &[Turn]) -> bool {
        let length = earlier.client.pieces.len();
        let is_other = |other: &Exchange| {
            let extends = other.client.prefix_hashes.get(length) == earlier.client.prefix_hashes.last();
            other.session.is_none() && other.repository == exchange.repository && !extends
        };
        let has = |other: &Exchange, turn: &Turn| {
            let mut theirs = other.client.turns().into_iter();
            theirs.any(|their| their.text == turn.text)
        };
        let mut later = turns.iter().filter(|turn| turn.end > length && turn.answered.is_some());
        exchange.session.is_none()
            && later.any(|turn| self.exchanges.iter().any(|other| is_other(other) && has(other, turn)))
    }

    /// Checks that the backend's prompt is a prefix of each earlier one that extends it at the client.
    fn check_return(&mut self, exchange: &Exchange) -> Result<(), String> {
        let place = (exchange.repository, exchange.client.hash());
        let length = exchange.client.pieces.len();
        for index in self.by_prefix.get(&place).into_iter().flatten() {
            let earlier = &self.exchanges[*index];
            if self.excused.contains(index) || earlier.session != exchange.session {
                continue;
            }
            self.checked.pairs += 1;
            if exchange.upstream.is_prefix_of(&earlier.upstream) {
                continue;
            }
            if earlier.client.is_inside_a_message(length) {
                self.excused.insert(self.exchanges.len());
                self.checked.excused += 1;
                return Ok(());
            }
            let what = "the client returned to a prefix, and the backend's prompt differs";
            return Err(report(what, &[earlier, exchange]));
        }
        Ok(())
    }

    /// Whether the history of `later` up to the end of `earlier` can only be that of `earlier`: all sessions that its
    /// turns can come from had the same blocks.
    fn is_certain_origin(&self, earlier: &Exchange, later: &Exchange, turns: &[Turn]) -> bool {
        let length = earlier.client.pieces.len();
        let mut shared = turns.iter().filter(|turn| turn.end <= length);
        let is_certain = |turn: &Turn| {
            let place = (later.repository, turn.text);
            let block_of = |session: &Session| self.block_of.get(&(place, session.clone())).map(String::as_str);
            let expected = block_of(&earlier.session);
            let mut possible = self.possible_origins(place, turn.answered).into_iter();
            turn.answered.is_some()
                && possible.all(|session| match session {
                    Some(_) => block_of(session) == expected,
                    None => self.all_unnamed_have(place, expected),
                })
        };
        !earlier.side && earlier.outcome != "failed" && shared.all(is_certain)
    }

    /// Whether all conversations without a session id have this block at a turn, or all have none.
    fn all_unnamed_have(&self, place: Place, block: Option<&str>) -> bool {
        let is_one = |exchange: &&Exchange| {
            exchange.session.is_none()
                && exchange.repository == place.0
                && !exchange.side
                && exchange.outcome != "failed"
        };
        let mut unnamed = self.exchanges.iter().filter(is_one);
        unnamed.all(|exchange| {
            let turns = exchange.client.turns();
            let of_turn = |at: usize| turns.iter().rfind(|turn| turn.end <= at).map(|turn| turn.text);
            let blocks = exchange.upstream.without_injected().1.into_iter();
            let mut at_turn = blocks.filter(|(at, _)| of_turn(*at) == Some(place.1));
            let is_in = turns.iter().any(|turn| turn.text == place.1);
            !is_in || at_turn.next().map(|(_, block)| block) == block
        })
    }

    /// Whether a session sent a turn, or has it in its history.
    fn knows(&self, session: &Session, place: Place) -> bool {
        let asked = self.asked.get(&place).is_some_and(|asked| asked.contains(session));
        asked || self.continuations.get(&place).is_some_and(|sessions| sessions.contains_key(session))
    }

    /// The sessions that a turn with this answer can come from: those that continued with the answer, and those that
    /// sent the turn without a known answer. If no session continued with the answer, all sessions that know the turn
    /// count.
    fn possible_origins(&self, place: Place, answer: Option<u64>) -> HashSet<&Session> {
        let is_this = |answers: &HashSet<u64>| answer.is_some_and(|answer| answers.contains(&answer));
        let continuations: Vec<_> = self.continuations.get(&place).into_iter().flatten().collect();
        let asked = self.asked.get(&place).into_iter().flatten();
        let answer_is_unknown = !continuations.iter().any(|(_, answers)| is_this(answers));
        // There may be several conversations without a session id.
        let may_be = |session: &Session| {
            answer_is_unknown || session.is_none() || !continuations.iter().any(|(other, _)| *other == session)
        };
        let seen = continuations.iter().filter(|(_, answers)| answer_is_unknown || is_this(answers));
        seen.map(|(session, _)| *session).chain(asked.filter(|session| may_be(session))).collect()
    }

    fn check_origins(&mut self, exchange: &Exchange, turns: &[Turn]) -> Result<(), String> {
        let (_, blocks) = exchange.upstream.without_injected();
        let count = blocks.len();
        for (number, (at, block)) in blocks.into_iter().enumerate() {
            let turn = turns.iter().rfind(|turn| turn.end <= at);
            let may_be_new = number + 1 == count && matches!(exchange.outcome.as_str(), "injected" | "partial");
            match self.origin(exchange, turn, block, may_be_new) {
                Ok(Origin::Known) => self.checked.replayed += 1,
                Ok(Origin::New(place)) => {
                    self.checked.injected += 1;
                    self.checked.distinct_blocks += usize::from(self.distinct_blocks.insert(block.to_owned()));
                    self.created.entry(place).or_default().push((exchange.session.clone(), block.to_owned()));
                }
                Err(wrong) => {
                    let history = turn.map(|turn| self.history((exchange.repository, turn.text)));
                    return Err(report(&format!("{wrong}: {block}\n{}", history.unwrap_or_default()), &[exchange]));
                }
            }
        }
        Ok(())
    }

    /// The origin of a block.
    fn origin(
        &self,
        exchange: &Exchange,
        turn: Option<&Turn>,
        block: &str,
        may_be_new: bool,
    ) -> Result<Origin, &'static str> {
        let (own, other) = (MARKS[exchange.repository], MARKS[1 - exchange.repository]);
        if !block.contains(own) || block.contains(other) {
            return Err("a block from another repository");
        }
        let turn = turn.ok_or("a block that belongs to no turn")?;
        let place = (exchange.repository, turn.text);
        let session = &exchange.session;
        let created = self.created.get(&place).map_or(&[][..], Vec::as_slice);
        let has_own_block = created.iter().any(|(creator, _)| creator == session);
        let is_own_block = created.iter().any(|(creator, text)| creator == session && text == block);
        let had = |session: &Session| self.block_of.get(&(place, session.clone())).is_some_and(|had| had == block);
        if is_own_block || had(session) {
            return Ok(Origin::Known);
        }
        if may_be_new && turn.answered.is_none() {
            return if has_own_block { Err("a second block for the same turn") } else { Ok(Origin::New(place)) };
        }
        if turn.answered.is_none() {
            return Err("a block from another session at an unanswered turn");
        }
        if has_own_block {
            return Err("not the block that this session created for the turn");
        }
        if !self.possible_origins(place, turn.answered).into_iter().any(had) {
            return Err("a block from a session that this history cannot come from");
        }
        Ok(Origin::Known)
    }

    /// All requests that contain a turn, for reports.
    fn history(&self, place: Place) -> String {
        let mut text = String::new();
        for exchange in self.exchanges.iter().filter(|exchange| exchange.repository == place.0) {
            let Some(turn) = exchange.client.turns().into_iter().find(|turn| turn.text == place.1) else {
                continue;
            };
            let (_, blocks) = exchange.upstream.without_injected();
            let block = blocks.iter().find(|(at, _)| *at >= turn.end).map(|(_, block)| block.len());
            let answer = turn.answered.map(|answer| answer & 0xffff);
            let (step, session, outcome) = (&exchange.step, &exchange.session, &exchange.outcome);
            text.push_str(&format!("  {step}: {session:?} {outcome} answer {answer:04x?} block {block:?}\n"));
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
                    let sessions = self.continuations.entry(place).or_default();
                    sessions.entry(exchange.session.clone()).or_default().insert(answer);
                }
            }
        }
        for (at, block) in exchange.upstream.without_injected().1 {
            if let Some(turn) = turns.iter().rfind(|turn| turn.end <= at) {
                let place = ((repository, turn.text), exchange.session.clone());
                self.block_of.entry(place).or_insert_with(|| block.to_owned());
            }
        }
        let (whole, shorter) = exchange.client.prefix_hashes.split_last().expect("the empty prefix is always there");
        self.by_prompt.entry((repository, *whole)).or_default().push(index);
        for beginning in shorter {
            self.by_prefix.entry((repository, *beginning)).or_default().push(index);
        }
        self.exchanges.push(exchange);
    }
}

/// A word that occurs in every path of a repository, and in none of the other repository.
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
