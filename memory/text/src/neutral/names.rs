//! Names of tags: those of clients and models, and those of markup languages.

/// Names of roles and blocks that occur in ordinary code in mixed case only, such as the `User` of `Vec<User>`.
const WORDS: [&str; 12] = [
    "system", "user", "human", "assistant", "developer", "env", "session", "transcript", "instructions", "think",
    "thinking", "invoke",
];
/// Of these, the names that are also lower-case types.
const TYPES: [&str; 3] = ["user", "env", "session"];

/// Beginnings of names of clients and models, with `_` for their separators.
const COMPOUNDS: [&str; 24] = [
    "muninn", "environment_context", "environment_details", "command_name", "command_message", "command_args",
    "command_contents", "command_stdout", "command_stderr", "command_caveat", "local_command", "task_notification",
    "start_of_", "end_of_", "begin_of_", "beginning_of_", "start▁of", "end▁of", "begin▁of", "arg_key", "arg_value",
    "fim_prefix", "fim_middle", "fim_suffix",
];
/// The same of names that are also written as one word.
const JOINED: [&str; 10] = [
    "toolcall", "toolresult", "toolresponse", "tooloutput", "tooluse", "toolcode", "functioncall", "functionresult",
    "functionresponse", "fimpad",
];
const ROLES: [&str; 5] = ["system", "user", "human", "assistant", "developer"];
const OF_ROLES: [&str; 7] = ["reminder", "warning", "message", "prompt", "notification", "instructions", "query"];
/// Prefixes with a separator of their own.
const SPACES: [&str; 3] = ["antml:", "minimax:", "seed:"];
/// Parts of names that tell a model what to do.
const COMMANDING: [&str; 24] = [
    "system", "human", "assistant", "developer", "instruction", "instructions", "prompt", "reminder", "important",
    "override", "notification", "thinking", "reasoning", "policy", "directive", "directives", "guardrail",
    "guardrails", "jailbreak", "claude", "gpt", "codex", "gemini", "llm",
];
/// Parts of names that do so in pairs.
const WORKING: [&str; 18] = [
    "user", "agent", "tool", "tools", "function", "functions", "command", "environment", "env", "context", "session",
    "memory", "admin", "operator", "task", "hook", "message", "query",
];

/// The parts of a compound name, folded. Capitals begin parts too: `SystemNote`.
pub(super) fn parted(name: &str) -> String {
    let mut parted = String::with_capacity(name.len() + 4);
    let mut was_lower = false;
    for c in name.chars() {
        if c.is_uppercase() && was_lower {
            parted.push('_');
        }
        was_lower = c.is_lowercase();
        parted.extend(c.to_lowercase());
    }
    parted
}

/// The parts of a compound name.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty())
}

/// Whether a name, folded, is one of a client or a model whatever the code around it.
pub(super) fn is_known(name: &str) -> bool {
    if SPACES.iter().any(|space| name.starts_with(space)) || ["function=", "parameter=", "tool="].contains(&name) {
        return true;
    }
    // Most names are those of elements.
    if name.len() < 6 {
        return false;
    }
    let parted = name.replace('-', "_");
    let joined = parted.replace('_', "");
    COMPOUNDS.iter().any(|known| parted.starts_with(known))
        || JOINED.iter().any(|known| joined.starts_with(known))
        || ROLES.iter().any(|role| {
            let of_role = joined.strip_prefix(role);
            of_role.is_some_and(|rest| OF_ROLES.iter().any(|known| rest.starts_with(known)))
        })
}

/// Whether these are the insides of Ling's `<role>HUMAN</role>`.
pub(super) fn is_role(name: &str, rest: &str) -> bool {
    let named = rest.strip_prefix('>').filter(|_| name == "role");
    named.is_some_and(|named| {
        let mut roles = ROLES.iter().chain(&["observation"]);
        roles.any(|role| named.get(..role.len()).is_some_and(|start| start.eq_ignore_ascii_case(role)))
    })
}

/// Whether a text begins with the second word of `system reminder`.
pub(super) fn is_of_role(rest: &str) -> bool {
    let begins = |known: &&&str| rest.get(..known.len()).is_some_and(|start| start.eq_ignore_ascii_case(known));
    OF_ROLES.iter().any(|known| begins(&known))
}

