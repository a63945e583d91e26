//! The paths and objects for programs: an OpenAPI document of version 3.1, from the same declarations.

use super::document::{array, bare};
use super::objects::{OBJECTS, Object};
use super::route::{Answer, Content, PATH_PARAMETERS, Route};
use super::routes::{EVERYWHERE, GUARDED, routes};
use crate::json_object::Field;
use crate::protocol::API_VERSION;
use serde_json::{Map, Value, json};

/// The object of refusals.
const ERROR: &str = "ErrorAnswer";

/// All paths with their parameters, bodies and answers, and all objects.
pub fn openapi() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in routes() {
        let methods = paths.entry(route.path.replace('*', "")).or_insert_with(|| json!({}));
        methods[route.method.name().to_lowercase()] = operation(route);
    }
    let schemas: Map<String, Value> =
        OBJECTS.iter().map(|object| (object.name.to_owned(), schema_of(object))).collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "evforge: the live view and the control of a run",
            "version": API_VERSION.to_string(),
            "description": "What docs/http-api.md says in words. Made from the declarations of the paths: `make http-api`.",
        },
        "servers": [{ "url": "http://127.0.0.1:8080" }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": {
                "type": "http",
                "scheme": "bearer",
                "description": "The token of the run; whatever changes something needs it.",
            } },
        },
    })
}

fn operation(route: &Route) -> Value {
    let mut parameters: Vec<Value> = Vec::new();
    for part in route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
        let name = part.trim_start_matches('*');
        let meaning =
            PATH_PARAMETERS.iter().find(|(known, _)| *known == name).map_or("", |(_, meaning)| meaning);
        parameters.push(json!({
            "name": name, "in": "path", "required": true, "description": meaning, "schema": { "type": "string" },
        }));
    }
    for parameter in route.parameters.unwrap_or_default() {
        let description = format!("{}; default: {}", parameter.meaning, parameter.default);
        parameters.push(json!({
            "name": parameter.name, "in": "query", "description": description, "schema": { "type": "string" },
        }));
    }
    let mut responses = Map::new();
    // What is declared of the path itself comes first.
    let guarded: &[Answer] = if route.is_guarded() { GUARDED } else { &[] };
    let own = route.answers.iter().map(|answer| (answer, true));
    for (answer, is_own) in own.chain(guarded.iter().chain(EVERYWHERE).map(|answer| (answer, false))) {
        if !is_own && !route.changes && [401, 403, 408, 413].contains(&answer.status) && route.is_guarded() {
            // Only what changes something, or has a body.
            if answer.content_type == "application/json" {
                continue;
            }
        }
        let response = responses
            .entry(answer.status.to_string())
            .or_insert_with(|| json!({ "description": answer.when }));
        if answer.content_type.is_empty() {
            continue;
        }
        let kind = answer.content_type.split(';').next().unwrap_or_default();
        if response["content"].get(kind).is_none() {
            response["content"][kind] = json!({ "schema": content(route, answer) });
        }
    }
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.purpose,
        "responses": responses,
    });
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = route.body {
        operation["requestBody"] =
            json!({ "required": true, "content": { "application/json": { "schema": reference(body) } } });
    }
    if route.changes {
        operation["security"] = json!([{ "token": [] }]);
    }
    operation
}

/// A name for programs that are made from the document: `get_api_control_state`.
fn operation_id(route: &Route) -> String {
    let path: String = route.path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let words: Vec<&str> = path.split('_').filter(|word| !word.is_empty()).collect();
    format!("{}_{}", route.method.name().to_lowercase(), words.join("_"))
}

fn content(route: &Route, answer: &Answer) -> Value {
    let is_json = answer.content_type == "application/json";
    match route.content {
        _ if is_json && answer.status >= 400 => reference(ERROR),
        Content::Object(name) if is_json => reference(name),
        Content::List(name) if is_json => json!({ "type": "array", "items": reference(name) }),
        Content::Other(_) if is_json => json!({ "type": "object" }),
        _ => json!({ "type": "string" }),
    }
}

fn reference(object: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{object}") })
}

fn schema_of(object: &Object) -> Value {
    let (flat, own): (Vec<&Field>, Vec<&Field>) = object.fields.iter().partition(|field| field.is_flat());
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in own {
        let of: String = field.of.chars().filter(|c| !c.is_whitespace()).collect();
        let absent = field.may_be_absent();
        let mut schema = schema(if absent { field.never_null(&of) } else { &of });
        schema["description"] = field.help.trim().into();
        properties.insert(field.written().to_owned(), schema);
        if !absent {
            required.push(field.written());
        }
    }
    let mut found = json!({ "type": "object", "description": object.help.trim(), "properties": properties });
    if !required.is_empty() {
        found["required"] = required.into();
    }
    if !flat.is_empty() {
        found["allOf"] = flat.iter().map(|field| reference(bare(&field.of.replace(' ', "")))).collect();
    }
    found
}

/// The schema of a type.
fn schema(of: &str) -> Value {
    let inside = |start: &str| of.strip_prefix(start).and_then(|of| of.strip_suffix('>'));
    if let Some(of) = inside("Option<") {
        json!({ "anyOf": [schema(of), { "type": "null" }] })
    } else if let Some(of) = inside("Vec<") {
        json!({ "type": "array", "items": schema(of) })
    } else if let Some(of) = inside("BTreeMap<&'staticstr,").or(inside("BTreeMap<String,")) {
        json!({ "type": "object", "additionalProperties": schema(of) })
    } else if let Some((of, count)) = array(of) {
        json!({ "type": "array", "items": schema(of), "minItems": count, "maxItems": count })
    } else if of == "(u64,u64)" {
        json!({ "type": "array", "items": schema("u64"), "minItems": 2, "maxItems": 2 })
    } else {
        match bare(of) {
            "u8" | "u16" | "u32" | "u64" | "usize" => json!({ "type": "integer", "minimum": 0 }),
            "f64" => json!({ "type": "number" }),
            "bool" => json!({ "type": "boolean" }),
            "String" | "str" => json!({ "type": "string" }),
            object => reference(object),
        }
    }
}
