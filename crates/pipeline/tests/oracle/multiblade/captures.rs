//! The captures and the reference's lists, read from the shared reference data.

use evforge_testkit::{pkts_payloads, shared_file, shared_folder, skip};
use std::process::Command;

/// The two captures, with the number of readouts in each.
pub(crate) const CAPTURES: [(&str, usize); 2] = [("recorded_2018", 116_887), ("generated", 209_600)];

/// Payloads of a capture, or none with `test` reported as skipped.
pub(crate) fn payloads(test: &str, name: &str) -> Option<Vec<Vec<u8>>> {
    shared_file(test, &format!("captures/multiblade/{name}.pkts")).map(|bytes| pkts_payloads(&bytes))
}

/// The lines of the reference's list, or none with `test` reported as skipped.
pub(crate) fn reference_lines(test: &str, name: &str) -> Option<Vec<String>> {
    let path = format!("captures/multiblade/{name}.reference_events.txt.gz");
    shared_file(test, &path)?;
    let output = Command::new("gzip").arg("-dc").arg(shared_folder().join(path)).output();
    let output = match output {
        Ok(output) if output.status.success() => output.stdout,
        _ => {
            skip(test, "gzip, which unpacks the reference's list");
            return None;
        }
    };
    let text = String::from_utf8(output).expect("the reference list is text");
    Some(text.lines().map(str::to_owned).collect())
}
