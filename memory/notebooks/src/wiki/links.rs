//! The links of a page: `[[target]]` and Markdown links to other pages. Links in code are code.

use std::ops::Range;

use percent_encoding::percent_decode_str;
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};
use serde::{Deserialize, Serialize};

use super::path::{EXTENSION, PagePath, folded};

/// The order of the two halves of `[[a|b]]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkStyle {
    /// Told apart for each link: the half that names a page is the target. If both do, or none, as Obsidian.
    #[default]
    Auto,
    /// The target first: `[[projects/mind-map|the map]]`.
    Obsidian,
    /// The shown text first: `[[the map|projects/mind-map]]`.
    MindMap,
}

/// A link as a page has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The bytes of the text that name the target, within the page.
    pub target: Range<usize>,
    /// The target as it is written. In `[[a#b]]`, `#` begins a heading or belongs to the name of the page.
    pub written: String,
    /// In `[[a|b]]`, the other half, which may be the target.
    pub other: Option<(Range<usize>, String)>,
    /// Whether `|` is written `\|`, as in a table.
    pub is_escaped: bool,
    /// Whether the link is a Markdown link: its target is a path from the folder of its page, or the name of a page.
    pub is_markdown: bool,
    /// Whether the target may be a file that is no page, because it has no extension `.md`.
    pub is_vague: bool,
}

/// Files that a page embeds or offers and that are no pages.
const ATTACHMENTS: [&str; 25] = [
    "png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "bmp", "pdf", "mp3", "mp4", "wav", "webm", "flac", "m4a",
    "ogg", "3gp", "mkv", "mov", "ogv", "csv", "zip", "canvas", "base", "excalidraw",
];

/// The links of a Markdown text, in order. `offset` is added to their positions.
pub(super) fn links(text: &str, offset: usize) -> Vec<Link> {
    let parser = Parser::new_ext(text, Options::ENABLE_WIKILINKS | Options::ENABLE_TABLES);
    let defined = parser.reference_definitions().iter();
    let defined =
        defined.filter_map(|(_, definition)| markdown_link(text, definition.span.clone(), &definition.dest, offset));
    let mut links: Vec<Link> = defined.collect();
    links.extend(parser.into_offset_iter().filter_map(|(event, span)| match event {
        Event::Start(Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. }) => match link_type
        {
            LinkType::WikiLink { .. } => wiki_link(text, span, offset),
            LinkType::Inline => markdown_link(text, span, &dest_url, offset),
            _ => None,
        },
        _ => None,
    }));
    links.sort_by_key(|link| link.target.start);
    links
}

/// `[[target]]`, `[[a|b]]`, in a table `[[a\|b]]`, `[[target#heading]]`, `![[target]]`.
fn wiki_link(text: &str, span: Range<usize>, offset: usize) -> Option<Link> {
    let whole = text.get(span.clone())?;
    let embedded = whole.strip_prefix('!').unwrap_or(whole);
    let inner = embedded.strip_prefix("[[")?.strip_suffix("]]")?;
    let from = span.end - 2 - inner.len();
    let half = |at: usize, half: &str| {
        let trimmed = half.trim();
        let start = offset + from + at + (half.len() - half.trim_start().len());
        (start..start + trimmed.len(), trimmed.to_owned())
    };
    let (first, second) = match inner.split_once('|') {
        Some((first, second)) => (first, Some((first.len() + 1, second))),
        None => (inner, None),
    };
    let unescaped = second.and_then(|_| first.strip_suffix('\\'));
    let (target, written) = half(0, unescaped.unwrap_or(first));
    // `[[#heading]]` stays on its page.
    let stays = written.starts_with('#') || (written.is_empty() && second.is_none());
    if stays || is_attachment(page_part(&written)) {
        return None;
    }
    Some(Link {
        target,
        written,
        other: second.map(|(at, second)| half(at, second)),
        is_escaped: unescaped.is_some(),
        is_markdown: false,
        is_vague: false,
    })
}

/// A target without a heading.
fn page_part(written: &str) -> &str {
    written.split_once('#').map_or(written, |(page, _)| page.trim_end())
}

/// A target, and its beginnings before each `#`, the longest first.
fn readings(written: &str) -> impl Iterator<Item = &str> {
    let shorter = written.char_indices().rev().filter(|(_, c)| *c == '#').map(|(at, _)| written[..at].trim_end());
    std::iter::once(written).chain(shorter)
}

fn is_attachment(target: &str) -> bool {
    let extension = target.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    extension.is_some_and(|extension| ATTACHMENTS.contains(&&*extension))
}

/// `[shown](other.md)`, `[shown](other)`. Addresses with a scheme, and files that are no pages, are no links of the wiki.
fn markdown_link(text: &str, span: Range<usize>, target: &str, offset: usize) -> Option<Link> {
    let page = target.split_once('#').map_or(target, |(page, _)| page);
    let has_scheme = page.split_once(':').is_some_and(|(scheme, _)| !scheme.contains('/'));
    if page.is_empty() || has_scheme || page.ends_with('/') || is_attachment(page) {
        return None;
    }
    let whole = text.get(span.clone())?;
    let at = span.start + whole.rfind(page)?;
    Some(Link {
        target: offset + at..offset + at + page.len(),
        written: page.to_owned(),
        other: None,
        is_escaped: false,
        is_markdown: true,
        is_vague: !page.ends_with(".md"),
    })
}

