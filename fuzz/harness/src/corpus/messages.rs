//! Single FlatBuffers messages of every schema.

use super::Seed;
use evforge_messages::{Schema, decode, examples};

/// A sound message of every schema, layout and kind of value; then messages with one thing wrong with them.
pub fn seeds() -> Vec<Seed> {
    let made = examples::messages(7);
    let mut seeds: Vec<Seed> =
        made.iter().map(|(name, bytes)| Seed::new(name_of(name, bytes), bytes.clone())).collect();
    let Some((_, events)) = made.first() else { return seeds };
    seeds.push(Seed::new("too-short", &events[..15]));
    seeds.push(Seed::new("cut", &events[..events.len() - 9]));
    let mut unknown = events.clone();
    unknown[4..8].copy_from_slice(b"NDAr");
    seeds.push(Seed::new("unknown-schema", unknown));
    let mut far = events.clone();
    far[..4].copy_from_slice(&u32::MAX.to_le_bytes());
    seeds.push(Seed::new("root-beyond-the-end", far));
    for schema in Schema::ALL {
        let mut empty = vec![12, 0, 0, 0];
        empty.extend_from_slice(schema.id().as_bytes());
        empty.extend_from_slice(&[4, 0, 4, 0, 4, 0, 0, 0]);
        seeds.push(Seed::new(format!("{schema}-empty"), empty));
    }
    seeds
}

/// The schema, and what is particular about the message.
fn name_of(name: &str, bytes: &[u8]) -> String {
    let schema = decode(bytes).map_or("damaged", |message| message.schema().id());
    let rest = name.strip_prefix(schema).unwrap_or(name).trim_start_matches('_');
    if rest.is_empty() { schema.to_owned() } else { format!("{schema}-{}", rest.replace('_', "-")) }
}
