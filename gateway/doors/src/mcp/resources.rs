//! Resources: knowledge pages, memories and receipts by their addresses.

use muninn_core::{ResourceKind, ResourceText};
use rmcp::ErrorData;
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

/// The addresses that are not listed one by one.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |uri: &str, name: &str, about: &str, kind: &str| {
        ResourceTemplate::new(uri, name).with_description(about).with_mime_type(kind)
    };
    vec![
        template("muninn://knowledge/{+path}", "knowledge", "A page of the team's knowledge", "text/markdown"),
        template(
            "muninn://memory/{id}",
            "memory",
            "A memory by its id or any unambiguous part of it",
            "application/json",
        ),
        template("muninn://receipt/{id}", "receipt", "What was added to a prompt, and why", "application/json"),
    ]
}

/// The knowledge pages, each with its address and its path.
pub(super) fn list(pages: Vec<(String, String)>) -> Vec<Resource> {
    let pages = pages.into_iter();
    pages.map(|(address, path)| Resource::new(address, path).with_mime_type("text/markdown")).collect()
}

/// The contents of a resource.
///
/// # Errors
/// An error of the protocol if there is no such resource.
pub(super) fn contents(uri: &str, found: Option<ResourceText>) -> Result<ResourceContents, ErrorData> {
    let ResourceText { text, kind } = found.ok_or_else(|| {
        ErrorData::resource_not_found(format!("there is no resource {uri}"), Some(json!({"uri": uri})))
    })?;
    Ok(ResourceContents::text(text, uri).with_mime_type(match kind {
        ResourceKind::Markdown => "text/markdown",
        ResourceKind::Json => "application/json",
    }))
}
