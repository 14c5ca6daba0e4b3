/// Returns a code block that its content cannot end: the fence is longer than any run of backticks in it.
pub(crate) fn fenced(text: &str, language: &str) -> String {
    let fence = fence(text);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end_matches(['\r', '\n']))
}

/// Returns the closing fence of a code block with this text.
pub(crate) fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}
