//! The JSON Schema of configurations (`evforge run --schema`), and the tables of `docs/configuration.md` that are made of it.

use crate::outputs::file_schemas;
use evforge_config::schema::{generator, whole};
use evforge_kafka::client::ClientSettings;
use evforge_outputs::Registry;
use serde_json::Value;

/// The schema, with the kinds of outputs of this program.
pub(crate) fn schema(registry: &Registry) -> Value {
    let mut generator = generator();
    let files = file_schemas(&mut generator);
    let outputs = registry.schema(&mut generator, &files);
    let mut kafka = generator.subschema_for::<ClientSettings>();
    kafka.insert("description".into(), "How Kafka is reached, for runs whose input is a topic.".into());
    whole(generator, &[("outputs", outputs), ("kafka", kafka)])
}

/// The schema as text.
pub(crate) fn schema_text(registry: &Registry) -> String {
    format!("{:#}\n", schema(registry))
}
