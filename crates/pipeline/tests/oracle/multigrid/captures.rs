//! The Multi-Grid captures with the reference's events.

use super::model::Strategy;
use evforge_testkit::{pkts_payloads, shared_file, shared_folder, skip};
use std::io::Read;

/// A capture.
pub(crate) struct Capture {
    /// Name of its file, without the ending.
    pub(crate) name: &'static str,
    /// Its packets.
    pub(crate) packets: Vec<Vec<u8>>,
}

/// The captures, or none with `test` reported as skipped.
pub(crate) fn captures(test: &str) -> Option<Vec<Capture>> {
    ["recorded_ws1to4", "generated_jumbo"]
        .into_iter()
        .map(|name| {
            let bytes = shared_file(test, &format!("captures/multigrid/{name}.pkts"))?;
            Some(Capture { name, packets: pkts_payloads(&bytes) })
        })
        .collect()
}

/// The (time, pixel) list of the reference, or none with `test` reported as skipped.
pub(crate) fn reference_events(test: &str, capture: &str, strategy: Strategy) -> Option<Vec<(u64, u32)>> {
    let name = format!("captures/multigrid/{capture}.reference_events.{}.txt", strategy.name());
    let mut text = String::new();
    if shared_folder().join(&name).exists() {
        text = String::from_utf8(shared_file(test, &name)?).ok()?;
    } else {
        let packed = shared_file(test, &format!("{name}.gz"))?;
        if let Err(error) = flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text) {
            skip(test, &format!("{name}.gz cannot be unpacked: {error}"));
            return None;
        }
    }
    let events = text.lines().map(|line| {
        let (time, pixel) = line.split_once(' ').expect("time and pixel");
        (time.parse().expect("a time"), pixel.parse().expect("a pixel"))
    });
    Some(events.collect())
}