/// Whether a name, folded, is that of a role or a block.
pub(super) fn is_word(name: &str) -> bool {
    WORDS.contains(&name)
}

pub(super) fn is_type(name: &str) -> bool {
    TYPES.contains(&name)
}

/// Whether a compound name, folded, tells a model what to do.
pub(super) fn is_commanding(name: &str) -> bool {
    parts(name).any(|part| COMMANDING.contains(&part)) || parts(name).filter(|part| WORKING.contains(part)).count() > 1
}

/// Whether a text in square brackets, folded, begins or ends a block for a model.
pub(super) fn is_of_brackets(name: &str) -> bool {
    const MORE: [&str; 9] = ["inst", "sys", "user", "think", "tool", "tools", "context", "bos", "eos"];
    let mut parts = parts(name);
    let first = parts.next().unwrap_or_default();
    let rest = parts.count();
    rest < 6 && (COMMANDING.contains(&first) || MORE.contains(&first) && rest < 3 || is_known(name))
}

/// Tokens of models that may also be HTML or a type parameter, in this case only.
pub(super) fn is_short(name: &str) -> bool {
    const SHORT: [&str; 21] = [
        "s", "bos", "eos", "bod", "eod", "sop", "eop", "eot", "eom", "soh", "eoh", "soa", "eoa", "sep", "cls", "pad",
        "unk", "mask", "image", "video", "audio",
    ];
    SHORT.contains(&name)
}

/// Tokens of models with a number or an ending: `<extra_id_0>`, `<EOS_TOKEN>`.
pub(super) fn is_numbered(name: &str) -> bool {
    let numbered = ["unused", "extra_id_", "reserved_", "SPECIAL_"].iter().any(|start| {
        let digits = name.strip_prefix(start);
        digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
    });
    let is_token = name
        .strip_suffix("_TOKEN")
        .is_some_and(|start| start.len() == 3 && start.bytes().all(|byte| byte.is_ascii_uppercase()));
    numbered || is_token
}

/// Elements of HTML that format a text, in alphabetical order.
const FORMATTING: [&str; 67] = [
    "a", "abbr", "b", "big", "blockquote", "body", "bold", "br", "button", "caption", "center", "cite", "code", "col",
    "colgroup", "dd", "del", "dfn", "div", "dl", "dt", "em", "figcaption", "figure", "font", "footer", "h1", "h2",
    "h3", "h4", "h5", "h6", "head", "header", "hr", "html", "i", "iframe", "img", "ins", "kbd", "li", "link", "mark",
    "nav", "ol", "p", "picture", "pre", "q", "samp", "script", "small", "span", "strong", "style", "sub", "sup",
    "table", "tbody", "td", "tfoot", "th", "thead", "tr", "tt", "ul",
];
/// Further elements of HTML and SVG, and of documentation comments, in alphabetical order.
const ELEMENTS: [&str; 97] = [
    "address", "animate", "area", "article", "aside", "audio", "base", "canvas", "circle", "clippath", "data",
    "datalist", "defs", "desc", "details", "dialog", "ellipse", "embed", "example", "exception", "feblend",
    "fecolormatrix", "fecomposite", "feflood", "fegaussianblur", "femerge", "femergenode", "feoffset", "fieldset",
    "filter", "foreignobject", "form", "g", "hgroup", "image", "include", "inheritdoc", "input", "item", "label",
    "legend", "line", "lineargradient", "list", "listheader", "main", "map", "marker", "mask", "menu", "meta",
    "metadata", "meter", "noscript", "object", "optgroup", "option", "output", "para", "param", "paramref", "path",
    "pattern", "permission", "polygon", "polyline", "progress", "radialgradient", "rect", "remarks", "returns", "s",
    "search", "section", "see", "seealso", "select", "slot", "source", "stop", "summary", "svg", "symbol", "template",
    "term", "text", "textarea", "textpath", "time", "title", "track", "tspan", "typeparam", "u", "use", "value",
    "video",
];

/// Whether a name, folded, is an element that formats a text.
pub(super) fn is_formatting(name: &str) -> bool {
    FORMATTING.binary_search(&name).is_ok()
}

/// Whether a name, folded, is an element of HTML, SVG or a documentation comment.
pub(super) fn is_element(name: &str) -> bool {
    is_formatting(name) || ELEMENTS.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(FORMATTING.is_sorted() && ELEMENTS.is_sorted());
    }
}
