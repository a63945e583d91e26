//! All faults together, from several sources: the laws hold after every datagram, and good trains come out as they were.

use super::common::{IMAGES, Watched, datagrams, settings, train, with_trailer};
use evforge_testkit::properties::cases;
use evforge_train::assembly::{
    AssemblySettings, IncompletePolicy, PacketFate, TrainContent, TrainOutcome, TrainSource,
};
use evforge_wire::train::{PacketTrailer, TrainPacket};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What happens to one datagram on its way.
#[derive(Clone, Debug)]
enum Fault {
    None,
    Lost,
    Repeated,
    Cut(usize),
    Moved(usize),
    Frame(u32),
    Packet(u32),
    Flags(bool, bool),
    Waits(u16),
    Noise(Vec<u8>),
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        60 => Just(Fault::None),
        2 => Just(Fault::Lost),
        2 => Just(Fault::Repeated),
        1 => (0_usize..300).prop_map(Fault::Cut),
        4 => (0_usize..30).prop_map(Fault::Moved),
        1 => any::<u32>().prop_map(Fault::Frame),
        1 => prop_oneof![0_u32..25, any::<u32>()].prop_map(Fault::Packet),
        1 => any::<(bool, bool)>().prop_map(|(first, last)| Fault::Flags(first, last)),
        1 => (0_u16..400).prop_map(Fault::Waits),
        1 => proptest::collection::vec(any::<u8>(), 0..300).prop_map(Fault::Noise),
    ]
}

/// A datagram of a source, and for how many milliseconds nothing comes before it.
type Sent = (u16, u16, Vec<u8>);

/// Interleaves the trains of all sources, and does to each datagram what it is to suffer.
fn stream(trains: &[(u16, usize)], faults: &[Fault], sources: u16) -> Vec<Sent> {
    let mut frames = BTreeMap::new();
    let mut lines: Vec<Vec<Vec<u8>>> = vec![vec![]; usize::from(sources)];
    for &(module, images) in trains {
        let frame = frames.entry(module).or_insert(0_u32);
        lines[usize::from(module)].extend(datagrams(*frame, &train(u64::from(*frame) + 10, images)));
        *frame += 1;
    }
    let longest = lines.iter().map(Vec::len).max().unwrap_or(0);
    let mut faults = faults.iter().cycle();
    let mut stream: Vec<(usize, Sent)> = vec![];
    for at in 0..longest {
        for (line, module) in lines.iter().zip(0..) {
            let Some(datagram) = line.get(at) else { continue };
            let place = stream.len();
            let trailer = TrainPacket::parse(datagram).expect("ours").trailer;
            let (mut wait, mut place_after, mut bytes) = (0, place, datagram.clone());
            match faults.next().expect("endless") {
                Fault::None => {}
                Fault::Lost => continue,
                Fault::Repeated => stream.push((place, (module, 0, bytes.clone()))),
                Fault::Cut(left) => bytes.truncate(*left),
                Fault::Moved(by) => place_after += by,
                Fault::Frame(frame) => {
                    bytes = with_trailer(&bytes, PacketTrailer { frame: *frame, ..trailer })
                }
                Fault::Packet(packet) => {
                    bytes = with_trailer(&bytes, PacketTrailer { packet: *packet, ..trailer });
                }
                Fault::Flags(is_first, is_last) => {
                    let (is_first, is_last) = (*is_first, *is_last);
                    bytes = with_trailer(&bytes, PacketTrailer { is_first, is_last, ..trailer });
                }
                Fault::Waits(milliseconds) => wait = *milliseconds,
                Fault::Noise(noise) => bytes.clone_from(noise),
            }
            stream.push((place_after, (module, wait, bytes)));
        }
    }
    stream.sort_by_key(|(place, _)| *place);
    stream.into_iter().map(|(_, sent)| sent).collect()
}

