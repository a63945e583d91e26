//! Messages by what they are, and those of no use by their reason.

use super::counters::IsisCounters;
use evforge_wire::isis::{Fault, Header, Kind, Version};

/// Counts a sound message, after one of the version `last`; false if it is none of a frame.
pub(super) fn count_message(
    counters: &mut IsisCounters,
    last: &mut Option<Version>,
    header: &Header,
) -> bool {
    counters.messages += 1;
    match header.version {
        Version::V1 => counters.messages_of_version_1 += 1,
        Version::V2 => counters.messages_of_version_2 += 1,
    }
    let changes = last.is_some_and(|version| version != header.version);
    counters.version_changes += u64::from(changes);
    *last = Some(header.version);
    counters.messages_paused += u64::from(header.is_paused);
    match header.kind {
        Kind::NeutronData => {}
        Kind::Veto => counters.messages_veto += 1,
        Kind::EndOfRun => counters.messages_end_of_run += 1,
        Kind::SampleEnvironment => {
            counters.messages_of_sample_environment += 1;
            return false;
        }
    }
    true
}

/// Counts a message of no use.
pub(super) fn count_fault(counters: &mut IsisCounters, fault: Fault) {
    counters.messages += 1;
    *match fault {
        Fault::HeaderCut(_) => &mut counters.messages_header_cut,
        Fault::MalformedWord1(_) => &mut counters.messages_malformed,
        Fault::LengthTooShort { .. } => &mut counters.messages_too_short,
        Fault::LengthBeyondDatagram { .. } => &mut counters.messages_beyond_packet,
        Fault::WrongVersion(_) => &mut counters.messages_of_wrong_version,
        Fault::UnknownType(_) => &mut counters.messages_of_unknown_type,
        Fault::InvalidTime(_) => &mut counters.messages_without_valid_time,
        Fault::HalfEvent(_) => &mut counters.messages_with_half_event,
        Fault::WidthsTooLarge(_) => &mut counters.messages_with_wrong_widths,
    } += 1;
}
