//! What boards send of a simulation, read by the decoder.

use super::frames::Frames;
use super::settings::{IsisSimulation, SentVersion, SimulatedVeto};
use super::*;
use crate::simulation::{Simulation, SimulationSettings};
use crate::truth::Neutron;
use evforge_core::quantity::{Frequency, TimeSpan};
use evforge_detect::isis::settings::{BoardSettings, PixelSettings};
use evforge_detect::isis::wiring;
use evforge_wire::isis::event::{self, v1, v2};
use evforge_wire::isis::{Format, Header, Kind, Messages, Rules, Version};
use std::collections::BTreeMap;

/// All three boards, one of them with three channels.
const WIRING: &str = "\
BRD_NUM,BRD_Ref,BRD_Type,Packet_Type,SW_Pos,StreamingIP,CH,Mantid_DetectorID_Start,Mantid_Detector_ID_Lenght,Comment
0,ADC0,PC3544MS,Position,0,192.168.1.3,0,1000,64,
0,ADC0,PC3544MS,Position,0,192.168.1.3,1,2000,64,
0,ADC0,PC3544MS,Position,0,192.168.1.3,5,3000,64,
1,LVDS0,PC3634M1S,DIM_OUT,1,192.168.1.4,0,5,64,
2,WLSF0,PC3877MS,Position,2,192.168.1.5,0,200,64,
";

fn v1_settings() -> IsisSettings {
    let mut settings = IsisSettings {
        format: Format::V1,
        rows: wiring::read(WIRING).unwrap(),
        control_board: Some([192, 168, 1, 2].into()),
        ..IsisSettings::default()
    };
    settings.tick = settings.tick_v2;
    settings
}

fn v2_settings() -> IsisSettings {
    let pixels = PixelSettings { first_id: 500, nx: 50, ny: 9 };
    IsisSettings { format: Format::V2, pixels, ..IsisSettings::default() }
}

/// A train of so many pulses per second.
fn train(hertz: u64) -> PulseTrain {
    PulseTrain::from_millihertz(1000 * hertz, 0).unwrap()
}

/// A message: where it comes from, its header, and the words of its events.
type SentMessage = (std::net::IpAddr, Header, Vec<(u32, u32)>);

/// Everything that a simulation has sent, and the truth.
struct Sent {
    messages: Vec<SentMessage>,
    truth: Vec<Neutron>,
    frames: Vec<TrueFrame>,
    datagrams: Vec<usize>,
}

fn run(settings: &IsisSettings, simulation: IsisSimulation, hertz: u64, pulses: usize) -> Sent {
    let mut all = SimulationSettings { seed: 5, isis: simulation, ..SimulationSettings::default() };
    all.beam.neutrons = Frequency { millihertz: 20_000_000 };
    let (model, readout) = streaming(settings, &all.isis, train(hertz), all.seed).unwrap();
    let mut simulation = Simulation::new(&all, train(hertz), model, readout).unwrap();
    assert!(simulation.has_frames());
    let mut packets = Vec::new();
    let mut sent = Sent { messages: vec![], truth: vec![], frames: vec![], datagrams: vec![] };
    for pulse in simulation.next_pulses(pulses) {
        packets.extend(pulse.packets);
        sent.truth.extend(pulse.truth);
        sent.frames.extend(pulse.frames);
    }
    packets.extend(simulation.finish());
    sent.frames.extend(simulation.last_frames());
    assert!(packets.is_sorted_by_key(|packet| packet.origin.arrival_ns));
    for packet in &packets {
        sent.datagrams.push(packet.bytes.len());
        let rules = Rules { bit_order: settings.bit_order, ..Rules::default() };
        let mut walk = Messages::new(&packet.bytes, rules);
        for message in walk.by_ref() {
            let message = message.expect("a sound message");
            let events = message.events().iter().map(event::words).collect();
            sent.messages.push((packet.origin.source.ip(), message.header, events));
        }
        assert!(walk.rest_is_zero());
    }
    sent
}

impl Sent {
    /// Events in messages, as (time in ticks of 20 ns, id), in order.
    fn events(&self, settings: &IsisSettings, delay_ns: u64) -> Vec<(u64, u32)> {
        let mut all = Vec::new();
        for (source, header, events) in &self.messages {
            for &(first, second) in events {
                let (raw, id) = match header.board {
                    Some(board) => {
                        assert!(v2::is_event(first));
                        (v2::raw_time25(first), v2::SelfDescribed::of(second, &board).pixel(&board) as u32)
                    }
                    None => (v1::raw_time(first), id(settings, *source, second)),
                };
                // With a delay the events count from the delayed time, which is that of the header.
                all.push((header.gps_ns + 20 * u64::from(raw), id));
            }
            assert!(header.kind != Kind::NeutronData || header.gps_ns >= delay_ns);
        }
        all.sort_unstable();
        all
    }

    /// The neutrons that are sent, to the tick.
    fn true_events(&self, is_tick_of: impl Fn(u64) -> u64) -> Vec<(u64, u32)> {
        let sent = self.truth.iter().filter(|neutron| neutron.resolvable);
        let mut all: Vec<_> = sent.map(|neutron| (is_tick_of(neutron.time_ns), neutron.pixel_id)).collect();
        all.sort_unstable();
        all
    }
}

