//! The interface of the benchmarks: their options, and the fields of their JSON.

use std::path::Path;

use syn::{Attribute, Fields, Item, Meta};

use super::sources::sources;

/// Lists the types that are parsed from a command line or printed as JSON, with their fields or variants and the
/// attributes for clap and serde.
pub(super) fn interface(folder: &Path) -> String {
    let mut types: Vec<String> = Vec::new();
    for source in sources(folder) {
        for item in &source.file.items {
            let (attributes, name, parts) = match item {
                Item::Struct(item) => (&item.attrs, &item.ident, fields(&item.fields)),
                Item::Enum(item) => (&item.attrs, &item.ident, {
                    let variant = |variant: &syn::Variant| line(&part(&variant.ident.to_string(), &variant.attrs));
                    item.variants.iter().map(variant).collect()
                }),
                _ => continue,
            };
            let derived = tokens(attributes, "derive");
            if ["Parser", "Args", "Serialize", "ValueEnum"].iter().any(|name| derived.contains(name)) {
                let place = source.module.join("::");
                types.push(format!("{}\n{}", part(&format!("{place}::{name}"), attributes), parts.concat()));
            }
        }
    }
    types.sort();
    types.join("\n")
}

fn fields(fields: &Fields) -> Vec<String> {
    let field = |field: &syn::Field| Some(line(&part(&field.ident.as_ref()?.to_string(), &field.attrs)));
    fields.iter().filter_map(field).collect()
}

fn line(text: &str) -> String {
    format!("    {text}\n")
}

fn part(name: &str, attributes: &[Attribute]) -> String {
    let arguments = ["arg", "command", "serde", "value"].map(|attribute| tokens(attributes, attribute));
    let arguments: Vec<_> = arguments.into_iter().filter(|tokens| !tokens.is_empty()).collect();
    format!("{name} {}", arguments.join("; ")).trim_end().to_owned()
}

/// The arguments of all attributes with this name.
fn tokens(attributes: &[Attribute], name: &str) -> String {
    let named = attributes.iter().filter(|attribute| attribute.path().is_ident(name));
    let arguments = named.filter_map(|attribute| match &attribute.meta {
        Meta::List(list) => Some(list.tokens.to_string()),
        _ => None,
    });
    arguments.collect::<Vec<_>>().join(", ")
}
