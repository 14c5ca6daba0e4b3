//! Word lists of English statements. General words only, no names of projects.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

use super::kind::Kind;

const STOP: &str = "a an the of to in on at for by with from as is are was were am be been being it its this that these \
    those and or if then so such which who whom whose when where while will would do does did done has have had having \
    only also very just than into over under out up down off about all any each per both some more most other same own \
    you your we our us they them their he him his she her i my there every";

/// Words that negate a statement, or say that something is not done.
const NEGATIONS: &str = "not no never none nobody nothing nowhere cannot without neither nor lack avoid disallow \
    disallowed disable disabled forbid forbidden remove removed drop dropped exclude excluded deny denied reject \
    rejected refuse refused unsupported unless deprecated deprecate stop stopped skip skipped ignore ignored omit omitted instead revert \
    reverted drops removes disables excludes stops";

/// The negations that only say `not`. Two texts that are equal without one contradict each other.
const PLAIN_NEGATIONS: &str = "not no never none nobody nothing nowhere cannot without neither nor avoid";

const MODALITY: &str = "must shall required require requires mandatory always should recommended prefer preferred may can \
    could might optional optionally need needs";

/// Words of a change, which can tell a newer statement from an older one.
const CUES: &str = "replaces replace replaced replacing supersedes supersede superseded previously now anymore formerly \
    changed change switched switch switching migrate migrated renamed rename raise raised increase increased reduce \
    reduced decrease decreased lower lowered longer moved move port ported";

/// Numbers in words.
const NUMBERS: [(&str, &str); 14] = [
    ("zero", "0"),
    ("half", "0.5"),
    ("one", "1"),
    ("two", "2"),
    ("three", "3"),
    ("four", "4"),
    ("five", "5"),
    ("six", "6"),
    ("seven", "7"),
    ("eight", "8"),
    ("nine", "9"),
    ("ten", "10"),
    ("eleven", "11"),
    ("twelve", "12"),
];

/// Words before a number that is a name: `RFC 7231`, `shard 3`.
const NUMBERED: &str = "issue pr rfc pep adr kep eip bip cve ticket shard step section chapter table figure appendix line \
    rule item node slot phase stage error code status http sha";

/// Words of one line exclude each other.
const EXCLUSIVE: &str = "\
    enable disable|enabled disabled|on off|synchronous asynchronous|sequential parallel|sequentially parallel|before after|always never sometimes|required optional|require optional|\
    mandatory optional|required allowed|allow deny forbid refuse disallow|allowed forbidden denied disallowed|accept reject refuse|public private internal|include exclude|start \
    stop|open close|opened closed|serial concurrent|sensitive insensitive|first last|true false|yes no|read \
    write|stdout stderr|tabs spaces|utc local|automatic manual|automatically manually|hourly daily weekly monthly \
    yearly|monday tuesday wednesday thursday friday saturday sunday|fast slow|faster slower|increase decrease reduce|grow \
    shrink|add remove|create delete|keep delete drop discard|preserve overwrite|lock unlock|locked unlocked|ascending descending|plural \
    singular|uppercase lowercase|minimum maximum|mutable immutable|stateful stateless|static dynamic|lazy eager|lazily eagerly|\
    local remote global|temporary permanent|safe unsafe|blocking nonblocking|strict lenient|deprecated \
    recommended|prefer avoid|use avoid|succeed fail|pass fail|success failure|valid invalid|present absent missing|with \
    without|empty full|inside outside|indoors outdoors|up down|left right|near far|above below|top bottom|front back|in \
    out|into out|onto off|to from|over under|hot cold|wet dry|light heavy|loud quiet|dark bright|big small|tall \
    short|long short|old young|old new|high low|deep shallow|wide narrow|early late|happy sad|clean dirty|asleep awake|rise \
    fall|arrive leave|enter exit|push pull|lift lower|throw catch|buy sell|win lose|attach detach|fill \
    empty|load unload|cover uncover|put remove|lead follow|laugh cry|love hate|strong weak|hard soft|thick thin|sharp \
    blunt|alone together|once twice|none all|nobody everybody|forward backward|ahead behind|primary replica|any \
    only|opt-in opt-out|single-line multi-line two-line|single multiple|stand sit|standing sitting";

/// Each line is a word and its synonyms.
const SYNONYMS: &str = "\
    configuration config|repository repo|database db|directory folder dir|environment env|documentation docs \
    doc|authentication auth|maximum max|minimum min|argument arg|function fn|production prod|development \
    dev|asynchronous async|synchronous sync|application app|dependency dep|use utilize utilise|delete erase|second \
    sec|parameter param|identifier id|message msg|manually manual|automatically automatic";

