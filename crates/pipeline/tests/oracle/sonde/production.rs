//! The production pipeline, with the shipped configurations, against the model.

use crate::sonde::captures::generated;
use crate::sonde::model::{Outcome, parse};
use crate::sonde::reference::VECTORS;
use evforge_config::Config;
use evforge_core::detector;
use evforge_core::event::EventBatch;
use evforge_core::ledger::DetectorLedger;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_testkit::properties::cases;
use evforge_testkit::shared_file;
use evforge_wire::sonde::{AmplitudeSample, Header, SondeEncoder, TriggerTime};
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::Path;

type Events = Vec<(u64, u32)>;

pub(crate) fn config(name: &str, overrides: &[&str]) -> Config {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(name);
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    Config::read(&path, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// Forms the events of `packets` in slabs of `slab_packets` with batches of `batch_events`.
pub(crate) fn form(
    config: &Config,
    packets: &[(PacketOrigin, Vec<u8>)],
    slab_packets: usize,
    batch_events: usize,
) -> (Events, DetectorLedger) {
    let mut detector = config.build_detector().expect("a checked configuration");
    let mut batch = EventBatch::new(batch_events);
    let mut events = Vec::new();
    let mut keep = |batch: &mut EventBatch| {
        events.extend(batch.iter().map(|event| (event.time_ns, event.pixel_id)));
        batch.clear();
    };
    for chunk in packets.chunks(slab_packets.max(1)) {
        let mut slab = PacketSlab::new(chunk.len(), chunk.iter().map(|(_, bytes)| bytes.len()).sum());
        for (origin, bytes) in chunk {
            assert!(slab.push(bytes, bytes.len(), *origin));
        }
        detector::form(detector.as_mut(), &slab.batch(), &mut batch, &mut keep);
        assert_eq!(detector.ledger().unaccounted(), 0);
    }
    detector::form_rest(detector.as_mut(), &mut batch, &mut keep);
    let ledger = detector.ledger();
    assert_eq!((ledger.unaccounted(), ledger.counters.value("held")), (0, Some(0)));
    (events, ledger)
}

pub(crate) fn from_anywhere(packets: &[Vec<u8>]) -> Vec<(PacketOrigin, Vec<u8>)> {
    packets.iter().map(|packet| (PacketOrigin::default(), packet.clone())).collect()
}

fn model_events(packets: &[Vec<u8>]) -> Events {
    let events = packets.iter().flat_map(|packet| parse(packet).events);
    events.map(|(time, pixel)| (u64::from(time), pixel)).collect()
}

fn value(ledger: &DetectorLedger, name: &str) -> u64 {
    ledger.counters.value(name).unwrap_or_else(|| panic!("no counter {name}"))
}

#[test]
fn production_equals_the_model_event_for_event() {
    let Some(packets) = generated("production_equals_the_model_event_for_event") else { return };
    let expected = model_events(&packets);
    let config = config("reference-2018/sonde.toml", &[]);
    for (slab_packets, batch_events) in [(256, 100_000), (1, 1), (7, 254), (3, 255), (256, 256)] {
        let (events, ledger) = form(&config, &from_anywhere(&packets), slab_packets, batch_events);
        assert!(events == expected, "slabs of {slab_packets}, batches of {batch_events}");
        let counts = ["readouts", "hits", "events", "packets_received", "packets_formed_from"];
        assert_eq!(counts.map(|name| value(&ledger, name)), [65_280, 65_280, 65_280, 256, 256]);
        assert_eq!((ledger.packets().sent, ledger.packets().lost), (Some(256), 0));
    }
}

/// In order of time, with times extended: the same events, sorted.
#[test]
fn the_module_s_configuration_gives_the_same_events_sorted() {
    let Some(packets) = generated("the_module_s_configuration_gives_the_same_events_sorted") else { return };
    let mut expected = model_events(&packets);
    let overrides = ["sonde.sorting.window=1s", "sonde.sorting.forward_jump=2s", "sonde.sorting.restart=3s"];
    let (events, ledger) = form(&config("sonde-module.toml", &overrides), &from_anywhere(&packets), 16, 1000);
    expected.sort_unstable();
    assert_eq!(value(&ledger, "late") + value(&ledger, "unconfirmed_jump"), 0);
    assert!(events == expected, "{} events, {} expected", events.len(), expected.len());
}

/// The comparison can fail: each of these changes of a setting is noticed.
#[test]
fn a_mutated_setting_is_noticed() {
    let Some(packets) = generated("a_mutated_setting_is_noticed") else { return };
    let expected = model_events(&packets);
    let differs = |overrides: &[&str]| {
        form(&config("reference-2018/sonde.toml", overrides), &from_anywhere(&packets), 256, 1000).0
            != expected
    };
    assert!(!differs(&["sonde.geometry.nx=8"]), "no mutation");
    assert!(differs(&["sonde.geometry.nx=9"]), "geometry");
    assert!(differs(&["sonde.groups=[{x = 1, y = 0}]", "sonde.geometry.nx=9"]), "offset");
    assert!(differs(&["sonde.tick=2ns"]), "tick");
    assert!(differs(&["sonde.modules=[{system = 5, x = 0, y = 0}]"]), "system");
    let mask = "sonde.mask=[{group = 0, asic = 1, channels = [3], reason = \"hot\"}]";
    assert!(differs(&[mask]), "mask");
}

#[test]
fn single_packets_of_the_reference_count_as_there() {
    let test = "single_packets_of_the_reference_count_as_there";
    let config = config("reference-2018/sonde.toml", &[]);
    for (name, returned, errors, samples) in VECTORS {
        let Some(bytes) = shared_file(test, &format!("vectors/sonde/{name}.bin")) else { return };
        let (events, ledger) = form(&config, &[(PacketOrigin::default(), bytes.clone())], 1, 10);
        assert_eq!(events, model_events(&[bytes]), "{name}");
        let of = |name: &str| value(&ledger, name) as usize;
        assert_eq!((of("no_such_channel"), of("amplitude_samples")), (errors, samples), "{name}");
        let length = of("packets_too_short") + of("packets_no_room_for_an_event");
        let header = of("packets_wrong_version") + of("packets_wrong_length") + of("packets_wrong_count");
        let rejected = [length, header, of("packets_unknown_type")];
        assert_eq!(rejected, [-2, -3, -4].map(|code| usize::from(returned == code)), "{name}");
    }
}

#[test]
fn a_masked_channel_is_left_out_and_counted() {
    let Some(packets) = generated("a_masked_channel_is_left_out_and_counted") else { return };
    let mask = "sonde.mask=[{group = 0, asic = 1, channels = [3, 4], reason = \"hot\"}]";
    let config = config("reference-2018/sonde.toml", &[mask]);
    let (events, ledger) = form(&config, &from_anywhere(&packets), 16, 1000);
    let all = model_events(&packets);
    // Channels 3 and 4 of ASIC 1: (3, 0) and (0, 1).
    let expected: Events = all.iter().copied().filter(|(_, pixel)| ![4, 9].contains(pixel)).collect();
    assert!(events == expected && expected.len() < all.len());
    assert_eq!(value(&ledger, "masked") as usize, all.len() - expected.len());
    let masked: Vec<_> = ledger.masked.iter().map(|m| (m.channel.as_str(), m.reason.as_str())).collect();
    assert_eq!(masked, [("group 0, channel 19", "hot"), ("group 0, channel 20", "hot")]);
}

/// A packet of any type, good or with one byte changed.
fn packet() -> impl Strategy<Value = Vec<u8>> {
    let header = (0..2_u8, any::<u16>(), 0..5000_u32).prop_map(|(system, packet_count, time)| Header {
        system,
        sequence_flag: 3,
        packet_count,
        time,
    });
    let address = prop_oneof![9 => (0..4_u8, 0..16_u8), 1 => (0..5_u8, 0..64_u8)];
    let entries = vec((0..5000_u32, address.clone(), any::<u16>()), 0..80);
    (
        header,
        entries,
        0..8_u8,
        1..4_usize,
        prop::option::weighted(0.2, (any::<prop::sample::Index>(), any::<u8>())),
    )
        .prop_map(|(header, entries, kind, per_event, fault)| {
            let mut encoder = SondeEncoder::default();
            let first = entries.first().copied().unwrap_or((0, (0, 0), 0));
            let amplitudes: Vec<u16> = entries.iter().map(|entry| entry.2).collect();
            match kind {
                0 => assert!(encoder.single_event(&header, first.1, 1, 2, &amplitudes)),
                1 => {
                    encoder.begin_multi_event(&header, per_event as u16);
                    for event in entries.chunks_exact(per_event) {
                        let samples: Vec<_> = event
                            .iter()
                            .map(|&(_, (asic, channel), amplitude)| AmplitudeSample {
                                trigger_type: 1,
                                asic,
                                channel,
                                amplitude,
                            })
                            .collect();
                        assert!(encoder.push_event(event[0].0, &samples));
                    }
                }
                _ => {
                    encoder.begin_trigger_times(&header);
                    for &(time, (asic, channel), _) in &entries {
                        let asic_channel = asic << 6 | channel;
                        assert!(encoder.push_trigger_time(&TriggerTime { time, asic_channel }));
                    }
                }
            }
            let mut bytes = encoder.packet().to_vec();
            if let Some((place, byte)) = fault {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            bytes
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48)))]

    /// All three types, damaged packets among them, whatever the slabs and batches are.
    #[test]
    fn any_packets_give_the_model_s_events(
        mut packets in vec(packet(), 1..30), slab_packets in 1..9_usize, batch_events in 1..200_usize,
    ) {
        // Numbered in a row, so that none is taken for a duplicate.
        for (number, packet) in packets.iter_mut().enumerate() {
            packet[2..4].copy_from_slice(&(0xC000 | number as u16).to_be_bytes());
        }
        let (events, ledger) = form(
            &config("reference-2018/sonde.toml", &[]), &from_anywhere(&packets), slab_packets, batch_events,
        );
        prop_assert_eq!(events, model_events(&packets));
        let outcomes: Vec<Outcome> = packets.iter().map(|packet| parse(packet)).collect();
        let samples: usize = outcomes.iter().map(|outcome| outcome.samples).sum();
        prop_assert_eq!(value(&ledger, "amplitude_samples") as usize, samples);
        let rejected = outcomes.iter().filter(|outcome| outcome.returned < 0).count();
        prop_assert_eq!(value(&ledger, "packets_formed_from") as usize, packets.len() - rejected);
    }
}

/// The whole detector: a packet of every module lights up its own 64 pixels, all of them together every pixel.
#[test]
fn the_400_modules_cover_the_detector() {
    let config = config("sonde.toml", &["sonde.order=arrival"]);
    let mut packets = Vec::new();
    for group in 1..=100_u8 {
        for system in 0..4 {
            let mut encoder = SondeEncoder::default();
            encoder.begin_trigger_times(&Header { system, time: 70, ..Header::default() });
            for address in 0..64_u8 {
                let asic_channel = ((address / 16) << 6) | (address % 16);
                assert!(encoder.push_trigger_time(&TriggerTime { time: u32::from(address), asic_channel }));
            }
            let source = std::net::SocketAddr::from(([192, 168, 10, group], 50_011));
            packets.push((PacketOrigin { source, ..PacketOrigin::default() }, encoder.packet().to_vec()));
        }
    }
    let (events, ledger) = form(&config, &packets, 64, 999);
    assert_eq!((value(&ledger, "packets_unknown_module"), ledger.sources.len()), (0, 400));
    let modules: Vec<(u32, u32)> = events
        .chunks(64)
        .map(|module| module.iter().map(|e| (e.1 - 1) % 160 / 8 + (e.1 - 1) / 1280 * 20))
        .map(|places| (places.clone().min().unwrap_or(0), places.max().unwrap_or(9)))
        .collect();
    assert!(modules.iter().all(|(first, last)| first == last), "a module with pixels of another one");
    let mut pixels: Vec<u32> = events.iter().map(|event| event.1).collect();
    pixels.sort_unstable();
    assert!(pixels.into_iter().eq(1..=25_600));
    // The same in order of time, and whatever the order of the modules' packets is.
    let config = self::config("sonde.toml", &[]);
    let (ordered, _) = form(&config, &packets, 64, 999);
    packets.reverse();
    let (reversed, _) = form(&config, &packets, 3, 17);
    assert_eq!(ordered.len(), 25_600);
    assert!(ordered.is_sorted());
    assert!(ordered == reversed);
}
