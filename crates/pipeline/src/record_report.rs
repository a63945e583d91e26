//! What a recording reports at its end: as JSON for programs and as text for people.

use crate::figures::{counters_json, grouped, listed, scaled};
use evforge_core::counter::CounterSnapshot;
use evforge_core::run_state::REPORT_SCHEMA;
use evforge_net::kernel_counters::KernelCounters;
use evforge_net::live_receiver::ReceiveLosses;
use evforge_net::losses::{self, LossBreakdown, LossCounts, LossLine, LossLocation};
use evforge_net::record::{InletCounts, RECORD_QUEUE, RecordedFile, Recording};
use evforge_net::socket::ReceiverCounters;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

/// How a recording ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordEnding {
    /// A person or the system asked for it.
    Stopped,
    /// A port could not be received from any more.
    InputFailed(String),
    /// Its files could not be written; the recording says why.
    WritingFailed,
}

/// One port of a recording.
#[derive(Clone, Debug)]
pub struct PortReport {
    /// Local address and port; by AF_XDP one receiver has all ports.
    pub addresses: Vec<SocketAddr>,
    /// What was received.
    pub receiver: ReceiverCounters,
    /// What was lost on this host before it could be received.
    pub losses: ReceiveLosses,
    /// What was wrong with receiving, in whole sentences.
    pub alarms: Vec<String>,
    /// What was handed to the recorder, and dropped by its queue.
    pub recorder: InletCounts,
    /// Why nothing could be received any more, if that happened.
    pub failure: Option<String>,
}

/// Everything that is known at the end of a recording.
#[derive(Clone, Debug)]
pub struct RecordReport {
    /// How long it was received.
    pub elapsed: Duration,
    /// How it ended.
    pub ending: RecordEnding,
    /// The ports.
    pub ports: Vec<PortReport>,
    /// What was written.
    pub recording: Recording,
    /// What the kernel counted meanwhile, for the whole host.
    pub kernel: KernelCounters,
}

impl RecordReport {
    /// True if receiving and writing went on to the end without interruption and nothing is unaccounted for. Losses
    /// in sockets and queues, which are in the report, are no failure of the command.
    pub fn is_success(&self) -> bool {
        self.ending == RecordEnding::Stopped
            && self.recording.is_whole()
            && self.unaccounted() == 0
            && self.ports.iter().all(|port| port.alarms.is_empty())
    }

    /// True if there was anything to record.
    pub fn has_packets(&self) -> bool {
        self.ports.iter().any(|port| port.receiver.packets > 0)
    }

    /// Packets received less those written, dropped and not written, and packets that the ports have received less
    /// those that the recorder was handed: 0, or packets were lost without being counted.
    pub fn unaccounted(&self) -> i128 {
        let of_ports: u64 = self.ports.iter().map(|port| port.receiver.packets).sum();
        let handed: u64 = self.ports.iter().map(|port| port.recorder.received).sum();
        self.recording.counters.unaccounted() + i128::from(of_ports) - i128::from(handed)
    }

    /// Datagrams that the sockets dropped, and whether that is a lower bound.
    fn lost_in_sockets(&self) -> (u64, bool) {
        let count = self.ports.iter().map(|port| port.losses.socket.count).sum();
        (count, count > 0 && self.ports.iter().any(|port| port.losses.socket.is_lower_bound))
    }

    /// Where packets were lost that reached this host. Packets that are recorded need not carry numbers: how many are missing
    /// is not known.
    pub fn losses(&self) -> LossBreakdown {
        let mut receiver = ReceiveLosses::default();
        self.ports.iter().for_each(|port| receiver.add(&port.losses));
        let mut losses = losses::join(&LossCounts { receiver, ..LossCounts::default() });
        losses.add(LossLocation::RecordQueue, self.recording.counters.record_dropped, false);
        losses
    }

