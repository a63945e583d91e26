//! Packets of sampled channels.

use super::Seed;
use super::packets::{spoilt, stream};
use crate::adc_readout::choice;
use evforge_wire::adc_readout::{AdcEncoder, Header, RawTime};

/// A packet with a pulse in each of `channels` channels.
fn pulses(global_count: u16, channels: u16, samples: u16, filler: usize) -> Vec<u8> {
    let mut encoder = AdcEncoder::default();
    encoder.begin(&Header { global_count, readout_count: global_count, reserved: 0 });
    for channel in 0..channels {
        let run: Vec<u16> = (0..samples).map(|n| if n % 9 == 4 { 3000 + n } else { 100 }).collect();
        let time = RawTime { seconds: 1000, fraction: u32::from(global_count) * 50 };
        assert!(encoder.push_module(channel, 4, time, &run), "more than a packet holds");
    }
    encoder.finish(filler);
    encoder.packet().to_vec()
}

/// Good packets, and packets with one fault each.
pub fn seeds() -> Vec<Seed> {
    let good = pulses(7, 3, 20, 30);
    let mut idle = AdcEncoder::default();
    idle.idle(&Header::default(), RawTime { seconds: 0xAAAA_0000, fraction: 44_026_249 });
    let idle = idle.packet().to_vec();
    let mut short_idle = idle[..16].to_vec();
    short_idle[5] = 14;
    vec![
        Seed::new("data", good.clone()),
        Seed::new("data-without-filler", pulses(8, 1, 2000, 0)),
        Seed::new("data-without-modules", pulses(9, 0, 0, 8)),
        Seed::new("data-module-without-samples", pulses(9, 2, 0, 0)),
        Seed::new("idle", idle),
        Seed::new("idle-too-short", short_idle),
        Seed::new("wrong-length", good[..good.len() - 1].to_vec()),
        Seed::new("unknown-type", spoilt(good.clone(), 2, &[0x33])),
        Seed::new("no-module", spoilt(good.clone(), 10, &[0xAC])),
        Seed::new("wrong-module-length", spoilt(good.clone(), 12, &[0xFF])),
        Seed::new("wrong-module-trailer", spoilt(good.clone(), 10 + 60 + 56, &[0])),
        Seed::new("wrong-filler", spoilt(good.clone(), good.len() - 9, &[0])),
        Seed::new("wrong-packet-trailer", spoilt(good.clone(), good.len() - 1, &[0])),
    ]
}

/// Streams of packets, whole and with faults. The configuration has three channels.
pub fn stream_seeds() -> Vec<Seed> {
    let good: Vec<_> = (0..4).map(|n| pulses(n, 4, 20 + n, 6)).collect();
    let mut idle = AdcEncoder::default();
    idle.idle(&Header { global_count: 4, ..Header::default() }, RawTime { seconds: 1, fraction: 0 });
    let mut changing = AdcEncoder::default();
    changing.begin(&Header { global_count: 5, ..Header::default() });
    for oversampling in [1, 0, 3, u16::MAX] {
        let time = RawTime { seconds: u32::MAX, fraction: u32::MAX };
        assert!(changing.push_module(1, oversampling, time, &[9, u16::MAX, 7, u16::MAX]), "more than fits");
    }
    changing.finish(3);
    let mut faulty = good.clone();
    faulty[0] = spoilt(faulty[0].clone(), 10 + 60, &[0xAC]);
    faulty[1] = spoilt(faulty[1].clone(), 12, &[0xFF]);
    faulty[2].pop();
    faulty.extend([idle.packet().to_vec(), changing.packet().to_vec(), good[1].clone(), Vec::new()]);
    let all = choice::IGNORE_OVERSAMPLING | choice::AVERAGING | choice::WATCHED;
    vec![
        Seed::new("good", stream(0, &good)),
        Seed::new("good-averaged", stream(choice::AVERAGING, &good)),
        Seed::new("faulty", stream(choice::WATCHED, &faulty)),
        Seed::new("faulty-averaged", stream(all, &faulty)),
        Seed::new("good-pulses", stream(choice::PULSES, &good)),
        Seed::new("faulty-pulses", stream(all | choice::PULSES, &faulty)),
    ]
}
