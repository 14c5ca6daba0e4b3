//! A package's page on a Python package index, in the JSON of PEP 691 or the HTML of PEP 503. Mirrors serve one or
//! both.

use serde::Deserialize;

/// The `accept` header: JSON is preferred.
pub(super) const ACCEPT: &str = "application/vnd.pypi.simple.v1+json, text/html;q=0.5";

#[derive(Deserialize)]
struct Page {
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    filename: String,
    url: String,
}

/// Returns the address of a file as written on the page: absolute, or relative to the page.
pub(super) fn address_of(page: &str, archive: &str) -> Option<String> {
    if let Ok(page) = serde_json::from_str::<Page>(page) {
        return page.files.into_iter().find(|file| file.filename == archive).map(|file| file.url);
    }
    let links = page.split("href=").skip(1).filter_map(|rest| {
        let quote = rest.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        rest[1..].split(quote).next()
    });
    links.map(|link| link.replace("&amp;", "&")).find(|link| path_of(link).rsplit('/').next() == Some(archive))
}

fn path_of(link: &str) -> &str {
    link.split(['#', '?']).next().unwrap_or(link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_html_pages_are_read() {
        let json = r#"{"meta":{"api-version":"1.1"},"files":[
            {"filename":"a-1.tar.gz","url":"https://files.test/a-1.tar.gz","hashes":{}},
            {"filename":"a-1-py3.whl","url":"../../x/a-1-py3.whl","size":3,"hashes":{"sha256":"00"}}]}"#;
        let html = "<a href=\"https://files.test/a-1.tar.gz#sha256=1\">a-1.tar.gz</a><br/>\n\
                    <A class='x' href='/x/a-1-py3.whl?a=1&amp;b=2#sha256=2' data-requires-python='&gt;=3.8'>a</a>";
        for (page, archive, expected) in [
            (json, "a-1-py3.whl", Some("../../x/a-1-py3.whl")),
            (json, "a-1.tar.gz", Some("https://files.test/a-1.tar.gz")),
            (json, "a-2.whl", None),
            (html, "a-1.tar.gz", Some("https://files.test/a-1.tar.gz#sha256=1")),
            (html, "a-1-py3.whl", Some("/x/a-1-py3.whl?a=1&b=2#sha256=2")),
            (html, "1-py3.whl", None),
            ("", "a", None),
            ("href=", "a", None),
            ("href=\"", "a", None),
            ("href=\u{e9}", "a", None),
        ] {
            assert_eq!(address_of(page, archive).as_deref(), expected, "{archive} in {page}");
        }
    }
}
