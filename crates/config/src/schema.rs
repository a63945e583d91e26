//! The JSON Schema of a configuration: what an editor with a TOML language server completes and checks keys by.
//!
//! It is made of the declarations that also read the keys. Two things are refused by evforge only: what depends on other keys or on the
//! host, and most limits of texts with units.

use crate::config::{CommonConfig, ESS, ESS_DETECTORS, MONITORS};
use crate::detectors::{SECTIONS, section_schemas};
use evforge_detect::ess::EssSettings;
use evforge_sim::simulation::SimulationSettings;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// What makes the schemas of tables that other crates read.
pub fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

/// The schema of a configuration. `tables` are those that other crates read, by name: their schemas, made by `generator`.
pub fn whole(mut generator: SchemaGenerator, tables: &[(&str, Schema)]) -> Value {
    let mut schema = CommonConfig::json_schema(&mut generator);
    let sections = section_schemas(&mut generator);
    let own = [
        (
            "simulation",
            described::<SimulationSettings>(
                &mut generator,
                "The detector, simulated: `evforge simulate`, `demo` and `accuracy`.",
            ),
        ),
        (
            ESS,
            described::<EssSettings>(&mut generator, "What all detectors of the ESS readout have in common."),
        ),
    ];
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for (name, table) in own.iter().chain(&sections).chain(tables) {
            properties.insert((*name).to_owned(), table.clone().to_value());
        }
    }
    schema.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("title".into(), "Configuration of evforge".into());
    schema
        .insert("description".into(), "One instrument: docs/configuration.md has all keys in words.".into());
    schema.insert("required".into(), json!(["name"]));
    schema.insert("additionalProperties".into(), false.into());
    schema.insert("dependentRequired".into(), tables_needed());
    schema.insert("dependentSchemas".into(), tables_refused());
    schema.insert("$defs".into(), Value::Object(generator.take_definitions(true)));
    let mut whole = schema.to_value();
    finish(&mut whole);
    whole
}

fn described<T: JsonSchema>(generator: &mut SchemaGenerator, description: &str) -> Schema {
    let mut schema = generator.subschema_for::<T>();
    schema.insert("description".into(), description.into());
    schema
}

fn is_of_ess(section: &str) -> bool {
    section.starts_with(ESS_DETECTORS)
}

/// Detectors of the ESS readout need the table that they share.
fn tables_needed() -> Value {
    SECTIONS
        .into_iter()
        .filter(|section| is_of_ess(section))
        .map(|section| (section.to_owned(), json!([ESS])))
        .collect::<Map<_, _>>()
        .into()
}

/// There is one detector, alone or with beam monitors if it has the ESS readout.
fn tables_refused() -> Value {
    let refused = |first: &'static str, place: usize| {
        let others =
            SECTIONS.into_iter().skip(place + 1).filter(|other| first != MONITORS && *other != MONITORS);
        let of_ess = [ESS, MONITORS].into_iter().filter(|_| !is_of_ess(first));
        others.chain(of_ess).map(|key| (key.to_owned(), json!({ "not": {} }))).collect::<Map<_, _>>()
    };
    let sections = SECTIONS.into_iter().enumerate();
    sections
        .map(|(place, first)| (first.to_owned(), json!({ "properties": refused(first, place) })))
        .collect::<Map<_, _>>()
        .into()
}

/// TOML has no null, and editors know nothing of the formats of Rust's numbers. Former names of keys are keys as well.
fn finish(schema: &mut Value) {
    match schema {
        Value::Object(words) => {
            if words.get("type").is_some_and(|types| !types.is_object()) {
                words
                    .remove("format")
                    .filter(|format| format == "ip")
                    .map(|format| words.insert("format".into(), format));
            }
            if words.get("default").is_some_and(Value::is_null) {
                words.remove("default");
            }
            if let Some(Value::String(description)) = words.get_mut("description") {
                *description = description.replace('\n', " ");
            }
            leave_out_null(words);
            for value in words.values_mut() {
                finish(value);
            }
            add_former_names(words);
        }
        Value::Array(values) => values.iter_mut().for_each(finish),
        _ => {}
    }
}

fn leave_out_null(words: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = words.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            words.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = words.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(choices)) = words.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(only)] = choices.as_mut_slice() {
            let only = std::mem::take(only);
            words.remove("anyOf");
            for (word, value) in only {
                words.entry(word).or_insert(value);
            }
        }
    }
}

/// Keys under their former names, marked as such.
fn add_former_names(words: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = words.get_mut("properties") else { return };
    let mut former = Vec::new();
    for (key, schema) in properties.iter() {
        let Some(Value::Array(names)) = schema.get("x-former") else { continue };
        for name in names.iter().filter_map(Value::as_str) {
            let mut schema = schema.clone();
            if let Value::Object(words) = &mut schema {
                words.remove("x-former");
                words.insert("deprecated".to_owned(), true.into());
                words.insert("description".to_owned(), format!("Former name of `{key}`.").into());
            }
            former.push((name.to_owned(), schema));
        }
    }
    properties.extend(former);
}
