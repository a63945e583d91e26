//! Consumers are made in one place, and producers in one: whoever opens another one has rules of its own.

use std::fs;
use std::path::{Path, PathBuf};

/// Where a client of librdkafka may be made: consumers, producers, and the one that makes topics.
const PLACES: [&str; 3] =
    ["kafka/src/client/admin.rs", "kafka/src/client/consumer.rs", "kafka/src/sending/producer.rs"];

/// The source files below a folder, without those of tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && !["tests", "target", "benches"].contains(&name) {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// What a file compiles into a program: all but its tests, which are at its end.
fn shipped(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a source file");
    text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default().to_owned()
}

#[test]
fn no_consumer_and_no_producer_is_made_elsewhere() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates");
    let mut files = Vec::new();
    sources(crates, &mut files);
    let makes = |path: &&PathBuf| {
        let text = shipped(path);
        let is_client = text.contains("rdkafka::") || text.contains("ClientConfig");
        is_client
            && [".create_with_context(", ".create()", "::from_config"].iter().any(|call| text.contains(call))
    };
    let mut found: Vec<_> =
        files.iter().filter(makes).map(|path| path.strip_prefix(crates).expect("below").to_owned()).collect();
    found.sort();
    assert_eq!(found, PLACES.map(PathBuf::from));
}
