//! Skills: Muninn's own instructions for tasks, as resources (SEP-2640).

use std::sync::LazyLock;

use muninn_repo_tools::front_matter::FrontMatter;
use rmcp::ErrorData;
use rmcp::model::{Resource, ResourceContents, Skill, SkillFrontmatter, SkillResource, SkillResources};
use serde_json::Value;

use super::Offer;

/// The kind of a skill's text.
const MARKDOWN: &str = "text/markdown";

/// The texts of the skills, each with the tools without which it is of no use.
const TEXTS: [(&str, &[&str]); 4] = [
    (include_str!("../../../../plugins/claude-code/skills/recall/SKILL.md"), &["recall"]),
    (include_str!("../../../../plugins/claude-code/skills/settle/SKILL.md"), &[]),
    (include_str!("../../../../plugins/claude-code/skills/why/SKILL.md"), &[]),
    (include_str!("../../../../plugins/claude-code/skills/wiki/SKILL.md"), &[]),
];

static SKILLS: LazyLock<Vec<(Skill, &str, &[&str])>> =
    LazyLock::new(|| TEXTS.iter().filter_map(|(text, tools)| Some((skill(text)?, *text, *tools))).collect());

fn skill(text: &str) -> Option<Skill> {
    let mut values = FrontMatter::of(text).ok()??.values();
    let mut take = |key: &str| match values.remove(key) {
        Some(Value::String(value)) => Some(value),
        _ => None,
    };
    let (name, description) = (take("name")?, take("description")?);
    let uri = format!("skill://muninn/{name}/SKILL.md");
    let head = values
        .into_iter()
        .fold(SkillFrontmatter::new(name, description), |head, (key, value)| head.with_field(key, value));
    let files = vec![SkillResource::from_bytes(&uri, text.as_bytes())];
    Some(Skill::new(uri, head, SkillResources::Files(files)))
}

fn offered(offer: &Offer) -> impl Iterator<Item = &'static (Skill, &'static str, &'static [&'static str])> {
    SKILLS.iter().filter(|(_, _, tools)| tools.iter().all(|tool| offer.get(tool).is_some()))
}

/// The skills for clients with this offer.
pub(super) fn list(offer: &Offer) -> Vec<Skill> {
    offered(offer).map(|(skill, ..)| skill.clone()).collect()
}

/// One of these skills.
///
/// # Errors
/// An error of the protocol if there is no such skill.
pub(super) fn get(offer: &Offer, uri: &str) -> Result<Skill, ErrorData> {
    let found = offered(offer).find(|(skill, ..)| skill.uri == uri);
    let found = found.ok_or_else(|| ErrorData::invalid_params(format!("no skill is served at {uri}"), None))?;
    Ok(found.0.clone())
}

/// The skills as resources, for clients that know no skills.
pub(super) fn resources(offer: &Offer) -> Vec<Resource> {
    let resource = |skill: &Skill| {
        Resource::new(&*skill.uri, skill.name())
            .with_description(&*skill.frontmatter.description)
            .with_mime_type(MARKDOWN)
    };
    offered(offer).map(|(skill, ..)| resource(skill)).collect()
}

/// The text of a skill.
pub(super) fn contents(offer: &Offer, uri: &str) -> Option<ResourceContents> {
    let (_, text, _) = offered(offer).find(|(skill, ..)| skill.uri == uri)?;
    Some(ResourceContents::text(*text, uri).with_mime_type(MARKDOWN))
}
