//! Trains over the link: a point whose packets are those of images, which the receiver puts together in memory.
//!
//! Trains are some tens of megabytes, as those of a detector's module are, and follow one another without a pause; they are cut off after
//! whole packets, so that all packets have one size.

use super::program::{PATIENCE, nanoseconds};
use super::reports::{count, json, wrong};
use super::{LinkPoint, MeasureError, MeasuredPoint};
use crate::link::train::SentReport;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Bytes of a train, nearly: 512 images of 128 kB are 67 MB, the largest train of a module.
const TRAIN_BYTES: usize = 64 << 20;
/// Bytes of an image.
const IMAGE_BYTES: usize = 128 << 10;
/// Bytes behind the data of a packet: its frame and its number.
const TRAILER: usize = 8;

/// Bytes of a train in each packet, and packets of a train.
fn structure(point: &LinkPoint) -> (usize, usize) {
    let data = point.size.saturating_sub(TRAILER).max(1);
    (data, (TRAIN_BYTES / data).max(1))
}

/// What both ends must know of trains.
fn structured(command: &mut Command, point: &LinkPoint) {
    let (data, packets) = structure(point);
    // One image more than whole trains have: they are cut off.
    command.args(["--images", &(TRAIN_BYTES / IMAGE_BYTES + 1).to_string()]);
    command.args(["--image-size", &format!("{IMAGE_BYTES}B"), "--packet", &format!("{data}B")]);
    command.args(["--packets-per-train", &packets.to_string()]);
}

/// The receiver: `evforge train receive`, which says when its memory is there.
pub(super) fn receive(command: &mut Command, point: &LinkPoint, at: (IpAddr, usize), idle: Duration) {
    let (address, core) = at;
    command.args(["train", "receive", "--overwrite", "--port", "0", "--address", &address.to_string()]);
    structured(command, point);
    command.args(["--cores", &core.to_string(), "--stride", "0", "--time-out", "1s"]);
    command.args(["--idle", &nanoseconds(idle), "--for", &nanoseconds(point.time + PATIENCE)]);
    command.args(["--buffer", &format!("{}B", point.buffer)]);
}

/// The sender: `evforge train send`.
pub(super) fn send(command: &mut Command, point: &LinkPoint, to: SocketAddr, core: usize) {
    command.args(["train", "send", "--overwrite", "--quiet", "--to", &to.to_string()]);
    structured(command, point);
    command.args(["--cores", &core.to_string(), "--for", &nanoseconds(point.time)]);
    match point.rate {
        Some(rate) => command.args(["--rate", &format!("{rate}pps"), "--pause", "0ns"]),
        // More than any link carries: each train begins when the one before has ended.
        None => command.args(["--frequency", "1000Hz"]),
    };
}

/// Reads the reports of both ends.
pub(super) fn read(sent: &Path, received: &Path) -> Result<MeasuredPoint, MeasureError> {
    let report = SentReport::read(sent).map_err(|problem| wrong(sent, problem))?;
    point(&report, &json(received)?).map_err(|problem| wrong(received, problem))
}

fn point(sent: &SentReport, received: &Value) -> Result<MeasuredPoint, String> {
    let module = sent.modules.first().ok_or("the sender's report has no module")?;
    let datagrams: u64 = module.nodes.iter().map(|node| node.datagrams).sum();
    let count = |name: &str| count(received, &format!("/assembly/{name}"));
    if received["unaccounted"] != 0 {
        return Err("does not account for every packet".to_owned());
    }
    let (all, repeated) = (count("packets_received")?, count("packets_repeated")?);
    let lost = datagrams.saturating_sub(all - repeated.min(all));
    // What found no buffer came, and is of no use.
    let unused = count("packets_without_buffer")?;
    let seconds = module.seconds.max(f64::MIN_POSITIVE);
    let came = (all - repeated.min(all)) as f64 / seconds;
    let mut locations = BTreeMap::new();
    let in_host =
        received.pointer("/lost_in_host/socket buffer").and_then(Value::as_u64).unwrap_or(0).min(lost);
    for (name, packets) in
        [("socket buffer", in_host), ("unlocated", lost - in_host), ("no buffer for the train", unused)]
    {
        if packets > 0 {
            locations.insert(name.to_owned(), packets);
        }
    }
    Ok(MeasuredPoint {
        sent: datagrams,
        received: all - unused,
        lost: lost + unused,
        reordered: count("packets_reordered")?,
        duplicated: repeated,
        sent_per_second: module.packets_per_second,
        // All came while they were sent, but for what was in the socket's buffer in the end.
        received_per_second: came,
        bits_per_second: 8.0 * count("bytes_received")? as f64 / seconds,
        locations,
        ..MeasuredPoint::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::train::{SentModule, SentNode};
    use serde_json::json;

    fn sent(datagrams: u64) -> SentReport {
        let address = SocketAddr::from(([127, 0, 0, 1], 9200));
        let node = SentNode {
            destination: address,
            source: address,
            datagrams,
            datagram_bytes: 0,
            refused: 0,
            dropped: 0,
        };
        let module = SentModule {
            module: 0,
            images: 513,
            image_bytes: IMAGE_BYTES,
            data_bytes: 8184,
            packets_per_train: 8200,
            first_train: 1,
            stride: 1,
            first_frame: 1,
            counters: BTreeMap::new(),
            nodes: vec![node],
            seconds: 2.0,
            packets_per_second: datagrams as f64 / 2.0,
            bits_per_second: 0.0,
            is_too_slow: false,
            lateness: None,
        };
        SentReport { modules: vec![module], ..SentReport::default() }
    }

    fn received(packets: u64, repeated: u64, without_buffer: u64) -> Value {
        json!({
            "unaccounted": 0,
            "lost_in_host": {"socket buffer": 3},
            "assembly": {"packets_received": packets, "packets_repeated": repeated, "packets_reordered": 1,
                "packets_without_buffer": without_buffer, "bytes_received": 8192 * packets},
        })
    }

    #[test]
    fn what_did_not_come_and_what_found_no_buffer_is_lost() {
        let whole = point(&sent(100), &received(100, 0, 0)).expect("a point");
        assert!(whole.is_sustained(), "{whole:?}");
        let lossy = point(&sent(100), &received(95, 1, 7)).expect("a point");
        assert_eq!((lossy.sent, lossy.lost, lossy.received, lossy.duplicated), (100, 13, 88, 1));
        assert_eq!(lossy.sent + lossy.duplicated, lossy.received + lossy.lost);
        assert_eq!(lossy.locations.values().sum::<u64>(), lossy.lost);
        assert!(!lossy.is_whole());
    }

    #[test]
    fn a_report_that_does_not_account_for_every_packet_is_refused() {
        let mut report = received(1, 0, 0);
        report["unaccounted"] = 2.into();
        assert!(point(&sent(1), &report).unwrap_err().contains("does not account"));
        assert!(point(&sent(1), &json!({"unaccounted": 0})).unwrap_err().contains("packets_received"));
    }
}
