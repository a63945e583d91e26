//! Packets of SRS front-end cards for the corpora.

use evforge_detect::gdgem::settings::ReadoutFormat;
use evforge_wire::srs_vmm::{
    TimeMarker, TriggerMarker, Vmm2Encoder, Vmm3Encoder, Vmm3Variant, VmmReadout, Word,
};

/// A readout that is like any other.
pub(super) fn readout(chip: u8, channel: u8, bunch_crossing: u16, trigger_offset: u8) -> VmmReadout {
    let adc = 50 + 10 * u16::from(channel % 8);
    VmmReadout { chip, channel, bunch_crossing, trigger_offset, tdc: 100, adc, over_threshold: true }
}

/// As [`readout`], as a word of VMM3.
pub(super) fn hit(chip: u8, channel: u8, bunch_crossing: u16) -> Word {
    Word::Readout(readout(chip, channel, bunch_crossing, 0))
}

/// A marker as a word of VMM3.
pub(super) fn marker(chip: u8, stamp: u64) -> Word {
    Word::Marker(TimeMarker { chip, stamp })
}

/// A packet of VMM2.
pub(super) fn vmm2(frame_counter: u32, chip: u8, trigger_stamp: u32, readouts: &[VmmReadout]) -> Vec<u8> {
    let mut encoder = Vmm2Encoder::default();
    encoder.begin(frame_counter, chip, trigger_stamp);
    for readout in readouts {
        assert!(encoder.push(readout), "more readouts than a packet holds");
    }
    encoder.packet().to_vec()
}

/// A packet of VMM3 of 2018 or VMM3a.
pub(super) fn vmm3(variant: Vmm3Variant, frame_counter: u32, fec: u16, words: &[Word]) -> Vec<u8> {
    let mut encoder = Vmm3Encoder::new(variant);
    encoder.begin(frame_counter, fec, frame_counter.wrapping_mul(1000));
    for word in words {
        let fits = match word {
            Word::Readout(readout) => encoder.push_readout(readout),
            Word::Marker(marker) => encoder.push_marker(marker),
        };
        assert!(fits, "more words than a packet holds");
    }
    encoder.packet().to_vec()
}

/// The packets of a neutron at strips `x` and `y` (0..=59) at the stamp `stamp`: five hits on each plane of
/// the detector of [`settings`](crate::gdgem::settings).
pub(super) fn neutron(format: ReadoutFormat, number: u32, stamp: u64, x: u8, y: u8) -> Vec<Vec<u8>> {
    let variant = match format {
        ReadoutFormat::Vmm2 => {
            let track = |chip, strip| -> Vec<_> {
                (0..5).map(|n| readout(chip, strip + n, 100 + u16::from(n), 0)).collect()
            };
            let packet = |number, chip, strip| vmm2(number, chip, stamp as u32, &track(chip, strip));
            return vec![packet(2 * number, 2, x), packet(2 * number + 1, 0, y)];
        }
        ReadoutFormat::Vmm3Of2018 => Vmm3Variant::Of2018,
        ReadoutFormat::Vmm3a | ReadoutFormat::Vmm3aTriggered => Vmm3Variant::Vmm3a,
    };
    let markers = match format {
        ReadoutFormat::Vmm3aTriggered => vec![
            Word::Marker(TriggerMarker::EventCounter { chip: 0, count: number as u16 }.into()),
            Word::Marker(TriggerMarker::TriggerTime { chip: 0, stamp: stamp + 1024 }.into()),
            Word::Marker(TriggerMarker::RelativeTime { chip: 0, ticks: 1024 }.into()),
        ],
        _ => vec![marker(0, stamp)],
    };
    let packet = |fec, strip| {
        let mut words = markers.clone();
        words.extend((0..5).map(|n| hit(0, strip + n, 100 + u16::from(n))));
        vmm3(variant, number, fec, &words)
    };
    vec![packet(2, x), packet(1, y)]
}

/// A stream for the exercises of pipelines: the byte of the settings, then packets, each behind its length.
pub(super) fn stream(choice: u8, packets: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![choice];
    for packet in packets {
        let length = u16::try_from(packet.len()).expect("no packet of the corpus is that long");
        bytes.extend(length.to_le_bytes());
        bytes.extend(packet);
    }
    bytes
}

/// `bytes` with those from `at` on replaced.
pub(super) fn spoilt(mut bytes: Vec<u8>, at: usize, by: &[u8]) -> Vec<u8> {
    bytes[at..at + by.len()].copy_from_slice(by);
    bytes
}
