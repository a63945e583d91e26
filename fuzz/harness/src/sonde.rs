//! Packets of SoNDe: single ones, and streams of them into a pipeline.

use crate::packet_stream::{form_stream, sorting};
use evforge_core::geometry::LogicalGeometry;
use evforge_detect::settings::SortingSettings;
use evforge_detect::sonde::Sonde;
use evforge_detect::sonde::settings::{
    EventSequence, GroupAddress, GroupSettings, MaskSettings, ModuleSettings, SondeSettings, TimeSettings,
};
use evforge_wire::sonde::{Content, Header, Numbering, Rejection, SondeEncoder, SondePacket};

/// Bits of the first byte of a stream: which settings its packets are formed with.
pub mod choice {
    /// Times are extended.
    pub const EXTENDED: u8 = 1;
    /// Events leave in order of time; extends times as well.
    pub const ORDERED: u8 = 1 << 1;
    /// A tick of 62.5 ns.
    pub const ODD_TICK: u8 = 1 << 2;
    /// A window of 1 us, forward jumps of 2 us, restarts of 10 us.
    pub const NARROW: u8 = 1 << 3;
    /// What is closed is published after every packet.
    pub const PUBLISH: u8 = 1 << 4;
    /// One module, whatever the system number, instead of two.
    pub const ONE_MODULE: u8 = 1 << 5;
    /// Monitor data are collected.
    pub const WATCHED: u8 = 1 << 6;
}

/// Parses `bytes` as a packet. What parses is encoded and parsed again.
///
/// # Panics
/// If numbering and packet disagree, if lengths do not add up, or if the content changes on the way.
pub fn sonde(bytes: &[u8]) {
    let numbering = SondePacket::numbering(bytes);
    let packet = match SondePacket::parse(bytes) {
        Ok(packet) => packet,
        Err(Rejection::TooShort | Rejection::WrongVersion(_)) => return assert_eq!(numbering, None),
        Err(_) => return assert!(numbering.is_some(), "a packet that is only damaged has a number"),
    };
    let Header { system, packet_count, time, .. } = packet.header;
    assert_eq!(numbering, Some(Numbering { system, packet_count, time }));
    let mut encoder = SondeEncoder::default();
    let (complete, used, surplus) = match packet.content {
        Content::TriggerTimes(times) => {
            encoder.begin_trigger_times(&packet.header);
            assert_eq!(times.entries().len(), times.len());
            let complete = times.entries().all(|entry| encoder.push_trigger_time(&entry));
            (complete, 1 + 5 * times.len(), 0)
        }
        Content::SingleEvent(event) => {
            let samples: Vec<u16> = event.samples().collect();
            let (channel, used) = ((event.asic, event.channel), 7 + 2 * samples.len());
            let (trigger_type, hold_delay) = (event.trigger_type, event.hold_delay);
            (encoder.single_event(&packet.header, channel, trigger_type, hold_delay, &samples), used, 0)
        }
        Content::MultiEvent(multi) => {
            encoder.begin_multi_event(&packet.header, multi.samples_per_event() as u16);
            assert_eq!(multi.events().len(), multi.len());
            let complete = multi.events().all(|event| {
                let samples: Vec<_> = event.samples().collect();
                encoder.push_event(event.time, &samples)
            });
            let used: usize = multi.events().map(|event| 4 + 5 * event.samples().count()).sum();
            (complete, 3 + used, multi.surplus())
        }
    };
    assert_eq!(10 + used + surplus, bytes.len(), "bytes that belong to nothing");
    if complete && surplus == 0 {
        assert!(encoder.packet() == bytes, "the packet changed on the way");
    }
}

/// Forms events of the packets in `bytes`: one byte for the settings (see [`choice`]), then a stream.
///
/// # Panics
/// As [`form_stream`].
pub fn sonde_stream(bytes: &[u8]) {
    form_stream(bytes, choice::PUBLISH, choice::WATCHED, |choice| {
        Box::new(Sonde::new(&settings(choice)).expect("the settings of the exercise are sound"))
    });
}

/// A small SoNDe of 16 x 8 pixels.
fn settings(choice: u8) -> SondeSettings {
    let has = |bit: u8| choice & bit != 0;
    let module = |system, x| ModuleSettings { system, x, y: 0 };
    let modules = if has(choice::ONE_MODULE) {
        vec![module(None, 4)]
    } else {
        vec![module(Some(0), 0), module(Some(1), 8)]
    };
    SondeSettings {
        geometry: LogicalGeometry::flat(16, 8).expect("a small geometry"),
        groups: vec![GroupSettings { address: GroupAddress::Any, x: 0, y: 0, modules }],
        time: TimeSettings {
            extended: has(choice::EXTENDED) || has(choice::ORDERED),
            tick: has(choice::ODD_TICK).then_some(62_500),
        },
        sequence: if has(choice::ORDERED) { EventSequence::Time } else { EventSequence::Arrival },
        sorting: SortingSettings { max_group_hits: 1, ..sorting(has(choice::NARROW)) },
        mask: vec![MaskSettings { group: 0, module: 0, asic: 2, channel: 7, reason: "hot".into() }],
    }
}