fn policy() -> impl Strategy<Value = IncompletePolicy> {
    prop_oneof![Just(IncompletePolicy::Drop), Just(IncompletePolicy::Mark), Just(IncompletePolicy::Zero)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn the_laws_hold_after_every_datagram(
        trains in proptest::collection::vec((0_u16..3, 0..=IMAGES), 1..24),
        faults in proptest::collection::vec(fault(), 1..400),
        incomplete in policy(),
        keeps in any::<bool>(),
        fewer in any::<bool>(),
        cut in proptest::option::weighted(0.2, 1_u32..19),
    ) {
        let content = cut.map_or(settings().content, TrainContent::Packets);
        let whole = AssemblySettings { content, ..settings() }.with_sources(if fewer { 2 } else { 3 });
        let mut watched = Watched::new(AssemblySettings { incomplete, buffers: whole.open_trains + 1, ..whole });
        watched.keeps = keeps;
        let mut fates = 0;
        for (module, wait, bytes) in stream(&trains, &faults, 3) {
            watched.now_ns += u64::from(wait) * 1_000_000;
            fates += u64::from(watched.take(TrainSource::Module(module), &bytes) == PacketFate::Used);
            if watched.kept.len() > 1 {
                let buffer = watched.kept.remove(0).into_buffer().expect("a buffer");
                prop_assert!(watched.assembly.give_back(buffer));
            }
        }
        watched.finish();
        let counters = watched.counters();
        prop_assert_eq!((counters.packets_in_open_trains, counters.trains_open), (0, 0));
        let placed: u64 = watched.closed.iter().map(|report| u64::from(report.packets)).sum();
        prop_assert_eq!(placed, fates);
        prop_assert!(watched.closed.iter().all(|report| report.packets > 0), "every train has packets");
    }

    /// Without packets that lie (only lost, repeated, moved ones), every train of which all packets came is good, byte by byte, and every
    /// other one says exactly how many packets it lacks, if it can.
    #[test]
    fn whole_trains_are_what_was_sent(
        trains in proptest::collection::vec((0_u16..3, 0..=IMAGES), 1..24),
        faults in proptest::collection::vec(
            prop_oneof![
                60 => Just(Fault::None), 1 => Just(Fault::Lost), 3 => Just(Fault::Repeated),
                6 => (0_usize..30).prop_map(Fault::Moved),
            ],
            1..400,
        ),
    ) {
        // Room for all of them, so that none makes room for another.
        let whole = AssemblySettings {
            open_trains_of_source: 24, remembered_trains: 24, remembered_for: Duration::from_secs(60), ..settings()
        };
        let mut watched = Watched::new(whole.with_sources(3));
        let mut there: BTreeMap<(u16, u32), BTreeSet<u32>> = BTreeMap::new();
        for (module, _, bytes) in stream(&trains, &faults, 3) {
            let trailer = TrainPacket::parse(&bytes).expect("ours").trailer;
            there.entry((module, trailer.frame)).or_default().insert(trailer.packet);
            watched.take(TrainSource::Module(module), &bytes);
        }
        watched.finish();
        prop_assert_eq!(watched.closed.len(), there.len());
        let mut sent = BTreeMap::new();
        let mut frames = BTreeMap::new();
        for &(module, images) in &trains {
            let frame = frames.entry(module).or_insert(0_u32);
            sent.insert((module, *frame), train(u64::from(*frame) + 10, images));
            *frame += 1;
        }
        let mut handed_on = watched.bytes.iter();
        for report in &watched.closed {
            let TrainSource::Module(module) = report.source else { panic!("a module") };
            let bytes = &sent[&(module, report.frame)];
            let (all, came) = (datagrams(0, bytes).len(), there[&(module, report.frame)].len());
            prop_assert_eq!(report.packets as usize, came);
            if came == all {
                prop_assert_eq!(report.outcome, TrainOutcome::Good);
                prop_assert_eq!(&handed_on.next().expect("it was handed on").1, bytes);
            } else if report.is_size_known {
                prop_assert_eq!(report.missing as usize, all - came);
                prop_assert_eq!(report.bytes, bytes.len());
            }
        }
        prop_assert_eq!(handed_on.next(), None);
    }
}
