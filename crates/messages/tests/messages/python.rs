//! Messages read and written by the Python libraries of ESS and ISIS, through `tests/python`.
//!
//! Both libraries have the same name: `make test-tools` makes an environment for each at the root of the workspace,
//! `.venv-messages` and `.venv`.

use evforge_messages::{decode, examples};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const ESS: &str = ".venv-messages";
const ISIS: &str = ".venv";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The command that runs the script in an environment, or none with `test` reported as skipped.
fn python(test: &str, environment: &str) -> Option<Command> {
    let interpreter = root().join(environment).join("bin/python");
    let probe = Command::new(&interpreter).args(["-c", "import streaming_data_types"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        let missing = format!(
            "{} cannot import streaming_data_types: `make test-tools` installs it",
            interpreter.display()
        );
        evforge_testkit::skip(test, &missing);
        return None;
    }
    let mut command = Command::new(interpreter);
    command.arg(root().join("tests/python/test_messages_readback.py"));
    Some(command)
}

fn run(command: &mut Command) -> String {
    let output = command.output().expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("Python prints text")
}

/// How many messages of each schema Python has read and found as they are.
fn read_by_python(test: &str, environment: &str) -> Option<BTreeMap<String, usize>> {
    let mut command = python(test, environment)?;
    let folder = tempfile::tempdir().expect("a folder");
    let mut expected = Vec::new();
    for seed in 0..20 {
        for (name, bytes) in examples::messages(seed) {
            let message = decode(&bytes).expect("an example");
            let file = format!("{seed}-{name}-{}", expected.len());
            if message.schema().is_written() {
                std::fs::write(folder.path().join(&file), &bytes).expect("a message is written");
                expected.push(Value::from(vec![Value::from(file), message.to_json()]));
            }
        }
    }
    let expectation = serde_json::to_vec(&expected).expect("JSON");
    std::fs::write(folder.path().join("expected.json"), expectation).expect("the expectation is written");
    let counts = run(command.arg("read").arg(folder.path()));
    Some(serde_json::from_str(&counts).expect("counts by schema"))
}

#[test]
fn the_library_of_ess_reads_every_schema_that_we_write_and_it_knows() {
    let test = "the_library_of_ess_reads_every_schema_that_we_write_and_it_knows";
    let Some(counts) = read_by_python(test, ESS) else { return };
    let read: BTreeSet<&str> = counts.keys().map(String::as_str).collect();
    // Those that we write, but for ar51 and the three of ISIS.
    let all = "6s4t al00 answ da00 ep00 ep01 ev42 ev44 f142 f144 hs01 json pl72 se00 tdct wrdn x5f2";
    assert_eq!(read, all.split(' ').collect());
    assert!(counts.values().all(|count| *count >= 20), "{counts:?}");
}

#[test]
fn the_library_of_isis_reads_every_schema_that_we_write_and_it_knows() {
    let test = "the_library_of_isis_reads_every_schema_that_we_write_and_it_knows";
    let Some(counts) = read_by_python(test, ISIS) else { return };
    let read: BTreeSet<&str> = counts.keys().map(String::as_str).collect();
    let all = "6s4t al00 answ da00 ep01 ev44 f144 hs01 json pl72 pu00 un00 vc00 wrdn x5f2";
    assert_eq!(read, all.split(' ').collect());
    assert!(counts.values().all(|count| *count >= 20), "{counts:?}");
}

/// The schemas of the messages that Python has written, all of which we read as they are.
fn written_by_python(test: &str, environment: &str) -> Option<BTreeSet<String>> {
    let mut command = python(test, environment)?;
    let folder = tempfile::tempdir().expect("a folder");
    run(command.arg("write").arg(folder.path()));
    let expected = std::fs::read(folder.path().join("expected.json")).expect("what is in them");
    let expected: Vec<(String, Value)> = serde_json::from_slice(&expected).expect("names and fields");
    assert!(!expected.is_empty());
    let mut schemas = BTreeSet::new();
    for (name, fields) in expected {
        let bytes = std::fs::read(folder.path().join(&name)).expect("a message");
        let message = decode(&bytes).unwrap_or_else(|refused| panic!("{name}: {refused}"));
        assert_eq!(message.to_json(), fields, "{name}");
        schemas.insert(message.schema().id().to_owned());
    }
    Some(schemas)
}

#[test]
fn what_the_library_of_ess_writes_is_read() {
    let Some(schemas) = written_by_python("what_the_library_of_ess_writes_is_read", ESS) else { return };
    let all = "6s4t ad00 al00 an44 answ da00 ep00 ep01 ev42 ev43 ev44 f142 f144 hs00 hs01 json pl72 se00 senv tdct wrdn x5f2";
    assert_eq!(schemas.iter().map(String::as_str).collect::<BTreeSet<_>>(), all.split(' ').collect());
}

#[test]
fn what_the_library_of_isis_writes_is_read() {
    let Some(schemas) = written_by_python("what_the_library_of_isis_writes_is_read", ISIS) else { return };
    let all = "6s4t ad00 al00 answ da00 ep01 ev44 f144 hs01 json pl72 pu00 un00 vc00 wrdn x5f2";
    assert_eq!(schemas.iter().map(String::as_str).collect::<BTreeSet<_>>(), all.split(' ').collect());
}
