//! Reports of senders and receivers, joined to pairs.

use super::{Flow, MeasuredTrains, TimeOfReader, TrainReceiver, TrainSender};
use crate::link::train::{SentModule, SentReport};
use crate::measured_link::reports::{count, number};
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::ops::Range;

/// What all programs have reported.
pub(super) struct Reports<'a> {
    pub sent: &'a [SentReport],
    pub received: &'a [Value],
    /// Where each receiver received.
    pub addresses: &'a [SocketAddr],
    /// Packets that each pair begins with, which are told apart.
    pub warm_up: u64,
}

/// A train that a receiver has looked at packet by packet.
struct FirstTrain {
    frame: u64,
    missing: Vec<Range<u64>>,
    span: u64,
    known: u64,
}

impl Reports<'_> {
    /// All pairs, senders and receivers.
    ///
    /// # Errors
    /// What a report lacks, or what does not fit the others.
    pub(super) fn measured(&self) -> Result<MeasuredTrains, String> {
        let (mut flows, mut senders) = (Vec::new(), Vec::new());
        let mut known = vec![BTreeSet::new(); self.received.len()];
        for (sender, report) in (0..).zip(self.sent) {
            let [module] = report.modules.as_slice() else {
                return Err(format!("sender {sender} reports {} modules, expected 1", report.modules.len()));
            };
            senders.push(of_sender(module, report.losses.sum()));
            for (receiver, address) in (0..).zip(self.addresses) {
                let place = usize::from(receiver);
                let node = module.nodes.iter().position(|node| node.destination == *address);
                let node =
                    node.ok_or_else(|| format!("sender {sender} has nothing of receiver {receiver}"))?;
                known[place].insert(module.nodes[node].source.to_string());
                let flow = Flow { sender, receiver, ..Flow::default() };
                flows.push(self.flow(flow, module, node, &self.received[place])?);
            }
        }
        let receivers = self.received.iter().zip(&known);
        let receivers = receivers.map(|(report, known)| of_receiver(report, known)).collect::<Result<_, _>>();
        Ok(MeasuredTrains { flows, senders, receivers: receivers?, backlog_losses: 0 })
    }

    /// What a sender dealt to its node of this place, and what the receiver says of it.
    fn flow(&self, flow: Flow, module: &SentModule, place: usize, received: &Value) -> Result<Flow, String> {
        let node = &module.nodes[place];
        let frames = frames_of(module, place);
        let of_train = u64::from(module.packets_per_train);
        let packets = of_train * frames.len() as u64;
        let warm_up_packets = self.warm_up.min(packets);
        let flow = Flow {
            trains: frames.len() as u64,
            packets,
            packets_given: node.datagrams,
            warm_up_packets,
            ..flow
        };
        let source = node.source.to_string();
        let Some(source) = sources(received)?.iter().find(|found| found["source"] == source.as_str()) else {
            // Nothing of it came.
            return Ok(Flow { warm_up_missing: warm_up_packets, ..flow });
        };
        let of = |name: &str| count(source, &format!("/counts/{name}"));
        let flow = Flow {
            trains_good: of("trains_good")?,
            trains_rejected: of("trains_rejected")?,
            trains_incomplete: of("trains_incomplete")?,
            packets_in_trains: of("packets_in_trains")?,
            packets_late: of("packets_late")?,
            packets_rejected: of("packets_rejected")?,
            packets_repeated: of("packets_repeated")?,
            ..flow
        };
        let bytes = flow.arrived() as f64 * node.datagram_bytes as f64 / node.datagrams.max(1) as f64;
        let bits_per_second = if module.seconds > 0.0 { 8.0 * bytes / module.seconds } else { 0.0 };
        let warm_up_missing = missing_of_first(&frames, of_train, warm_up_packets, &first_trains(source)?)?;
        Ok(Flow { bits_per_second, warm_up_missing, ..flow })
    }
}

/// Frames that a module has dealt to its node of this place, in their order.
fn frames_of(module: &SentModule, place: usize) -> Vec<u64> {
    let nodes = module.nodes.len() as u64;
    let number = |index: u64| module.first_train.wrapping_add(index.wrapping_mul(module.stride));
    let dealt = (0..module.counter("trains_begun")).filter(|index| number(*index) % nodes == place as u64);
    dealt.map(|index| u64::from(module.first_frame.wrapping_add(index as u32))).collect()
}

/// Packets that are missing of the first ones of a pair.
fn missing_of_first(
    frames: &[u64],
    of_train: u64,
    packets: u64,
    trains: &[FirstTrain],
) -> Result<u64, String> {
    let mut missing = 0;
    for (number, frame) in (0..).zip(frames) {
        let begins = number * of_train;
        if begins >= packets {
            break;
        }
        let end = of_train.min(packets - begins);
        let Some(train) = trains.iter().find(|train| train.frame == *frame) else {
            // None of its packets came: a receiver keeps more trains than these.
            missing += end;
            continue;
        };
        if train.known < end.min(train.span) {
            return Err(format!(
                "does not say which packets of frame {frame} are missing from {} on",
                train.known
            ));
        }
        let holes = train.missing.iter().map(|hole| hole.end.min(end).saturating_sub(hole.start));
        missing += holes.sum::<u64>() + end.saturating_sub(train.span);
    }
    Ok(missing)
}

