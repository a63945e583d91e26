//! Packets of SRS front-end cards. VMM2 and VMM3 of 2018 share their data id: only lengths and chips tell them apart.

use super::candidates::{Candidates, Certainty, Format};
use crate::srs_vmm::{Rejection, Vmm2Packet, Vmm3Packet, Vmm3Variant, Word};

/// Chips of a front-end card.
const CHIPS: u8 = 16;

pub(super) fn add(bytes: &[u8], candidates: &mut Candidates) {
    let mut add = |format, result: Result<Certainty, Rejection>| match result {
        Ok(certainty) => candidates.add(format, certainty, None),
        // Without the data id nothing speaks for this format.
        Err(Rejection::TooShort | Rejection::EndOfFrame | Rejection::WrongDataId(_)) => {}
        Err(rejection) => candidates.add(format, Certainty::Fair, Some(in_words(rejection))),
    };
    if Vmm2Packet::numbering(bytes).is_some() || is_end_of_frame(bytes) {
        add(Format::SrsVmm2, Vmm2Packet::parse(bytes).map(|_| Certainty::Strong));
    }
    for (format, variant) in
        [(Format::SrsVmm3Of2018, Vmm3Variant::Of2018), (Format::SrsVmm3a, Vmm3Variant::Vmm3a)]
    {
        if Vmm3Packet::numbering(bytes, variant).is_some() || has_fec_0(bytes, variant) {
            add(format, Vmm3Packet::parse(bytes, variant).map(|packet| certainty(&packet, variant)));
        }
    }
}

/// Whether this is the packet of VMM2 that ends a frame, and nothing else but the zeros that fill a short frame.
fn is_end_of_frame(bytes: &[u8]) -> bool {
    let filling = bytes.strip_prefix(&crate::srs_vmm::END_OF_FRAME.to_be_bytes());
    filling.is_some_and(|filling| filling.iter().all(|&byte| byte == 0))
}

/// Whether the data id is right but for the number of the card.
fn has_fec_0(bytes: &[u8], variant: Vmm3Variant) -> bool {
    matches!(Vmm3Packet::parse(bytes, variant), Err(Rejection::NoSuchFec))
}

/// Readouts of VMM2 that are read as those of VMM3 come from chips that do not exist.
fn certainty(packet: &Vmm3Packet<'_>, variant: Vmm3Variant) -> Certainty {
    let exists = |word| match word {
        Word::Readout(readout) => readout.chip < CHIPS,
        Word::Marker(marker) => marker.chip < CHIPS,
    };
    let existing = packet.words().filter(|word| exists(*word)).count();
    if variant == Vmm3Variant::Vmm3a || existing == packet.len() {
        Certainty::Strong
    } else if 4 * existing >= 3 * packet.len() {
        Certainty::Fair
    } else {
        Certainty::Weak
    }
}

fn in_words(rejection: Rejection) -> &'static str {
    match rejection {
        Rejection::TooShort => "too short for its header",
        Rejection::EndOfFrame => "an end of frame, which this format does not have",
        Rejection::WrongDataId(_) => "the data id of another format",
        Rejection::NoSuchFec => "FEC number 0",
        Rejection::NoReadouts => "no readouts behind the header",
        Rejection::RaggedLength => "not a whole number of readouts",
    }
}
