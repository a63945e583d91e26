//! Single packets of sampled channels.

use crate::packet_stream::form_both_ways;
use evforge_core::pulse::PulseChannel;
use evforge_core::quantity::Frequency;
use evforge_detect::adc_readout::settings::{AveragingSettings, TimeLocation};
use evforge_detect::adc_readout::{AdcReadout, AdcReadoutSettings};
use evforge_wire::adc_readout::{AdcEncoder, AdcPacket, Content, Rejection};

/// Parses `bytes` as a packet. What parses without a fault is encoded and parsed again.
///
/// # Panics
/// If numbering and packet disagree, if lengths do not add up, or if the content changes on the way.
pub fn adc_readout(bytes: &[u8]) {
    let numbering = AdcPacket::numbering(bytes);
    let packet = match AdcPacket::parse(bytes) {
        Ok(packet) => packet,
        Err(Rejection::TooShort) => return assert_eq!(numbering, None),
        Err(Rejection::NoIdleTime) => return assert!(numbering.is_some()),
        Err(Rejection::WrongLength | Rejection::UnknownType(_)) => return,
    };
    assert_eq!(numbering.map(|numbering| numbering.global_count), Some(packet.header.global_count));
    let mut encoder = AdcEncoder::default();
    match packet.content {
        Content::Idle(idle) => encoder.idle(&packet.header, idle.time),
        Content::Data(data) => {
            // However a packet is damaged: the walk ends, and no samples are outside it.
            assert!(data.modules().count() <= bytes.len() / 20 + 1, "modules without end");
            let whole: usize = data.modules().flatten().map(|module| 20 + 2 * module.len()).sum();
            assert!(10 + whole <= bytes.len(), "more samples than bytes");
            encoder.begin(&packet.header);
            let mut used = 10;
            for item in data.modules() {
                let Ok(module) = item else { return };
                assert_eq!(module.samples().len(), module.len());
                used += 20 + 2 * module.len();
                let samples: Vec<u16> = module.samples().collect();
                if !encoder.push_module(module.channel, module.oversampling, module.time, &samples) {
                    return;
                }
            }
            assert!(used + 4 <= bytes.len(), "no room for the trailer");
            encoder.finish(bytes.len() - used - 4);
            if bytes.len() <= evforge_wire::adc_readout::LARGEST_PACKET {
                assert!(encoder.packet() == bytes, "the packet changed on the way");
            }
        }
    }
    let again = AdcPacket::parse(encoder.packet()).expect("an encoded packet is rejected");
    assert_eq!(again.header, packet.header);
}

/// Bits of the first byte of a stream: which settings its packets are formed with.
pub mod choice {
    /// Oversampling does not count for the time of a peak.
    pub const IGNORE_OVERSAMPLING: u8 = 1;
    /// Mean values of three samples.
    pub const AVERAGING: u8 = 1 << 1;
    /// Monitor data are collected.
    pub const WATCHED: u8 = 1 << 2;
    /// Pulses arrive on the last channel.
    pub const PULSES: u8 = 1 << 3;
}

/// Forms events of the packets in `bytes`: one byte for the settings (see [`choice`]), then a stream as in
/// [`form_both_ways`].
///
/// # Panics
/// As [`form_both_ways`].
pub fn adc_readout_stream(bytes: &[u8]) {
    let Some((&choice, stream)) = bytes.split_first() else { return };
    let has = |bit: u8| choice & bit != 0;
    let averaging = AveragingSettings { samples: 3, location: TimeLocation::Middle };
    let frequency = Frequency { millihertz: 14_000 };
    let pulses = PulseChannel { channel: 2, threshold: 300, frequency, max_time_of_flight: 100_000_000_000 };
    let settings = AdcReadoutSettings {
        channels: 3,
        ignore_oversampling: has(choice::IGNORE_OVERSAMPLING),
        averaging: has(choice::AVERAGING).then_some(averaging),
        pulse_channel: has(choice::PULSES).then_some(pulses),
        ..AdcReadoutSettings::default()
    };
    form_both_ways(stream, true, || {
        let mut detector = AdcReadout::new(&settings).expect("the settings of the exercise are sound");
        evforge_core::detector::Detector::set_monitoring(&mut detector, has(choice::WATCHED));
        Box::new(detector)
    });
}