/// The id of a version 1 event, worked out from the table by itself.
fn id(settings: &IsisSettings, source: std::net::IpAddr, second: u32) -> u32 {
    let of_board: Vec<_> = settings.rows.iter().filter(|row| source == row.address).collect();
    let row = of_board[0];
    if row.board.starts_with("ADC") {
        let channel = second >> 26 & 7;
        let row = of_board.iter().find(|row| u32::from(row.channel) == channel).expect("a wired channel");
        row.first_id + (second & 0xFFF) / (4096 / row.ids)
    } else if row.board.starts_with("WLSF") {
        row.first_id + (second & 0xFFFF)
    } else {
        row.first_id + second
    }
}

/// Times are cut to ticks since the frame's start, which is a whole number of them.
fn tick(time_ns: u64) -> u64 {
    time_ns / 20 * 20
}

#[test]
fn all_boards_of_version_1_send_every_neutron_with_its_id() {
    let settings = v1_settings();
    let sent = run(&settings, IsisSimulation::default(), 50, 20);
    assert!(sent.truth.len() > 5000);
    assert_eq!(sent.events(&settings, 0), sent.true_events(tick));
    let sources: std::collections::BTreeSet<_> = sent.messages.iter().map(|message| message.0).collect();
    assert_eq!(sources.len(), 4, "three boards and the control board");
    assert!(sent.messages.iter().all(|(_, header, _)| header.version == Version::V1));
}

#[test]
fn boards_of_version_2_send_every_neutron_with_its_id_listed_or_not() {
    let listed = |number: u8, pcb, address| BoardSettings {
        source: Some([10, 0, 0, number].into()),
        pcb,
        address,
        name: format!("board {number}"),
    };
    let boards = vec![listed(1, 3877, Some(7)), listed(1, 3544, Some(8)), listed(9, 777, None)];
    for (boards, senders) in [(Vec::new(), 4), (boards, 3)] {
        for bit_order in [evforge_wire::isis::BitOrder::Lsb, evforge_wire::isis::BitOrder::Msb] {
            let settings = IsisSettings { boards: boards.clone(), bit_order, ..v2_settings() };
            let sent = run(&settings, IsisSimulation::default(), 10, 3);
            assert_eq!(sent.events(&settings, 0), sent.true_events(tick));
            let keys: std::collections::BTreeSet<_> =
                sent.messages.iter().map(|(source, header, _)| (*source, header.pcb)).collect();
            assert_eq!(keys.len(), senders, "{keys:?}");
        }
    }
}

#[test]
fn frames_are_spread_over_messages_and_datagrams_and_announce_all_their_events() {
    let settings = v2_settings();
    let simulation = IsisSimulation {
        events_per_message: 7,
        datagram_bytes: 300,
        padding: 5,
        ..IsisSimulation::default()
    };
    let sent = run(&settings, simulation, 50, 5);
    assert_eq!(sent.events(&settings, 0), sent.true_events(tick));
    assert!(sent.datagrams.iter().all(|bytes| *bytes <= 300));
    assert!(sent.messages.iter().all(|(_, _, events)| events.len() <= 7));
    let mut frames: BTreeMap<_, (u32, u32)> = BTreeMap::new();
    for (source, header, events) in &sent.messages {
        let entry = frames.entry((*source, header.streamed_frame)).or_default();
        *entry = (entry.0 + events.len() as u32, header.events_in_frame);
        assert!(!events.is_empty() || header.events_in_frame == 0);
    }
    assert!(frames.len() > 15 && frames.values().all(|(found, announced)| found == announced));
    assert!(sent.messages.len() > sent.datagrams.len() && sent.datagrams.len() > frames.len());
}