/// Finds pages by what links write.
pub(super) trait Targets {
    /// The page with this path, in any case.
    fn by_path(&self, folded: &str) -> Option<&PagePath>;
    /// The only page with this last part of its path, title or alias, in this order.
    fn by_name(&self, folded: &str) -> Option<&PagePath>;
}

impl Link {
    /// The page that the link leads to, and the bytes that name it; `None` if there is none.
    pub(super) fn resolve<'t>(
        &self,
        page: &PagePath,
        targets: &'t dyn Targets,
        style: LinkStyle,
    ) -> Option<(&'t PagePath, Range<usize>)> {
        let first = || self.find(page, &self.written, &self.target, targets);
        let Some((span, written)) = &self.other else {
            return first();
        };
        let second = || self.find(page, written, span, targets);
        match style {
            LinkStyle::Obsidian => first(),
            LinkStyle::MindMap => second(),
            LinkStyle::Auto => first().or_else(second),
        }
    }

    /// The page that one half of the link names, and the bytes of its name.
    fn find<'t>(
        &self,
        page: &PagePath,
        written: &str,
        span: &Range<usize>,
        targets: &'t dyn Targets,
    ) -> Option<(&'t PagePath, Range<usize>)> {
        if self.is_markdown {
            return Some((markdown_target(page, written, targets)?, span.clone()));
        }
        readings(written)
            .find_map(|name| Some((wiki_target(page, name, targets)?, span.start..span.start + name.len())))
    }

    /// The target of a link that leads nowhere, as it is written, without a heading; `None` if it may be no link to a page.
    pub(super) fn missing(&self, style: LinkStyle) -> Option<&str> {
        let written = match (&self.other, style) {
            (Some((_, written)), LinkStyle::MindMap) => written,
            _ => &self.written,
        };
        (!self.is_vague).then_some(page_part(written))
    }
}

/// The page that a Markdown link leads to: by its path from the page, by its path in the wiki, or by its name.
pub(super) fn markdown_target<'t>(page: &PagePath, written: &str, targets: &'t dyn Targets) -> Option<&'t PagePath> {
    let decoded = percent_decode_str(written).decode_utf8_lossy();
    let beside = || targets.by_path(&page.relative(&decoded)?.folded());
    let key = folded(decoded.strip_suffix(EXTENSION).unwrap_or(&decoded));
    let in_wiki = || targets.by_path(key.trim_start_matches("./"));
    let named = || targets.by_name(&key).filter(|_| !key.contains('/'));
    beside().or_else(in_wiki).or_else(named)
}

fn wiki_target<'t>(page: &PagePath, written: &str, targets: &'t dyn Targets) -> Option<&'t PagePath> {
    let written = written.trim_start_matches('/');
    let key = folded(written.strip_suffix(EXTENSION).unwrap_or(written));
    // Of several pages with a name, the one beside this page is meant, as in Obsidian.
    let beside = || targets.by_path(&format!("{}/{key}", folded(page.folder())));
    targets.by_path(&key).or_else(|| targets.by_name(&key)).or_else(beside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Vec<String> {
        let found = links(text, 0).into_iter();
        found
            .map(|link| match &link.other {
                Some((span, other)) => {
                    assert_eq!((&text[link.target], &text[span.clone()]), (&*link.written, &**other));
                    format!("{}|{other}", link.written)
                }
                None => {
                    assert_eq!(&text[link.target], link.written);
                    link.written
                }
            })
            .collect()
    }

    #[test]
    fn both_forms_of_links_are_found_outside_of_code() {
        let text = "See [[a/b]] and [[the map|projects/mind-map]], [c](../c.md#top) and [[ d #e]].\n\n\
            `[[code]]` and\n```\n[[fenced]]\n```\n<!-- [[comment]] -->\n[web](https://x.y/z.md) [image](p.png) [[#here]] [[ open\n";
        assert_eq!(written(text), ["a/b", "the map|projects/mind-map", "../c.md", "d #e"]);
        let found = links(text, 0);
        let missing: Vec<_> = found.iter().map(|link| link.missing(LinkStyle::Auto)).collect();
        assert_eq!(missing, [Some("a/b"), Some("the map"), Some("../c.md"), Some("d")], "without headings");
        assert_eq!(readings("d #e#f").collect::<Vec<_>>(), ["d #e#f", "d #e", "d"]);
    }

    #[test]
    fn embedded_pages_and_definitions_are_links_and_attachments_are_not() {
        let text = "![[note]] ![[photo.PNG]] [[paper.pdf|p]] ![x](y.md) [one][r]\n\n[r]: sub/z.md#top 'Z'\n";
        assert_eq!(written(text), ["note", "y.md", "sub/z.md"]);
    }

    #[test]
    fn links_in_tables_have_an_escaped_separator() {
        let text = "|a|b|\n|-|-|\n| [[x/y\\|shown]] | ![[photo.png\\|100]] [[#here\\|there]] [[#here|there]] |\n";
        assert_eq!(written(text), ["x/y|shown"]);
        assert!(links(text, 0)[0].is_escaped);
    }

    #[test]
    fn endless_and_nested_brackets_are_harmless() {
        for text in
            ["[[", "[[a", "[[a|", "[[]]", "[[|]]", "]]", &"[[".repeat(10_000), "[[a]] ]] [[b", "![[", "![[]]", "[a]: <"]
        {
            links(text, 0);
        }
        assert_eq!(written("[[a\n\nb]] [[é|ü]]"), ["é|ü"]);
    }
}
