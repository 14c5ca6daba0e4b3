//! Images and documents: data in one spelling, labelled by what the data is, in a form that the vendors read.
//!
//! Anthropic: "media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'", and a label that does not
//! match the bytes is refused. OpenAI: "Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif',
//! 'webp']".

use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::super::request::{Dropped, Message, Part, Source};

const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const PDF: &str = "application/pdf";

/// Decodes data with and without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The number of base64 characters that are read to see what the data is.
const SNIFFED: usize = 32;

/// Fits the images and documents of a conversation.
pub(super) fn fit(messages: &mut [Message<'_>], only_pdf: bool, dropped: &mut Dropped) {
    for message in messages {
        fit_parts(&mut message.parts, only_pdf, dropped);
    }
}

fn fit_parts(parts: &mut Vec<Part<'_>>, only_pdf: bool, dropped: &mut Dropped) {
    let mut has_media = false;
    for part in parts.iter_mut() {
        match part {
            Part::ToolResult(result) => fit_parts(&mut result.parts, only_pdf, dropped),
            Part::Image { .. } | Part::Document { .. } => has_media = true,
            _ => {}
        }
    }
    if has_media {
        let all = std::mem::take(parts);
        parts.extend(all.into_iter().filter_map(|part| fitting(part, only_pdf, dropped)));
    }
}

fn fitting<'a>(part: Part<'a>, only_pdf: bool, dropped: &mut Dropped) -> Option<Part<'a>> {
    match part {
        Part::Image { source: Source::Base64 { media_type, data }, detail } => {
            let data = clean(data);
            match kind(&media_type, &data) {
                PDF => Some(Part::Document { source: base64(media_type, PDF, data, dropped), name: None }),
                kind if IMAGES.contains(&kind) => {
                    Some(Part::Image { source: base64(media_type, kind, data, dropped), detail })
                }
                // A picture of text: models read it as text.
                SVG => text(&data).map(|text| written(text, dropped)).or_else(|| left_out("messages.image", dropped)),
                _ => left_out("messages.image", dropped),
            }
        }
        Part::Image { source: Source::Text(text), .. } => Some(written(text.into_owned(), dropped)),
        Part::Image { source: Source::Url(url), .. } if !is_web(&url) => left_out("messages.image", dropped),
        Part::Document { source: Source::Base64 { media_type, data }, name } => {
            let data = clean(data);
            match kind(&media_type, &data) {
                kind if IMAGES.contains(&kind) => {
                    Some(Part::Image { source: base64(media_type, kind, data, dropped), detail: None })
                }
                PDF => Some(Part::Document { source: base64(media_type, PDF, data, dropped), name }),
                _ if !only_pdf => Some(Part::Document { source: Source::Base64 { media_type, data }, name }),
                _ => match text(&data) {
                    Some(text) => {
                        dropped.add("messages.media_type");
                        Some(Part::Document { source: Source::Text(text.into()), name })
                    }
                    None => left_out("messages.document", dropped),
                },
            }
        }
        part => Some(part),
    }
}

fn left_out<'a>(name: &str, dropped: &mut Dropped) -> Option<Part<'a>> {
    dropped.add(name);
    None
}

/// A picture as its text.
fn written<'a>(text: String, dropped: &mut Dropped) -> Part<'a> {
    dropped.add("messages.image.svg");
    Part::text(text)
}

fn is_web(url: &str) -> bool {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

fn base64<'a>(label: Cow<'a, str>, kind: &'static str, data: Cow<'a, str>, dropped: &mut Dropped) -> Source<'a> {
    if label == kind {
        return Source::Base64 { media_type: label, data };
    }
    dropped.add("messages.media_type");
    Source::Base64 { media_type: kind.into(), data }
}

const SVG: &str = "image/svg+xml";

/// Returns what data is: by its first bytes, or else by its label.
fn kind(label: &str, data: &str) -> &'static str {
    let start = data.get(..SNIFFED.min(data.len())).unwrap_or_default();
    let start = BASE64.decode(&start[..start.len() / 4 * 4]).unwrap_or_default();
    let text = start.trim_ascii_start();
    match &*start {
        [0x89, b'P', b'N', b'G', ..] => return "image/png",
        [0xff, 0xd8, 0xff, ..] => return "image/jpeg",
        [b'G', b'I', b'F', b'8', ..] => return "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => return "image/webp",
        [b'%', b'P', b'D', b'F', ..] => return PDF,
        _ if text.starts_with(b"<svg") => return SVG,
        _ => {}
    }
    let label = label.trim().to_ascii_lowercase();
    match &*label {
        "image/jpg" | "image/pjpeg" => "image/jpeg",
        "image/svg" => SVG,
        "application/x-pdf" => PDF,
        label => IMAGES.into_iter().chain([SVG, PDF]).find(|known| *known == label).unwrap_or("unknown"),
    }
}

/// Returns base64 without white space, in the standard alphabet and with padding.
fn clean(data: Cow<'_, str>) -> Cow<'_, str> {
    let is_odd = |byte: u8| byte.is_ascii_whitespace() || byte == b'-' || byte == b'_';
    let whole = data.len().is_multiple_of(4);
    if whole && !data.bytes().any(is_odd) {
        return data;
    }
    let mut cleaned = String::with_capacity(data.len() + 2);
    cleaned.extend(data.chars().filter(|letter| !letter.is_ascii_whitespace() && *letter != '=').map(|letter| {
        match letter {
            '-' => '+',
            '_' => '/',
            letter => letter,
        }
    }));
    while !cleaned.len().is_multiple_of(4) {
        cleaned.push('=');
    }
    cleaned.into()
}

/// The text that data is.
fn text(data: &str) -> Option<String> {
    String::from_utf8(BASE64.decode(data).ok()?).ok().filter(|text| !text.contains('\0'))
}