/// Function words of other languages that are no English words.
const FOREIGN: &str = "der das und ist nicht ein eine mit auf wird nur kein keine wenn oder ich el los las una que por \
    para con les des est et pas une dans sur qui ne il lo gli della che non per sono di em uma os och inte det som \
    het een niet van op je";

/// Attributes of a word by the lists.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Entry {
    pub(crate) kind: Option<Kind>,
    /// Whether the word only says `not`.
    pub(super) is_plain_negation: bool,
    /// Whether a number after the word is a name.
    pub(super) is_numbered: bool,
    pub(super) is_foreign: bool,
}

static ENTRIES: LazyLock<HashMap<&str, Entry>> = LazyLock::new(|| {
    let mut entries: HashMap<&str, Entry> = HashMap::new();
    for (list, kind) in
        [(STOP, Kind::Function), (CUES, Kind::Cue), (MODALITY, Kind::Modality), (NEGATIONS, Kind::Negation)]
    {
        for word in list.split_whitespace() {
            entries.entry(word).or_default().kind = Some(kind);
        }
    }
    for word in PLAIN_NEGATIONS.split_whitespace() {
        entries.entry(word).or_default().is_plain_negation = true;
    }
    for word in NUMBERED.split_whitespace() {
        entries.entry(word).or_default().is_numbered = true;
    }
    for word in FOREIGN.split_whitespace() {
        entries.entry(word).or_default().is_foreign = true;
    }
    entries
});

/// The words that exclude each word, by stems.
static EXCLUDING: LazyLock<HashMap<String, HashSet<String>>> = LazyLock::new(|| {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut excluding: HashMap<String, HashSet<String>> = HashMap::new();
    for line in EXCLUSIVE.split('|') {
        let words: Vec<String> = line.split_whitespace().map(|word| stemmer.stem(word).into_owned()).collect();
        for word in &words {
            let others = words.iter().filter(|other| *other != word).cloned();
            excluding.entry(word.clone()).or_default().extend(others);
        }
    }
    excluding
});

static SYNONYM: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let of_line = |line: &'static str| {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        words.map(move |word| (word, first))
    };
    SYNONYMS.split('|').flat_map(of_line).collect()
});

/// The first of a word's synonyms, or the word.
pub(super) fn synonym(word: &str) -> &str {
    SYNONYM.get(word).copied().unwrap_or(word)
}

/// The attributes of a lower-case word.
pub(super) fn entry(word: &str) -> Entry {
    ENTRIES.get(word).copied().unwrap_or_default()
}

/// Stems of words with which a text says that it replaces an earlier one.
const REPLACING: &[&str] = &[
    "supersed", "replac", "obsolet", "revert", "migrat", "switch", "previous", "former", "deprec", "anymore",
    "instead", "renam", "moved",
];

/// Returns whether a text says that it replaces an earlier one.
pub(super) fn replaces(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    lower.contains("no longer")
        || words.any(|word| REPLACING.iter().any(|stem| word.starts_with(stem)) || word == "now")
}

/// The kind and the normal form of a phrase of two words, such as `has to` and `turned off`.
pub(super) fn phrase(first: &str, second: &str) -> Option<(Kind, &'static str)> {
    Some(match (first, second) {
        ("has" | "have" | "need" | "needs", "to") => (Kind::Modality, "must"),
        ("no", "longer") => (Kind::Negation, "not"),
        ("turn" | "turned" | "turns" | "switch" | "switched", "off") => (Kind::Negation, "disabl"),
        ("turn" | "turned" | "turns" | "switch" | "switched", "on") => (Kind::Word, "enabl"),
        ("leave" | "leaves" | "left", "out") => (Kind::Negation, "omit"),
        ("at", "most") | ("up", "to") | ("capped", "at") => (Kind::Word, "maximum"),
        ("at", "least") => (Kind::Word, "minimum"),
        ("by", "hand") => (Kind::Word, "manual"),
        _ => return None,
    })
}

/// The digits of a number in words.
pub(super) fn number(word: &str) -> Option<&'static str> {
    let found = NUMBERS.iter().find(|(written, _)| *written == word);
    found.map(|(_, digits)| *digits)
}

/// Returns whether two words, as stems, exclude each other.
pub(super) fn exclude(one: &str, other: &str) -> bool {
    let is_listed = EXCLUDING.get(one).is_some_and(|words| words.contains(other));
    is_listed || prefixed(one, other) || prefixed(other, one)
}

/// Returns whether one word is the other with a prefix of negation: `unlocked`, `immutable`.
fn prefixed(longer: &str, word: &str) -> bool {
    let without = ["un", "im", "in", "dis", "non", "non-"].iter().filter_map(|prefix| longer.strip_prefix(prefix));
    word.len() >= 4 && without.into_iter().any(|rest| rest == word)
}
