//! Packets of SoNDe, single and in streams.

use super::Seed;
use super::packets::{spoilt, stream};
use crate::sonde::choice;
use evforge_wire::sonde::{AmplitudeSample, Header, SondeEncoder, TriggerTime};

fn header(system: u8, packet_count: u16, time: u32) -> Header {
    Header { system, packet_count, time, sequence_flag: 3 }
}

fn trigger_times(header: Header, entries: impl Iterator<Item = (u32, u8)>) -> Vec<u8> {
    let mut encoder = SondeEncoder::default();
    encoder.begin_trigger_times(&header);
    for (time, asic_channel) in entries {
        assert!(encoder.push_trigger_time(&TriggerTime { time, asic_channel }), "more than a packet holds");
    }
    encoder.packet().to_vec()
}

fn single_event(header: Header, asic: u8, channel: u8, samples: &[u16]) -> Vec<u8> {
    let mut encoder = SondeEncoder::default();
    assert!(encoder.single_event(&header, (asic, channel), 2, 100, samples), "more than a packet holds");
    encoder.packet().to_vec()
}

fn multi_event(header: Header, events: u32, samples: u8) -> Vec<u8> {
    let mut encoder = SondeEncoder::default();
    encoder.begin_multi_event(&header, u16::from(samples));
    for event in 0..events {
        let sample = |n| AmplitudeSample {
            trigger_type: 1,
            asic: n % 4,
            channel: n % 17,
            amplitude: 100 * u16::from(n),
        };
        let samples: Vec<_> = (0..samples).map(sample).collect();
        assert!(encoder.push_event(header.time + event, &samples), "more than a packet holds");
    }
    encoder.packet().to_vec()
}

/// All channels of a module, and one that does not exist, from `time` on.
fn all_channels(system: u8, packet_count: u16, time: u32) -> Vec<u8> {
    let entries =
        (0..65_u8).map(|n| (time.wrapping_add(u32::from(n) * 3), ((n / 16) << 6) | (n % 16) | (n & 64)));
    trigger_times(header(system, packet_count, time), entries)
}

/// Good packets of every type, and packets with one fault each.
pub fn seeds() -> Vec<Seed> {
    let good = all_channels(1, 7, 1000);
    let single = single_event(header(0, 1, 500), 1, 3, &[0xAAAA, 0xBBBB]);
    let multi = multi_event(header(2, 3, 70), 3, 2);
    let mut longer = multi.clone();
    longer.extend([0xEE; 3]);
    longer[9] += 3;
    vec![
        Seed::new("trigger-times", good.clone()),
        Seed::new(
            "trigger-times-full",
            trigger_times(header(31, 0x3FFF, u32::MAX), (0..255).map(|n| (n, 0x8A))),
        ),
        Seed::new("trigger-times-none", trigger_times(header(0, 0, 0), std::iter::empty())),
        Seed::new("single-event", single.clone()),
        Seed::new("multi-event", multi.clone()),
        Seed::new("multi-event-longer", longer),
        Seed::new("wrong-version", spoilt(good.clone(), 0, &[0x21])),
        Seed::new("wrong-length", good[..good.len() - 1].to_vec()),
        Seed::new("wrong-count", spoilt(good.clone(), 10, &[3])),
        Seed::new("unknown-type", spoilt(good.clone(), 1, &[0x10])),
        Seed::new("too-short", &good[..10]),
        Seed::new("single-event-wrong-count", spoilt(single, 16, &[9])),
        Seed::new("multi-event-wrong-count", spoilt(multi, 10, &[9])),
        Seed::new("multi-event-no-room", multi_event(header(0, 0, 0), 1, 0)),
    ]
}

/// Streams of two modules.
pub fn stream_seeds() -> Vec<Seed> {
    let both = |packets: u16, step: u32, start: u32| -> Vec<Vec<u8>> {
        let time = |n: u16| start.wrapping_add(u32::from(n) * step);
        (0..packets).flat_map(|n| [all_channels(0, n, time(n)), all_channels(1, n, time(n) ^ 1)]).collect()
    };
    let mut mixed = both(2, 500, 100);
    mixed.push(single_event(header(0, 2, 1300), 1, 3, &[1, 2, 3]));
    mixed.push(multi_event(header(1, 2, 1200), 20, 5));
    mixed.push(mixed[0].clone());
    mixed.push(mixed[1][..40].to_vec());
    let mut restart = both(3, 400_000, 3_000_000);
    restart.extend((3..6).map(|n| all_channels(0, n, u32::from(n) * 100)));
    let mut wild = both(3, 300, 0);
    wild[2] = trigger_times(header(0, 1, 310), [(310, 1), (4_000_000_000, 2), (311, 3)].into_iter());
    vec![
        Seed::new("arrival", stream(0, &both(4, 300, 0))),
        Seed::new("arrival-extended-over-a-wrap", stream(choice::EXTENDED, &both(4, 1 << 30, 1 << 30))),
        Seed::new("arrival-mixed-types", stream(choice::ODD_TICK | choice::WATCHED, &mixed)),
        Seed::new("ordered", stream(choice::ORDERED, &both(4, 300, 0))),
        Seed::new(
            "ordered-published",
            stream(choice::ORDERED | choice::NARROW | choice::PUBLISH, &both(6, 1500, 0)),
        ),
        Seed::new("ordered-mixed-types", stream(choice::ORDERED | choice::WATCHED, &mixed)),
        Seed::new("ordered-restart", stream(choice::ORDERED | choice::NARROW, &restart)),
        Seed::new("ordered-wild-stamp", stream(choice::ORDERED | choice::NARROW, &wild)),
        Seed::new(
            "one-module",
            stream(choice::ONE_MODULE | choice::EXTENDED | choice::ODD_TICK, &both(2, 9, 5)),
        ),
    ]
}
