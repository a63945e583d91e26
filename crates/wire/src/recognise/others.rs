//! SoNDe, Mesytec, CNCS, sampled channels, and packets of link tests.

use super::candidates::{Candidates, Certainty, Format};
use crate::adc_readout::{AdcPacket, Content, Rejection as AdcRejection};
use crate::cncs::groups;
use crate::drop::{DropLayout, DropPacket, Rejection as DropRejection};
use crate::mesytec::{Datagram, Rejection as MesytecRejection};
use crate::numbered::NumberedHeader;
use crate::sonde::{Rejection as SondeRejection, SondePacket};

pub(super) fn add(bytes: &[u8], candidates: &mut Candidates) {
    if NumberedHeader::parse(bytes).is_ok() {
        candidates.add(Format::Numbered, Certainty::Strong, None);
    }
    add_drop(bytes, candidates);
    add_mesytec(bytes, candidates);
    add_cncs(bytes, candidates);
    add_adc(bytes, candidates);
    add_sonde(bytes, candidates);
}

fn add_drop(bytes: &[u8], candidates: &mut Candidates) {
    match DropPacket::parse(&DropLayout::P1, bytes) {
        Ok(_) => candidates.add(Format::DropP1, Certainty::Strong, None),
        Err(DropRejection::CutPayload { .. }) => {
            candidates.add(Format::DropP1, Certainty::Fair, Some("shorter than its header says"));
        }
        Err(_) => {}
    }
}

fn add_mesytec(bytes: &[u8], candidates: &mut Candidates) {
    match Datagram::parse(bytes) {
        Ok(datagram) if datagram.triggers().any(|trigger| trigger.is_ok()) => {
            candidates.add(Format::Mesytec, Certainty::Strong, None);
        }
        Ok(_) => candidates.add(Format::Mesytec, Certainty::Weak, Some("no sound block of a trigger")),
        Err(MesytecRejection::NoTriggers) => {
            candidates.add(Format::Mesytec, Certainty::Weak, Some("no triggers"));
        }
        Err(_) => {}
    }
}

fn add_cncs(bytes: &[u8], candidates: &mut Candidates) {
    let mut all = groups(bytes);
    let found = all.by_ref().count();
    if found > 0 {
        // A group has 60 bits that must be as they are.
        let fault = (all.error_bytes() > 0).then_some("bytes that belong to no group");
        candidates.add(Format::Cncs, Certainty::Strong, fault);
    }
}

fn add_adc(bytes: &[u8], candidates: &mut Candidates) {
    match AdcPacket::parse(bytes) {
        Ok(AdcPacket { content: Content::Idle(_), .. }) => {
            candidates.add(Format::AdcReadout, Certainty::Strong, None);
        }
        Ok(AdcPacket { content: Content::Data(data), .. }) => {
            let fault = data.modules().any(|module| module.is_err()).then_some("damaged modules");
            candidates.add(Format::AdcReadout, Certainty::Strong, fault);
        }
        Err(AdcRejection::NoIdleTime) => {
            candidates.add(Format::AdcReadout, Certainty::Fair, Some("a heartbeat without its time"));
        }
        Err(_) => {}
    }
}

fn add_sonde(bytes: &[u8], candidates: &mut Candidates) {
    match SondePacket::parse(bytes) {
        Ok(_) => candidates.add(Format::Sonde, Certainty::Strong, None),
        // The length in the header is that of the datagram: 16 bits that need not agree.
        Err(SondeRejection::UnknownType(_)) => {
            candidates.add(Format::Sonde, Certainty::Fair, Some("a type that carries no readouts"));
        }
        Err(SondeRejection::WrongCount) => {
            candidates.add(Format::Sonde, Certainty::Fair, Some("not as many entries as it says"));
        }
        Err(SondeRejection::NoRoomForAnEvent) => {
            candidates.add(Format::Sonde, Certainty::Fair, Some("too short for an event"));
        }
        Err(_) => {}
    }
}
