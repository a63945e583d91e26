//! Topics in memory: order, gaps, what is left out, what is missing.

use super::headers::{self, HeaderWriter};
use super::merge::{Lanes, Merge, Next};
use super::message::Delivered;
use super::source::Packets;
use evforge_core::packet::{ArrivalClock, Packet, PacketOrigin, PacketSlab};
use evforge_core::packet_source::{Fill, SourceError};
use evforge_core::run_state::InputFaultKind;
use evforge_messages::{Ar51, Encoder, Ev44};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What is in a partition, message by message.
#[derive(Clone, Debug)]
enum Item {
    Message(Vec<u8>, Vec<(String, Vec<u8>)>, i64),
    Pause,
    Fails,
}

/// Partitions, and whether nothing comes behind their end.
#[derive(Debug, Default)]
struct InMemory(Vec<VecDeque<Item>>, bool);

impl InMemory {
    fn of(partitions: impl IntoIterator<Item = Vec<Item>>, ends: bool) -> Self {
        Self(partitions.into_iter().map(VecDeque::from).collect(), ends)
    }
}

impl Lanes for InMemory {
    fn count(&mut self) -> Result<usize, SourceError> {
        Ok(self.0.len())
    }

    fn is_over(&self, lane: usize) -> bool {
        self.1 && self.0[lane].is_empty()
    }

