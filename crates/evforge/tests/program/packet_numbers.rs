//! Damaged packet numbers and real outages, as the program reports them.

use crate::common::{PROGRAM, evforge, text, workspace};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The payloads of a simulated Gd-GEM, whose first four bytes are the number of the packet, the highest first.
fn simulated(folder: &Path) -> Vec<Vec<u8>> {
    let path = folder.join("simulated.pkts");
    let config = workspace().join("configs/gdgem-srs.toml");
    let [path_text, config] = [&path, &config].map(|path| path.to_str().expect("text"));
    evforge(&["simulate", "--config", config, "--pulses", "20", "--output", path_text]);
    let bytes = std::fs::read(&path).expect("the capture");
    let (mut rest, mut payloads) = (&bytes[..], Vec::new());
    while let Some((length, more)) = rest.split_first_chunk::<4>() {
        let (payload, more) = more.split_at(u32::from_le_bytes(*length) as usize);
        payloads.push(payload.to_vec());
        rest = more;
    }
    assert!(payloads.len() > 50, "only {} packets", payloads.len());
    payloads
}

/// Runs the program over the payloads; gives its report's stream, what it prints, and the events.
fn run(folder: &Path, payloads: &[Vec<u8>], further: &[&str]) -> (Value, String, String) {
    let file = |name: &str| folder.join(name).to_str().expect("text").to_owned();
    let capture: Vec<u8> = payloads
        .iter()
        .flat_map(|payload| [&(payload.len() as u32).to_le_bytes()[..], payload].concat())
        .collect();
    std::fs::write(file("numbers.pkts"), capture).expect("a capture");
    let config = workspace().join("configs/gdgem-srs.toml");
    let output = Command::new(PROGRAM)
        .args([
            "run",
            "--overwrite",
            "--config",
            config.to_str().expect("text"),
            "--input",
            &file("numbers.pkts"),
        ])
        .args(["--events", &file("events.csv"), "--report", &file("report.json")])
        .args(further)
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: Value =
        serde_json::from_slice(&std::fs::read(file("report.json")).expect("a report")).expect("JSON");
    let events = std::fs::read_to_string(file("events.csv")).expect("events");
    (report["streams"][0].clone(), text(&output.stdout), events)
}

fn number(stream: &Value, pointer: &str) -> u64 {
    stream.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {pointer} in {stream:#}"))
}

/// What the numbers say: sent, received, lost, unconfirmed, restarts; and that nothing else is wrong.
fn figures(stream: &Value) -> [u64; 5] {
    assert_eq!(number(stream, "/unaccounted"), 0, "{stream:#}");
    ["sent", "received", "lost", "unconfirmed", "restarts"]
        .map(|figure| number(stream, &format!("/packets/{figure}")))
}

#[test]
fn a_flipped_bit_in_a_packet_number_loses_nothing_and_changes_no_event() {
    let folder = tempfile::tempdir().expect("a folder");
    let payloads = simulated(folder.path());
    let count = payloads.len() as u64;
    let (sound, _, events) = run(folder.path(), &payloads, &[]);
    assert_eq!(figures(&sound), [count, count, 0, 0, 0]);
    for at in [0, 1, payloads.len() / 2, payloads.len() - 2, payloads.len() - 1] {
        // 65 536 packets ahead (or behind), and more than 2^20.
        for (byte, bit) in [(1, 0x01), (0, 0x80)] {
            let mut damaged = payloads.clone();
            damaged[at][byte] ^= bit;
            let (stream, printed, found) = run(folder.path(), &damaged, &[]);
            assert_eq!(figures(&stream), [count, count, 0, 1, 0], "packet {at}, byte {byte}: {stream:#}");
            assert!(printed.contains("with an unconfirmed number 1"), "{printed}");
            for source in stream["sources"].as_array().expect("sources") {
                assert_eq!(source["live_fraction"], 1.0, "{source:#}");
                assert_eq!(source["gaps"], Value::Array(Vec::new()), "{source:#}");
            }
            assert_eq!(found, events, "packet {at}, byte {byte}");
        }
    }
}

#[test]
fn a_real_outage_is_lost_in_full_whatever_the_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut payloads = simulated(folder.path());
    let count = payloads.len() as u64;
    let sources = 2;
    let half = payloads.len() / 2;
    for payload in &mut payloads[half..] {
        let number = u32::from_be_bytes(*payload.first_chunk().expect("a number"));
        payload[..4].copy_from_slice(&(number + 70_000).to_be_bytes());
    }
    for limit in ["sequence.confirm=1", "sequence.confirm=1024", "sequence.confirm=100_000"] {
        let (stream, _, _) = run(folder.path(), &payloads, &["--set", limit]);
        let lost = sources * 70_000;
        assert_eq!(stream["sources"].as_array().expect("sources").len() as u64, sources);
        assert_eq!(figures(&stream), [count + lost, count, lost, 0, 0], "{limit}: {stream:#}");
    }
}

#[test]
fn a_limit_that_cannot_be_is_refused() {
    let config = workspace().join("configs/gdgem-srs.toml");
    let check = ["run", "--check", "--set", "sequence.confirm=0", "--config", config.to_str().expect("text")];
    let output = Command::new(PROGRAM).args(check).output().expect("the program starts");
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(said.contains("sequence.confirm: 0 is not in 1..=1048576 packets"), "{said}");
}
