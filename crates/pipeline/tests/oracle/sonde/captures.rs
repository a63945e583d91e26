//! The capture and the reference's event list, read from the shared reference data.

use evforge_testkit::{pkts_payloads, shared_file, shared_folder};
use std::process::Command;

/// Payloads of the generated capture, or none with `test` reported as skipped.
pub(crate) fn generated(test: &str) -> Option<Vec<Vec<u8>>> {
    shared_file(test, "captures/sonde/generated_255.pkts").map(|bytes| pkts_payloads(&bytes))
}

/// (time, pixel) of the reference's events, in its order, or none with `test` reported as skipped.
pub(crate) fn reference_events(test: &str) -> Option<Vec<(u64, u32)>> {
    let path = "captures/sonde/generated_255.reference_events.txt.gz";
    shared_file(test, path)?;
    let output = Command::new("gzip").arg("-dc").arg(shared_folder().join(path)).output();
    let output = match output {
        Ok(output) if output.status.success() => output.stdout,
        _ => {
            evforge_testkit::skip(test, "gzip, which unpacks the reference's list");
            return None;
        }
    };
    let text = String::from_utf8(output).expect("the reference list is text");
    let event = |line: &str| {
        let (time, pixel) = line.split_once(' ').expect("a time and a pixel");
        (time.parse().expect("a time"), pixel.trim().parse().expect("a pixel"))
    };
    Some(text.lines().map(event).collect())
}