    fn next(
        &mut self,
        lane: usize,
        wait: Duration,
        read: &mut dyn FnMut(&Delivered<'_>),
    ) -> Result<Next, SourceError> {
        match self.0[lane].pop_front() {
            None => Ok(Next::AtEnd),
            Some(Item::Pause) => {
                std::thread::sleep(wait.min(Duration::from_millis(1)));
                Ok(Next::Nothing)
            }
            Some(Item::Fails) => {
                self.0[lane].push_front(Item::Fails);
                Err("removed".into())
            }
            Some(Item::Message(payload, written, time_ms)) => {
                let all = written.iter().map(|(name, value)| (name.as_str(), Some(value.as_slice())));
                let origin = headers::read(all, Some(time_ms));
                let payload = Some(payload.as_slice());
                read(&Delivered { payload, origin, time_ms: Some(time_ms) });
                Ok(Next::Message)
            }
        }
    }
}

/// A packet with this content, numbered so by its source, that arrived so many nanoseconds after a moment.
fn packet(source: &str, id: i64, at: u64) -> Item {
    let origin = PacketOrigin {
        source: ([10, 0, 0, 7], 9000).into(),
        destination_port: 9000 + u16::from(source == "two"),
        arrival_ns: 1_787_229_296_000_000_000 + at,
        arrival_clock: ArrivalClock::Capture,
    };
    let bytes = format!("{source} {id}").into_bytes();
    let packet = Packet { bytes: &bytes, original_length: bytes.len() as u32 + u32::from(id == 3), origin };
    let mut writer = HeaderWriter::default();
    let written =
        writer.write(&packet).iter().map(|(name, value)| (name.to_string(), value.clone().unwrap()));
    Item::Message(encoded(source, id, &bytes), written.collect(), 5)
}

fn encoded(source: &str, id: i64, raw_data: &[u8]) -> Vec<u8> {
    Ar51 { source_name: source, message_id: id, raw_data }.encode(&mut Encoder::new()).to_vec()
}

fn events() -> Item {
    Item::Message(
        Ev44 { source_name: "freia", ..Ev44::default() }.encode(&mut Encoder::new()).to_vec(),
        vec![],
        5,
    )
}

fn topic<const N: usize>(partitions: [Vec<Item>; N], follows: bool, port: Option<u16>) -> Packets<InMemory> {
    let merge =
        Merge::new(InMemory::of(partitions, false), follows, Duration::from_millis(300), Arc::default());
    Packets::new("topic t at a:9092".into(), merge, port)
}

/// Reads to the end, through slabs of so many packets.
fn read(topic: &mut Packets<InMemory>, packets: usize) -> Result<Vec<String>, String> {
    let mut read = Vec::new();
    let mut slab = PacketSlab::new(packets, 0);
    loop {
        slab.clear();
        let fill = topic.fill(&mut slab);
        read.extend(slab.batch().iter().map(|packet| String::from_utf8_lossy(packet.bytes).into_owned()));
        match fill {
            Ok(Fill::More) => {}
            Ok(Fill::End) => return Ok(read),
            Err(error) => return Err(format!("{} packets, then {error}", read.len())),
        }
    }
}

fn numbered(source: &str, ids: impl IntoIterator<Item = i64>) -> Vec<String> {
    ids.into_iter().map(|id| format!("{source} {id}")).collect()
}

#[test]
fn one_partition_keeps_its_order_whatever_the_numbers_and_times_say() {
    let mut items: Vec<Item> =
        [(1, 50), (2, 40), (4, 30), (3, 20), (5, 60)].map(|(id, at)| packet("one", id, at)).into();
    items.insert(2, Item::Pause);
    for packets in [1, 2, 100] {
        let mut topic = topic([items.clone()], false, None);
        assert_eq!(read(&mut topic, packets).unwrap(), numbered("one", [1, 2, 4, 3, 5]));
        let counters = topic.counters();
        let value = |name| counters.value(name).unwrap();
        assert_eq!((value("messages"), value("packets"), value("cut")), (5, 5, 1));
        assert_eq!((value("messages_lost"), value("messages_reordered"), value("bytes")), (0, 1, 25));
        assert!(topic.faults().is_empty());
    }
}

#[test]
fn origin_and_time_of_packets_come_back() {
    let mut topic = topic([vec![packet("one", 3, 77)]], false, None);
    let mut slab = PacketSlab::new(4, 0);
    assert_eq!(topic.fill(&mut slab).unwrap(), Fill::End);
    let packet = slab.batch().get(0).unwrap();
    assert_eq!(packet.origin.source, ([10, 0, 0, 7], 9000).into());
    assert_eq!((packet.origin.destination_port, packet.origin.arrival_clock), (9000, ArrivalClock::Capture));
    assert_eq!((packet.origin.arrival_ns, packet.is_cut()), (1_787_229_296_000_000_077, true));
}

#[test]
fn a_source_over_several_partitions_is_put_together_by_its_numbers() {
    let of = |ids: &[i64]| ids.iter().map(|&id| packet("one", id, 1000 - id as u64)).collect::<Vec<_>>();
    let mut topic = topic([of(&[2, 3, 9]), of(&[1, 6, 7, 8]), of(&[4, 5])], false, None);
    assert_eq!(read(&mut topic, 3).unwrap(), numbered("one", 1..=9));
}

#[test]
fn a_later_run_of_a_source_comes_behind_the_earlier_one() {
    let of = |ids: &[i64]| ids.iter().map(|&id| packet("one", id, id as u64)).collect::<Vec<_>>();
    let mut topic = topic([of(&[40, 42, 2]), of(&[41, 1, 3])], false, None);
    assert_eq!(read(&mut topic, 100).unwrap(), numbered("one", [40, 41, 42, 1, 2, 3]));
}

#[test]
fn sources_in_several_partitions_follow_their_times() {
    let of = |source: &'static str, all: &[(i64, u64)]| {
        all.iter().map(|&(id, at)| packet(source, id, at)).collect::<Vec<_>>()
    };
    let partitions = [of("one", &[(1, 10), (2, 30), (3, 31)]), of("two", &[(7, 5), (8, 20), (9, 40)])];
    let mut all = topic(partitions.clone(), false, None);
    assert_eq!(read(&mut all, 2).unwrap(), ["two 7", "one 1", "two 8", "one 2", "one 3", "two 9"]);
    let mut of_a_port = topic(partitions, false, Some(9001));
    assert_eq!(read(&mut of_a_port, 2).unwrap(), numbered("two", 7..=9));
    let counters = of_a_port.counters();
    assert_eq!((counters.value("other_port"), counters.value("messages_lost")), (Some(3), Some(0)));
}

#[test]
fn gaps_are_counted_and_said() {
    let items = [1, 2, 3, 7, 8].map(|id| packet("freia", id, id as u64)).into();
    let mut topic = topic([items], false, None);
    assert_eq!(read(&mut topic, 100).unwrap().len(), 5);
    assert_eq!(topic.counters().value("messages_lost"), Some(3));
    let fault = topic.faults().remove(0);
    assert_eq!(fault.kind, InputFaultKind::Incomplete);
    assert!(
        fault.text.contains("3 messages are missing") && fault.text.contains("3 of freia, the first 4 to 6"),
        "{}",
        fault.text
    );
}