    /// The report as JSON.
    pub fn to_json(&self) -> Value {
        let (ending, error) = match &self.ending {
            RecordEnding::Stopped => ("stopped", None),
            RecordEnding::InputFailed(error) => ("input failed", Some(error.as_str())),
            RecordEnding::WritingFailed => ("writing failed", self.recording.failure.as_deref()),
        };
        let (socket, is_lower_bound) = self.lost_in_sockets();
        let ports = self.ports.iter().map(|port| {
            let mut json = counters_json(&CounterSnapshot::of(&port.receiver));
            json["address"] = json!(listed(&port.addresses));
            json["lost_in_socket_buffer"] = json!(port.losses.socket.count);
            json["lost_in_socket_buffer_is_lower_bound"] = json!(port.losses.socket.is_lower_bound);
            json["alarms"] = json!(port.alarms);
            json["dropped_by_record_queue"] = json!(port.recorder.dropped);
            json["failure"] = json!(port.failure);
            json
        });
        let mut report = json!({
            "evforge": env!("CARGO_PKG_VERSION"),
            "schema": REPORT_SCHEMA,
            "ending": ending,
            "error": error,
            "elapsed_s": self.elapsed.as_secs_f64(),
            "busy_s": self.busy_seconds(),
            "ports": ports.collect::<Vec<_>>(),
            "kernel": counters_json(&CounterSnapshot::of(&self.kernel)),
        });
        let recording = recording_json(&self.recording);
        report["packets"] = recording["packets"].clone();
        losses::add_to_json(&self.losses(), &mut report["packets"]);
        report["packets"]["unaccounted"] = json!(self.unaccounted() as i64);
        report["packets"]["lost_in_socket_buffer"] = json!(socket);
        report["packets"]["lost_in_socket_buffer_is_lower_bound"] = json!(is_lower_bound);
        // Those two are there without losses as well.
        for (place, packets) in [
            (LossLocation::SocketBuffer, if is_lower_bound { 0 } else { socket }),
            (LossLocation::RecordQueue, self.recording.counters.record_dropped),
        ] {
            losses::set_in_json(place, packets, &mut report["packets"]);
        }
        report["interruption"] = recording["interruption"].clone();
        report["bytes"] = recording["bytes"].clone();
        report["files"] = recording["files"].clone();
        report
    }

    /// Seconds between the first and the last packet that were written, which rates are of: a recording may have waited
    /// for the first one, and after the last. The whole time, if there are no two.
    fn busy_seconds(&self) -> f64 {
        let written = self.recording.files.iter().filter(|file| file.packets > 0);
        let first = written.clone().map(|file| file.first_ns).min();
        let last = written.map(|file| file.last_ns).max();
        let busy = first.zip(last).map(|(first, last)| last.saturating_sub(first) as f64 / 1e9);
        busy.filter(|&seconds| seconds > 0.0).unwrap_or(self.elapsed.as_secs_f64()).max(1e-9)
    }

    /// The report as text of some ten lines.
    pub fn to_text(&self) -> String {
        let (seconds, busy) = (self.elapsed.as_secs_f64(), self.busy_seconds());
        let mut text = String::new();
        let mut line = |name: &str, content: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<13} {content}");
        };
        match &self.ending {
            RecordEnding::Stopped => line("ended", format!("stopped on request after {seconds:.3} s")),
            RecordEnding::InputFailed(error) => line("ended", format!("INPUT FAILED: {error}")),
            RecordEnding::WritingFailed => line("ended", format!("WRITING FAILED after {seconds:.3} s")),
        }
        let counters = &self.recording.counters;
        for port in &self.ports {
            line("port", format!("{}: {} packets", listed(&port.addresses), grouped(port.receiver.packets)));
            if port.receiver.cut > 0 {
                line(
                    "ALARM",
                    format!("{} packets are cut: they are longer than --largest", port.receiver.cut),
                );
            }
            for alarm in &port.alarms {
                line("ALARM", alarm.clone());
            }
        }
        line(
            "received",
            format!(
                "{} packets, {} bytes in {busy:.3} s ({} packets/s, {}bit/s)",
                grouped(counters.record_received),
                grouped(counters.record_received_bytes),
                scaled(counters.record_received as f64 / busy),
                scaled(counters.record_received_bytes as f64 * 8.0 / busy),
            ),
        );
        for (name, content) in recording_lines(&self.recording) {
            line(name, content);
        }
        let losses = self.losses();
        if losses.at(LossLocation::SocketBuffer) == 0 {
            line("lost", "0 in the socket buffer".to_owned());
        }
        for LossLine { title, packets, location } in losses.lines() {
            line(title, format!("{} {location}", grouped(packets)));
        }
        line("unaccounted", self.unaccounted().to_string());
        text
    }
}

/// A recording as JSON: packets, bytes and files.
pub(crate) fn recording_json(recording: &Recording) -> Value {
    let counters = &recording.counters;
    json!({
        "packets": {
            "received": counters.record_received,
            "written": counters.record_written,
            "dropped": counters.record_dropped,
            "dropped_slabs": counters.record_dropped_slabs,
            "not_written": counters.record_not_written,
            "unaccounted": counters.unaccounted() as i64,
            "locations": {RECORD_QUEUE: counters.record_dropped},
            "places": {RECORD_QUEUE: counters.record_dropped},
        },
        "bytes": {
            "received": counters.record_received_bytes,
            "written": counters.record_written_bytes,
            "dropped": counters.record_dropped_bytes,
            "files": counters.record_file_bytes,
        },
        "files": recording.files.iter().map(file_json).collect::<Vec<_>>(),
        "failure": recording.failure,
        "interruption": recording.interruption,
    })
}

