use std::borrow::Cow;

/// The kind of a text, which decides what in it can be taken for a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// Prose: every tag is a marker, except HTML that formats text, and type parameters behind a word.
    Prose,
    /// Code without markup: a tag is a marker if its name is compound, or known, or has a closing tag.
    Code,
    /// Code whose grammar has tags (HTML, JSX, XML), and JSON, whose strings hold them: a tag is a marker if its name is one of a client or a model. Its
    /// comments are [`Ground::Code`].
    Markup,
}

/// A replacement in a text: so many bytes, by a text.
pub(crate) struct Change {
    pub(crate) bytes: usize,
    pub(crate) by: Cow<'static, str>,
}

impl Change {
    pub(crate) fn of(character: char, by: &'static str) -> Change {
        Change { bytes: character.len_utf8(), by: Cow::Borrowed(by) }
    }

    /// A numeric character reference, which every reader of HTML can take back.
    pub(crate) fn reference(character: char) -> Change {
        Change { bytes: character.len_utf8(), by: Cow::Owned(format!("&#{};", u32::from(character))) }
    }

    pub(crate) fn escape(character: char) -> Change {
        Change { bytes: character.len_utf8(), by: Cow::Owned(character.escape_unicode().to_string()) }
    }
}
