/// The discovery that a line tells.
pub(super) fn gossip(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(BULLETS).strip_prefix("GOSSIP:")?;
    Some(text.trim())
}

/// What can stand before a line's text.
pub(crate) const BULLETS: [char; 4] = ['-', '*', '·', ' '];