fn first_trains(source: &Value) -> Result<Vec<FirstTrain>, String> {
    let trains = source["first_trains"].as_array().ok_or("has a source without first_trains")?;
    let train = |train: &Value| {
        let ranges = train["missing"].as_array().ok_or("has a train without missing packets")?;
        let range = |range: &Value| {
            Some(range.get(0).and_then(Value::as_u64)?..range.get(1).and_then(Value::as_u64)?)
        };
        let missing = ranges.iter().map(range).collect::<Option<Vec<_>>>();
        Ok(FirstTrain {
            frame: count(train, "/frame")?,
            missing: missing.ok_or("has a range of packets that is none")?,
            span: count(train, "/span")?,
            known: count(train, "/known")?,
        })
    };
    trains.iter().map(train).collect()
}

fn thread(report: &Value) -> Result<&Value, String> {
    match report["threads"].as_array().map(Vec::as_slice) {
        Some([thread]) => Ok(thread),
        _ => Err("is not of one receiving thread".to_owned()),
    }
}

fn sources(report: &Value) -> Result<&Vec<Value>, String> {
    thread(report)?["sources"].as_array().ok_or_else(|| "has no sources".to_owned())
}

fn of_sender(module: &SentModule, host_losses: u64) -> TrainSender {
    let lateness = module.lateness.map_or((0, 0), |lateness| (lateness.mean_ns, lateness.largest_ns));
    TrainSender {
        trains: module.counter("trains_begun"),
        packets: module.counter("packets_made"),
        packets_given: module.counter("datagrams"),
        seconds: module.seconds,
        bits_per_second: module.bits_per_second,
        mean_lateness_ns: lateness.0 as f64,
        largest_lateness_ns: lateness.1 as f64,
        host_losses,
    }
}

