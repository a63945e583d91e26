//! Packets by hand, and files of them.

use evforge_wire::adc_readout::{AdcEncoder, Header, RawTime};
use evforge_wire::ess::beam_monitor::MonitorKind;
use evforge_wire::ess::{EssHeader, EssTime, MonitorFields, Vmm3aFields};
use std::path::{Path, PathBuf};

/// A `.pkts` file.
pub(crate) fn pkts(folder: &Path, name: &str, packets: &[Vec<u8>]) -> PathBuf {
    let mut bytes = Vec::new();
    for packet in packets {
        bytes.extend((packet.len() as u32).to_le_bytes());
        bytes.extend(packet);
    }
    let path = folder.join(format!("{name}.pkts"));
    std::fs::write(&path, bytes).expect("a file that can be written");
    path
}

/// A packet of the ESS readout.
pub(crate) fn ess(detector_type: u8, queue: u8, pulse: u32, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    let pulse_time = |number: u32| {
        let ticks = u64::from(number) * 3_828_370;
        EssTime::from_total_ticks(1_700_000_000 * 88_052_500 + ticks).expect("before 2106")
    };
    let header = EssHeader {
        version: 1,
        detector_type,
        output_queue: queue,
        time_source: 1,
        pulse: pulse_time(pulse + 1),
        previous_pulse: pulse_time(pulse),
        sequence,
    };
    header.write_packet(payload, &mut packet);
    packet
}

/// A time a little after pulse number `pulse`.
pub(crate) fn after(pulse: u32) -> EssTime {
    let ticks = u64::from(pulse + 1) * 3_828_370 + 10_000;
    EssTime::from_total_ticks(1_700_000_000 * 88_052_500 + ticks).expect("before 2106")
}

/// Records of a cassette of FREIA: a wire on the odd VMM and a strip on the even one, at two hybrids.
pub(crate) fn freia(pulse: u32, length: u16) -> Vec<u8> {
    let record = |vmm, channel| Vmm3aFields {
        vmm,
        channel,
        adc: 200,
        time: after(pulse),
        length,
        ..Default::default()
    };
    [record(0, 60), record(1, 20), record(2, 3), record(3, 47)].iter().flat_map(Vmm3aFields::encode).collect()
}

/// Beam monitors of every kind, as `configs/beam-monitors.toml` has them.
pub(crate) fn beam_monitors() -> Vec<Vec<u8>> {
    let records = |pulse| {
        let record = |fen, kind: MonitorKind, value| MonitorFields {
            fibre: 22,
            fen,
            kind: kind.to_byte(),
            adc: 100,
            value,
            time: after(pulse),
            ..Default::default()
        };
        let all = [
            record(0, MonitorKind::Event0D, 0),
            record(1, MonitorKind::Event2D, MonitorFields::place(7, 500)),
            record(2, MonitorKind::Integrating, MonitorFields::sum(1000, 4)),
        ];
        all.iter().flat_map(MonitorFields::encode).collect::<Vec<_>>()
    };
    (0..8).map(|pulse| ess(0x10, 0, pulse, pulse, &records(pulse))).collect()
}

/// Runs of samples of all four channels.
pub(crate) fn sampled_channels() -> Vec<Vec<u8>> {
    let packet = |number: u16| {
        let mut encoder = AdcEncoder::default();
        encoder.begin(&Header { global_count: number, readout_count: number, reserved: 0 });
        for channel in 0..4 {
            let time = RawTime { seconds: 100, fraction: 1000 * u32::from(number) };
            assert!(encoder.push_module(channel, 1, time, &[3, 70, 5]), "there is room");
        }
        encoder.finish(3);
        encoder.packet().to_vec()
    };
    (0..5).map(packet).collect()
}
