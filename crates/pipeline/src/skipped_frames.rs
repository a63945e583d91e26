//! What of a capture did not become packets, or not whole ones: named in the report, and a fault of the input where data are lost.

use crate::figures::grouped;
use evforge_core::counter::{CounterSet, CounterSnapshot};
use evforge_net::capture::CaptureCounters;

/// What frames of a counter are, for people, and what helps if data are lost with them.
struct Kind {
    counter: &'static str,
    what: &'static str,
    /// None where the frames are somebody else's.
    loses_data: Option<&'static str>,
}

const SNAP_LENGTH: &str = "record whole packets (tcpdump -s 0, dumpcap -s 0, evforge record)";

/// The counters in the order of the report.
const KINDS: [Kind; 9] = [
    Kind {
        counter: "fragments",
        what: "fragments of UDP packets, which a capture does not join",
        loses_data: Some(
            "let the packets fit the MTU of all links on the way (9000 for jumbo frames), or record behind the \
             reassembly with evforge record",
        ),
    },
    Kind {
        counter: "headers_cut",
        what: "cut before their data by the snap length",
        loses_data: Some(SNAP_LENGTH),
    },
    Kind {
        counter: "unknown_link",
        what: "of a kind of interface that evforge does not read",
        loses_data: Some("record at an Ethernet interface, or at all of them (-i any)"),
    },
    Kind {
        counter: "unknown_interface",
        what: "of an interface that the capture does not describe",
        loses_data: Some("the capture is damaged: record it again, or repair it with editcap"),
    },
    Kind {
        counter: "obsolete",
        what: "in blocks of an obsolete form",
        loses_data: Some("write the capture again with editcap -F pcapng"),
    },
    Kind { counter: "malformed", what: "with malformed headers", loses_data: None },
    Kind { counter: "other_port", what: "of UDP to another port than the one asked for", loses_data: None },
    Kind { counter: "not_udp", what: "of IP, but not UDP", loses_data: None },
    Kind { counter: "not_ip", what: "that are not IP", loses_data: None },
];

/// A line of the report for each kind of frames that did not become packets.
pub(crate) fn lines(stages: &[(&'static str, CounterSnapshot)]) -> Vec<String> {
    let Some(counters) = of_capture(stages) else { return Vec::new() };
    let line = |kind: &Kind| {
        let count = counters.value(kind.counter).filter(|&count| count > 0)?;
        Some(format!("{} frames of the capture: {}", grouped(count), kind.what))
    };
    let cut = counters.value("cut").filter(|&count| count > 0);
    let cut = cut.map(|count| format!("{} packets cut by the snap length of the capture", grouped(count)));
    KINDS.iter().filter_map(line).chain(cut).collect()
}

/// What of this lost data, with what helps against it.
pub fn alarms(stages: &[(&'static str, CounterSnapshot)]) -> Vec<String> {
    let Some(counters) = of_capture(stages) else { return Vec::new() };
    let all = grouped(counters.value("frames").unwrap_or(0));
    let alarm = |kind: &Kind| {
        let count = counters.value(kind.counter).filter(|&count| count > 0)?;
        let help = kind.loses_data?;
        Some(format!(
            "{} of {all} frames of the capture were not read: {}; {help}",
            grouped(count),
            kind.what
        ))
    };
    let cut = counters.value("cut").filter(|&count| count > 0).map(|count| {
        let count = grouped(count);
        format!("{count} of {all} packets of the capture are cut by its snap length: {SNAP_LENGTH}")
    });
    KINDS.iter().filter_map(alarm).chain(cut).collect()
}

fn of_capture<'a>(stages: &'a [(&'static str, CounterSnapshot)]) -> Option<&'a CounterSnapshot> {
    stages.iter().find(|(stage, _)| *stage == CaptureCounters::STAGE).map(|(_, counters)| counters)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is skipped is named; only what is ours is an alarm.
    #[test]
    fn every_reason_to_skip_a_frame_is_named() {
        let counters = CaptureCounters {
            frames: 28,
            other_port: 1,
            not_ip: 2,
            not_udp: 3,
            fragments: 4,
            headers_cut: 5,
            malformed: 6,
            unknown_link: 1,
            unknown_interface: 2,
            obsolete: 3,
            cut: 1,
            packets: 1,
            ..CaptureCounters::default()
        };
        let stages = [(CaptureCounters::STAGE, CounterSnapshot::of(&counters))];
        let sum: u64 = lines(&stages)
            .iter()
            .filter(|line| line.contains("frames"))
            .map(|line| line.split(' ').next().and_then(|count| count.parse::<u64>().ok()).unwrap())
            .sum();
        assert_eq!(sum, counters.skipped(), "a reason without a line");
        let alarms = alarms(&stages);
        assert_eq!(alarms.len(), 6, "{alarms:?}");
        assert!(
            alarms[0].starts_with("4 of 28 frames of the capture were not read: fragments of UDP packets")
        );
        assert!(
            alarms[5].starts_with("1 of 28 packets of the capture are cut by its snap length: record whole")
        );
        assert!(lines(&[("dump", CounterSnapshot::default())]).is_empty());
    }
}