/// A receiver, some of whose sources are senders of this measurement.
fn of_receiver(report: &Value, known: &BTreeSet<String>) -> Result<TrainReceiver, String> {
    if count(report, "/unaccounted")? > 0 {
        return Err("has packets or trains that are unaccounted for".to_owned());
    }
    let packets_of = |counts: &Value| {
        ["packets_in_trains", "packets_late", "packets_rejected", "packets_repeated"]
            .into_iter()
            .map(|name| count(counts, &format!("/{name}")))
            .sum::<Result<u64, String>>()
    };
    let thread = thread(report)?;
    let mut foreign = packets_of(&thread["further_sources"])?;
    for source in sources(report)? {
        let is_known = source["source"].as_str().is_some_and(|name| known.contains(name));
        foreign += if is_known { 0 } else { packets_of(&source["counts"])? };
    }
    let time = match &thread["profile"] {
        Value::Null => None,
        profile => Some(TimeOfReader {
            receiving: number(profile, "/seconds/receiving")?,
            assembling: number(profile, "/seconds/assembling")?,
            housekeeping: number(profile, "/seconds/housekeeping")?,
        }),
    };
    Ok(TrainReceiver {
        packets: count(report, "/assembly/packets_received")?,
        foreign,
        trains_good: count(report, "/assembly/trains_good")?,
        without_buffer: count(report, "/assembly/packets_without_buffer")?,
        socket_losses: count(report, "/lost_in_host/socket buffer")?,
        processor: number(thread, "/processor_s")?,
        time,
        batches: thread.pointer("/profile/batches").and_then(Value::as_u64).unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::train::SentNode;
    use serde_json::json;
    use std::collections::BTreeMap;

    const SOURCES: [&str; 2] = ["10.9.1.1:5000", "10.9.1.1:5001"];
    const ADDRESSES: [&str; 2] = ["10.9.1.3:9200", "10.9.1.4:9200"];

    /// A sender of 4 trains of 17 packets to two receivers.
    fn sent() -> SentReport {
        let node = |place: usize| SentNode {
            destination: ADDRESSES[place].parse().unwrap(),
            source: SOURCES[place].parse().unwrap(),
            datagrams: 34,
            datagram_bytes: 34 * 8192,
            refused: 0,
            dropped: 0,
        };
        let counters = [("trains_begun", 4), ("packets_made", 68), ("datagrams", 68)];
        let module = SentModule {
            module: 0,
            images: 1,
            image_bytes: 131_072,
            data_bytes: 8184,
            packets_per_train: 17,
            first_train: 1,
            stride: 1,
            first_frame: 0,
            counters: counters.map(|(name, value)| (name.to_owned(), value)).into(),
            nodes: vec![node(0), node(1)],
            seconds: 1.0,
            packets_per_second: 68.0,
            bits_per_second: 68.0 * 65536.0,
            is_too_slow: false,
            lateness: None,
        };
        SentReport { modules: vec![module], ..SentReport::default() }
    }

    /// A receiver's report of two trains with these frames, the first with these packets missing.
    fn received(source: &str, frames: [u64; 2], missing: &[[u64; 2]]) -> Value {
        let lost: u64 = missing.iter().map(|[start, end]| end - start).sum();
        let good = 2 - u64::from(lost > 0);
        let counts = json!({"trains_good": good, "trains_rejected": 0, "trains_incomplete": 2 - good,
            "packets_in_trains": 34 - lost, "packets_repeated": 0, "packets_late": 0, "packets_rejected": 0});
        let none: BTreeMap<&str, u64> =
            counts.as_object().unwrap().keys().map(|name| (name.as_str(), 0)).collect();
        let first = |frame: u64, missing: &[[u64; 2]]| {
            let lost: u64 = missing.iter().map(|[start, end]| end - start).sum();
            json!({"frame": frame, "packets": 17 - lost, "span": 17, "missing": missing, "known": 17})
        };
        json!({
            "unaccounted": 0,
            "assembly": {"packets_received": 34 - lost, "trains_good": good, "packets_without_buffer": 0},
            "lost_in_host": {"socket buffer": lost},
            "threads": [{
                "processor_s": 0.001,
                "profile": {"seconds": {"receiving": 0.9, "assembling": 0.05, "housekeeping": 0.05}, "batches": 7},
                "sources": [{"source": source, "counts": counts, "first_trains": [first(frames[0], missing), first(frames[1], &[])]}],
                "further_sources": none,
            }],
        })
    }

    fn measured(received: &[Value], warm_up: u64) -> Result<MeasuredTrains, String> {
        let addresses = ADDRESSES.map(|address| address.parse().unwrap());
        Reports { sent: &[sent()], received, addresses: &addresses, warm_up }.measured()
    }

    #[test]
    fn trains_are_dealt_by_their_numbers_and_losses_told_apart_by_their_place() {
        // Trains 1 to 4 are dealt in turn: 2 and 4 to the first node, which are frames 1 and 3.
        let reports = [received(SOURCES[0], [1, 3], &[[3, 5], [16, 17]]), received(SOURCES[1], [0, 2], &[])];
        let of = |warm_up| {
            let measured = measured(&reports, warm_up).expect("pairs");
            assert_eq!(measured.imbalance(), None);
            measured.flows[0]
        };
        let flow = of(10);
        assert_eq!((flow.packets, flow.missing(), flow.lost(), flow.trains_good), (34, 3, 3, 1));
        assert_eq!((flow.warm_up_missing, flow.later_missing(), of(17).warm_up_missing), (2, 1, 3));
        assert_eq!((of(4).warm_up_missing, of(1000).warm_up_packets), (1, 34));
        assert!((flow.bits_per_second - 31.0 * 65536.0).abs() < 1e-6);
        let receiver = measured(&reports, 10).unwrap().receivers[0];
        assert_eq!((receiver.socket_losses, receiver.foreign, receiver.time.unwrap().receiving), (3, 0, 0.9));
    }

    #[test]
    fn of_a_pair_of_which_nothing_came_all_is_missing_and_others_are_foreign() {
        let reports = [received("10.9.1.9:1", [1, 3], &[]), received(SOURCES[1], [0, 2], &[])];
        let measured = measured(&reports, 10).expect("pairs");
        let flow = measured.flows[0];
        assert_eq!((flow.missing(), flow.warm_up_missing, flow.trains_unseen()), (34, 10, 2));
        assert_eq!((measured.receivers[0].foreign, measured.receivers[1].foreign), (34, 0));
        // Its good trains are of nobody: that is said.
        assert!(measured.imbalance().expect("good trains of nobody").contains("2 good trains"));
    }

    #[test]
    fn a_train_that_never_came_is_missing_and_what_is_not_known_is_refused() {
        let reports = [received(SOURCES[0], [3, 99], &[]), received(SOURCES[1], [0, 2], &[])];
        assert_eq!(measured(&reports, 20).expect("pairs").flows[0].warm_up_missing, 17);
        let mut reports = [received(SOURCES[0], [1, 3], &[[3, 5]]), received(SOURCES[1], [0, 2], &[])];
        reports[0]["threads"][0]["sources"][0]["first_trains"][0]["known"] = json!(8);
        assert_eq!(measured(&reports, 8).expect("pairs").flows[0].warm_up_missing, 2);
        assert!(measured(&reports, 9).unwrap_err().contains("frame 1 are missing from 8 on"));
        reports[0]["threads"][0]["sources"][0]["counts"]["packets_late"] = Value::Null;
        assert!(measured(&reports, 8).unwrap_err().contains("packets_late"));
        reports[0]["unaccounted"] = json!(1);
        assert!(measured(&reports, 8).is_err());
    }
}
