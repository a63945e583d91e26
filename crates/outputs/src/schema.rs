//! The schema of the tables `[outputs.…]`.

use crate::registry::{Kind, Registry};
use crate::settings::QueueKeys;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

impl Registry {
    /// The schema of the table `outputs`. `files` are outputs that are no outputs of events, each with the schema of its table.
    pub fn schema(&self, generator: &mut SchemaGenerator, files: &[(&str, Schema)]) -> Schema {
        let mut properties: Map<String, Value> =
            files.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone().to_value())).collect();
        let kinds: Vec<_> = self.kinds.iter().map(|kind| (kind.name, kind.table(generator))).collect();
        let is = |kind: &str| json!({ "properties": { "kind": { "const": kind } }, "required": ["kind"] });
        // The name of a table says its kind, unless `kind` does.
        let by_kind: Vec<Value> =
            kinds.iter().map(|(kind, table)| json!({ "if": is(kind), "then": table })).collect();
        let names: Vec<&str> = kinds.iter().map(|(kind, _)| *kind).collect();
        let kind = json!({ "description": "What kind of output it is; without it the name of the table.", "enum": names });
        let any = json!({ "type": "object", "properties": { "kind": kind }, "required": ["kind"], "allOf": by_kind });
        for (kind, table) in kinds {
            let other =
                json!({ "properties": { "kind": { "not": { "const": kind } } }, "required": ["kind"] });
            let table = json!({ "if": other, "then": { "$ref": "#/$defs/AnyOutput" }, "else": table });
            properties.insert(kind.to_owned(), table);
        }
        generator.definitions_mut().insert("AnyOutput".to_owned(), any);
        json_schema!({
            "description": "Where the events go: a table for each output.",
            "type": "object",
            "properties": properties,
            "additionalProperties": { "$ref": "#/$defs/AnyOutput" },
            "propertyNames": { "pattern": "^[A-Za-z0-9_-]+$" },
        })
    }
}

impl Kind {
    /// The table of an output of this kind: its own keys, and those of all outputs. It is put among the definitions.
    fn table(&self, generator: &mut SchemaGenerator) -> Value {
        let mut table = (self.schema)(generator);
        table.insert("description".into(), format!("An output: {}.", self.about).into());
        let queue = QueueKeys::json_schema(generator);
        let (own, common) = (table.get_mut("properties"), queue.get("properties"));
        if let (Some(Value::Object(own)), Some(Value::Object(common))) = (own, common) {
            own.extend(common.clone());
            own.insert("kind".to_owned(), json!({ "type": "string" }));
        }
        let name = format!("Output-{}", self.name);
        let link = json!({ "$ref": format!("#/$defs/{name}") });
        generator.definitions_mut().insert(name, table.to_value());
        link
    }
}