#[test]
fn what_is_no_packet_is_left_out_by_reason() {
    let mut damaged = encoded("one", 2, b"12");
    damaged[0] = 0xFF;
    let plain = |payload: Vec<u8>| Item::Message(payload, vec![], 5);
    let items = vec![
        packet("one", 1, 1),
        events(),
        plain(damaged),
        plain(vec![]),
        plain(vec![1, 2]),
        plain(encoded("one", 2, &vec![0; 65_508])),
        Item::Message(encoded("one", 2, b"x"), vec![("evforge-port".into(), b"no".to_vec())], 5),
        packet("one", 2, 2),
    ];
    let mut topic = topic([items], false, None);
    assert_eq!(read(&mut topic, 100).unwrap(), numbered("one", 1..=2));
    let counters = topic.counters();
    for name in [
        "messages_of_another_schema",
        "messages_damaged",
        "messages_too_short",
        "empty",
        "too_long",
        "bad_headers",
    ] {
        assert_eq!(counters.value(name), Some(1), "{name}");
    }
    assert_eq!((counters.value("messages"), counters.value("packets")), (Some(8), Some(2)));
    let text = topic.faults().remove(0).text;
    assert!(
        text.contains("1 (longer than any UDP packet)") && text.contains("1 (Messages of another schema"),
        "{text}"
    );
}

#[test]
fn a_topic_of_something_else_is_refused_long_before_its_end() {
    let mut others = topic([vec![events(); 100_000]], false, None);
    assert_eq!(read(&mut others, 100).unwrap().len(), 0);
    let fault = others.faults().remove(0);
    let error = &fault.text;
    assert_eq!(fault.kind, InputFaultKind::NoUse);
    assert!(error.contains("topic t at a:9092 holds no raw packets (ar51): none of its first 1"), "{error}");
    assert!(error.contains("evforge kafka topics") && error.contains("ev44"), "{error}");
    assert!(others.counters().value("messages").unwrap() <= 2000);
    let mut few = topic([vec![events(); 10]], false, None);
    assert_eq!(read(&mut few, 100).unwrap().len(), 0);
    assert_eq!(few.faults().remove(0).kind, InputFaultKind::NoUse);
}

#[test]
fn a_failure_comes_behind_the_packets_that_were_read_before_it_and_stays() {
    let mut topic = topic([vec![packet("one", 1, 1), packet("one", 2, 2), Item::Fails]], false, None);
    assert_eq!(read(&mut topic, 100).unwrap_err(), "2 packets, then removed");
    assert_eq!(read(&mut topic, 100).unwrap_err(), "0 packets, then removed");
}

#[test]
fn silent_brokers_end_it_with_an_error_and_a_wish_to_stop_ends_it_in_peace() {
    let pauses = || [vec![packet("one", 1, 1)], vec![Item::Pause; 10_000]].concat();
    let mut silent = topic([pauses()], false, None);
    let error = read(&mut silent, 1).unwrap_err();
    assert!(error.starts_with("1 packets, then the brokers have sent nothing for 0 s"), "{error}");
    let stop = Arc::new(AtomicBool::new(false));
    let merge =
        Merge::new(InMemory::of([pauses()], false), false, Duration::from_secs(60), Arc::clone(&stop));
    let mut stopped = Packets::new("t".into(), merge, None);
    stop.store(true, Ordering::Relaxed);
    assert_eq!(read(&mut stopped, 1).unwrap(), numbered("one", [1]));
    assert!(stopped.is_stopped);
}

#[test]
fn following_goes_on_behind_the_end_without_waiting_for_partitions_that_have_nothing() {
    let mut topic = topic([vec![packet("one", 1, 1)], vec![]], true, None);
    let mut slab = PacketSlab::new(10, 0);
    assert_eq!(topic.fill(&mut slab).unwrap(), Fill::More);
    assert_eq!(slab.len(), 1);
    slab.clear();
    assert_eq!(topic.fill(&mut slab).unwrap(), Fill::More);
    assert_eq!(slab.len(), 0);
}

#[test]
fn following_ends_where_nothing_can_come_any_more() {
    let partitions = [vec![packet("one", 1, 1), packet("one", 2, 2)], vec![packet("two", 1, 3)]];
    let merge = Merge::new(InMemory::of(partitions, true), true, Duration::from_secs(60), Arc::default());
    let mut topic = Packets::new("t".into(), merge, None);
    assert_eq!(read(&mut topic, 2).unwrap(), ["one 1", "one 2", "two 1"]);
}