#[test]
fn frames_have_periods_protons_and_vetoes_and_the_truth_of_them() {
    let veto = |bit, every, probability, hard| SimulatedVeto { bit, every, probability, hard };
    let simulation = IsisSimulation {
        periods: 3,
        frames_per_period: 2,
        protons: 99,
        vetoes: vec![veto(1, Some(5), 0.0, false), veto(4, Some(7), 0.0, true), veto(3, None, 0.3, false)],
        ..IsisSimulation::default()
    };
    let settings = v1_settings();
    let sent = run(&settings, simulation.clone(), 50, 14);
    assert_eq!(sent.events(&settings, 0), sent.true_events(tick), "hard-vetoed neutrons are in neither");
    assert!(sent.truth.iter().any(|neutron| !neutron.resolvable));
    let periods: Vec<_> = sent.frames.iter().map(|frame| frame.period).collect();
    assert_eq!(periods, [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2, 0, 0]);
    let with = |bit: u32| {
        sent.frames.iter().filter(move |frame| frame.vetoes >> bit & 1 == 1).map(|frame| frame.number)
    };
    assert_eq!((with(1).collect::<Vec<_>>(), with(4).collect::<Vec<_>>()), (vec![4, 9], vec![6, 13]));
    assert!((1..12).contains(&with(3).count()));
    let told = sent.messages.iter().filter(|(_, header, _)| header.kind != Kind::EndOfRun);
    let mut events: BTreeMap<u64, u64> = BTreeMap::new();
    for (_, header, found) in told {
        let frame = &sent.frames[header.frame as usize];
        assert_eq!(
            (header.gps_ns, header.period, header.vetoes),
            (frame.reference_ns, frame.period, frame.vetoes)
        );
        assert_eq!((header.protons, header.kind == Kind::Veto), (99, frame.vetoes >> 4 & 1 == 1));
        *events.entry(frame.number).or_default() += found.len() as u64;
    }
    assert!(sent.frames.iter().all(|frame| events[&frame.number] == frame.events));
    // Of the seed and the number alone.
    let (one, other) = (Frames::new(simulation.clone(), 5), Frames::new(simulation.clone(), 6));
    assert!((0..99).all(|number| one.state(number) == one.state(number)));
    assert!((0..99).any(|number| one.state(number) != other.state(number)));
    let mut file = format!("{}\n", frames::HEADER).into_bytes();
    frames::write(&sent.frames[4..5], &mut file).unwrap();
    let text = String::from_utf8(file).unwrap();
    let TrueFrame { reference_ns, vetoes, events, .. } = sent.frames[4];
    assert_eq!(
        text,
        format!("frame,reference_ns,period,vetoes,protons,events\n4,{reference_ns},2,{vetoes},99,{events}\n")
    );
}

#[test]
fn a_frame_sync_delay_of_any_length_keeps_every_neutron() {
    let settings = v2_settings();
    for delay_us in [300, 30_000] {
        let frame_sync_delay = TimeSpan { picoseconds: delay_us * 1_000_000 };
        let sent = run(&settings, IsisSimulation { frame_sync_delay, ..IsisSimulation::default() }, 50, 6);
        assert_eq!(sent.events(&settings, delay_us * 1000), sent.true_events(tick));
        assert!(sent.messages.iter().all(|(_, header, _)| u64::from(header.frame_sync_delay) == delay_us));
        // Reference times are those of pulses; the headers tell later ones.
        for (_, header, _) in &sent.messages {
            let reference_ns = header.gps_ns - delay_us * 1000;
            assert_eq!(train(50).locate(reference_ns).map(|at| at.time_of_flight_ns), Some(0));
        }
    }
}

#[test]
fn silence_ends_of_run_and_ticks_that_do_not_last() {
    let simulation = IsisSimulation { empty_frames: false, end_of_run: true, ..IsisSimulation::default() };
    let mut settings = v1_settings();
    // 24 bits of 1 ns end after 16.8 of 20 ms.
    settings.tick.madc = 1000;
    settings.tick.lvds = 1000;
    let sent = run(&settings, simulation, 50, 10);
    let ends = sent.messages.iter().filter(|(_, header, _)| header.kind == Kind::EndOfRun).count();
    assert_eq!(ends, 4);
    let detectors = sent.messages.iter().filter(|(_, header, _)| header.kind == Kind::NeutronData);
    assert!(
        detectors
            .clone()
            .all(|(source, _, events)| !events.is_empty() || source.to_string() == "192.168.1.2")
    );
    let found: usize = detectors.map(|(_, _, events)| events.len()).sum();
    assert_eq!(found, sent.truth.iter().filter(|neutron| neutron.resolvable).count());
    assert!(found < sent.truth.len());
}

#[test]
fn what_cannot_be_simulated_is_said() {
    let problem = |settings: &IsisSettings, simulation: IsisSimulation| {
        streaming(settings, &simulation, train(50), 1).map(|_| ()).unwrap_err().to_string()
    };
    let of = IsisSimulation::default;
    let delay = TimeSpan { picoseconds: 1_000_000 };
    let veto = SimulatedVeto { bit: 20, every: None, probability: 0.0, hard: false };
    for (settings, simulation, expected) in [
        (
            v1_settings(),
            IsisSimulation { periods: 0, ..of() },
            "simulation.isis.periods: found 0, expected 1 to 65536",
        ),
        (
            v1_settings(),
            IsisSimulation { frame_sync_delay: delay, ..of() },
            "simulation.isis.frame_sync_delay: ",
        ),
        (v1_settings(), IsisSimulation { vetoes: vec![veto], ..of() }, "simulation.isis.veto.bit: found 20"),
        (v1_settings(), IsisSimulation { version: Some(SentVersion::V2), ..of() }, "isis.format is v1"),
        (
            v2_settings(),
            IsisSimulation { datagram_bytes: 71, ..of() },
            "simulation.isis.datagram_bytes: found 71",
        ),
        (
            IsisSettings { pixels: PixelSettings { first_id: 1, nx: 1 << 12, ny: 1 << 12 }, ..v2_settings() },
            of(),
            "16777216 pixels cannot be simulated",
        ),
    ] {
        let found = problem(&settings, simulation);
        assert!(found.contains(expected), "{found}\nexpected: {expected}");
    }
}