fn file_json(file: &RecordedFile) -> Value {
    json!({
        "name": file.path.display().to_string(),
        "packets": file.packets,
        "payload_bytes": file.payload_bytes,
        "file_bytes": file.file_bytes,
        "first_ns": file.first_ns,
        "last_ns": file.last_ns,
        "complete": file.complete,
    })
}

/// What was written, dropped and not written, for people. Each line with its title.
pub(crate) fn recording_lines(recording: &Recording) -> Vec<(&'static str, String)> {
    let counters = &recording.counters;
    let files = match &recording.files[..] {
        [file] => file.path.display().to_string(),
        [first, .., last] => {
            format!("{} files, {} to {}", recording.files.len(), first.path.display(), last.path.display())
        }
        [] => "no file".to_owned(),
    };
    let written = grouped(counters.record_written);
    let bytes = grouped(counters.record_file_bytes);
    let mut lines = vec![("recorded", format!("{written} packets in {files} ({bytes} bytes)"))];
    if counters.record_dropped > 0 {
        lines.push((
            "ALARM",
            format!(
                "{} packets ({} bytes) dropped in the {RECORD_QUEUE}: the disk, or a busy core, is too slow",
                grouped(counters.record_dropped),
                grouped(counters.record_dropped_bytes)
            ),
        ));
    }
    let reasons: Vec<&str> =
        recording.interruption.iter().chain(&recording.failure).map(String::as_str).collect();
    if !reasons.is_empty() || counters.record_not_written > 0 {
        let missed = grouped(counters.record_not_written);
        lines.push(("ALARM", format!("{} {missed} packets were not written.", reasons.join(" "))));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_net::record::RecordCounters;
    use evforge_net::socket::SocketDrops;

    /// A recording of two ports that have lost so much.
    fn report(losses: [ReceiveLosses; 2], dropped: u64) -> RecordReport {
        let port = |losses| PortReport {
            addresses: Vec::new(),
            receiver: ReceiverCounters::default(),
            losses,
            alarms: Vec::new(),
            recorder: InletCounts::default(),
            failure: None,
        };
        let counters = RecordCounters { record_dropped: dropped, ..RecordCounters::default() };
        RecordReport {
            elapsed: Duration::from_secs(1),
            ending: RecordEnding::Stopped,
            ports: losses.map(port).into(),
            recording: Recording { counters, ..Recording::default() },
            kernel: KernelCounters::default(),
        }
    }

    fn of_socket(count: u64, is_lower_bound: bool) -> ReceiveLosses {
        ReceiveLosses { socket: SocketDrops { count, is_lower_bound }, ..ReceiveLosses::default() }
    }

    #[test]
    fn losses_of_all_ports_and_of_the_queue_are_told_in_json_and_in_words() {
        let xdp = ReceiveLosses { xdp_ring: 5, frame_checks: 2, ..of_socket(1, false) };
        let report = report([of_socket(3, false), xdp], 9);
        let json = report.to_json();
        let packets = &json["packets"];
        let expected = json!({ "AF_XDP ring": 5, "frame checks": 2, "socket buffer": 4, RECORD_QUEUE: 9 });
        assert_eq!((&packets["locations"], &packets["inferred_locations"]), (&expected, &json!({})));
        assert_eq!((&packets["unlocated"], &packets["lost_in_socket_buffer"]), (&json!(0), &json!(4)));
        let text = report.to_text();
        for line in ["4 in the socket buffer", "5 in the AF_XDP ring", "9 in the record queue"] {
            assert!(text.contains(&format!("lost          {line}\n")), "no {line} in:\n{text}");
        }
    }

    #[test]
    fn a_count_of_pieces_is_inferred_and_none_is_told_as_well() {
        let pieces = report([of_socket(3, true), of_socket(0, true)], 0);
        let packets = &pieces.to_json()["packets"];
        assert_eq!(packets["inferred_locations"], json!({ "socket buffer": 3 }));
        assert_eq!(packets["locations"], json!({ "socket buffer": 0, RECORD_QUEUE: 0 }));
        assert!(pieces.to_text().contains("lost          3 in the socket buffer (inferred, at least: "));
        let nothing = report([ReceiveLosses::default(); 2], 0);
        assert!(nothing.to_text().contains("lost          0 in the socket buffer\n"));
    }
}
