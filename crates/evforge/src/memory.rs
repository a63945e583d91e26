//! How much memory a run takes at most, as `run --check` says: resident memory of the process, whatever comes.
//!
//! What grows with the data has its limit where it is made, and says it (`memory_bound` of detectors, outputs, queues). The rest does
//! not depend on the data: the program and its libraries as they are mapped, the stacks of threads, what every run has, and what the
//! allocator of the C library cannot use. `tests/memory` holds real runs with hostile streams against the sum.

use crate::outputs::OutputPlans;
use evforge_config::Config;
use evforge_control::command_port::SEATS;
use evforge_core::detector::Detector;
use evforge_core::event::EventBatch;
use evforge_core::get_size2::GetSize;
use evforge_core::monitor::MonitorData;
use evforge_core::seats::LEAVING;
use evforge_core::whole_file;
use evforge_net::live_receiver::ReceiveMethod;
use evforge_outputs::OutputContext;
use evforge_pipeline::{file_packets_bound, live_packets_bound};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// Bytes of a stack that a thread touches, with its part of the allocator: most were measured to take below 100 kB.
const STACK: u64 = 256 << 10;
/// Threads of a run without outputs: forming, counters of the host, the log and GELF, the recorder and who closes its files, averaged
/// waveforms, signals, and some of the start.
const OWN_THREADS: u64 = 12;
/// Threads of the command port: one for each connection.
const COMMAND_THREADS: u64 = (1 + SEATS.most + LEAVING) as u64;
/// What every run has on the heap: configuration, counters and their help, ledgers, the report and its JSON, tables of the resolver. 9 MB
/// were measured.
const EVERY_RUN: u64 = 24 << 20;
/// Libraries that are loaded while a run goes on: those of the resolver.
const LATER_LIBRARIES: u64 = 4 << 20;
/// The allocator keeps a place for what was freed, and something with each piece: an eighth of all of it.
const ALLOCATOR: u64 = 8;
/// Bytes of a queue of AF_XDP for each frame, and its rings.
const XDP_FRAME: u64 = 4096 + 64;
/// Copies of monitor data: the detector's, the newest one for others, the one before, and those that are being written as JSON.
const MONITOR_COPIES: u64 = 5;

/// What takes memory, and how much at most.
struct Part {
    what: String,
    bytes: u64,
    /// Whether it comes from the allocator.
    is_heap: bool,
}

/// The parts of the memory of a run.
pub(crate) struct MemoryBound {
    parts: Vec<Part>,
}

impl MemoryBound {
    /// Of a run with this configuration and these outputs. `record` is what may wait for a recording, in bytes, if there is one.
    pub(crate) fn new(
        config: &Config,
        detector: &mut dyn Detector,
        plans: &OutputPlans,
        context: &OutputContext,
        record: Option<u64>,
    ) -> Self {
        let mut parts = Vec::new();
        let mut heap =
            |what: &str, bytes: u64| parts.push(Part { what: what.to_owned(), bytes, is_heap: true });
        let batch = EventBatch::new(config.input.events_per_batch).get_heap_size();
        heap("forming events", detector.memory_bound() as u64);
        let packets = live_packets_bound(config).max(file_packets_bound(&config.input));
        // The batch that is filled, and that as outputs get it.
        heap("packets and events on their way", (packets + 3 * batch) as u64);
        for (id, bytes) in plans.memory_bounds(context) {
            // What its queue does not count: the batch that it has in its hands, and the one that always has room.
            heap(&format!("output {id}"), bytes + 2 * batch as u64);
        }
        if plans.collect_monitor_data() {
            detector.set_monitoring(true);
            let data = detector.monitor().map_or(0, MonitorData::get_size) as u64;
            let json = detector.monitor().map_or(0, MonitorData::json_bound) as u64;
            heap("monitor data", MONITOR_COPIES * data + 3 * json);
            detector.set_monitoring(false);
        }
        if let Some(bytes) = record {
            heap("recording", bytes);
        }
        heap("every run", EVERY_RUN);
        let sum: u64 = parts.iter().map(|part| part.bytes).sum();
        let mut fixed = |what: &str, bytes| parts.push(Part { what: what.into(), bytes, is_heap: false });
        fixed("what the allocator keeps", sum / ALLOCATOR);
        fixed("AF_XDP", xdp(config));
        let commands = u64::from(config.control.command_port.is_some()) * COMMAND_THREADS;
        let threads = OWN_THREADS + commands + config.threads.receive.count as u64 + plans.threads() as u64;
        fixed("stacks of threads", threads * STACK);
        fixed("program and libraries", mapped().unwrap_or(256 << 20) + LATER_LIBRARIES);
        parts.retain(|part| part.bytes > 0);
        Self { parts }
    }

    /// All of it, in bytes.
    pub(crate) fn total(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).fold(0, u64::saturating_add)
    }

    /// Lines for people: the sum, then each part.
    pub(crate) fn text(&self) -> String {
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        let mut text =
            format!("memory bound  {:.1} MB resident at most, whatever comes:\n", megabytes(self.total()));
        for Part { what, bytes, .. } in &self.parts {
            let _ = writeln!(text, "{:14}{:9.1} MB  {what}", "", megabytes(*bytes));
        }
        text
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let part = |part: &Part| json!({ "part": part.what, "bytes": part.bytes, "heap": part.is_heap });
        json!({ "total_bytes": self.total(), "parts": self.parts.iter().map(part).collect::<Vec<_>>() })
    }
}

/// What the queues of AF_XDP lock, where packets can come that way.
fn xdp(config: &Config) -> u64 {
    let receive = &config.receive;
    if receive.interface.is_none() || receive.method == ReceiveMethod::Socket {
        return 0;
    }
    // Without a list of queues: all of them, and cards have one for each core if nobody says another number.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let queues = receive.queues.as_ref().map_or(cores, Vec::len);
    queues as u64 * u64::from(receive.ring) * XDP_FRAME
}

/// Bytes of all files that are mapped into this process: more of them cannot be resident.
fn mapped() -> Option<u64> {
    let maps = whole_file::text(Path::new("/proc/self/maps"), whole_file::SETTINGS).ok()?;
    let of_line = |line: &str| {
        let (range, rest) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let is_file = rest.split_whitespace().nth(4).is_some_and(|name| name.starts_with('/'));
        let [from, to] = [from, to].map(|address| u64::from_str_radix(address, 16).ok());
        is_file.then_some(to? - from?)
    };
    Some(maps.lines().filter_map(of_line).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_mapped_and_what_is_not_a_file_is_not_counted() {
        let own = std::env::current_exe().and_then(std::fs::metadata).unwrap().len();
        let mapped = mapped().unwrap();
        // Without what a debugger reads, with the libraries.
        assert!(mapped > 1 << 20 && mapped < own + (256 << 20), "{mapped} of {own}");
    }

    #[test]
    fn the_sum_is_that_of_the_parts() {
        let part = |what: &str, bytes| Part { what: what.into(), bytes, is_heap: true };
        let bound = MemoryBound { parts: vec![part("a", 1_500_000), part("b", 250_000)] };
        assert_eq!(bound.json()["total_bytes"], 1_750_000);
        let text = bound.text();
        assert!(text.starts_with("memory bound  1.8 MB") && text.contains("1.5 MB  a\n"), "{text}");
    }
}
