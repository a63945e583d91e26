//! Datagrams of the ISIS streaming readout, of either version.

use super::candidates::{Candidates, Certainty, Format};
use crate::isis::{Fault, Messages, Rules};

pub(super) fn add(bytes: &[u8], candidates: &mut Candidates) {
    let mut messages = Messages::new(bytes, Rules::default()).peekable();
    // Records of CAEN digitisers that end a run are ones throughout.
    if messages.peek().is_none() || bytes.iter().all(|&byte| byte == 0xFF) {
        return;
    }
    let (mut is_sound, mut fault) = (false, None);
    for message in messages {
        match message {
            Ok(_) => is_sound = true,
            // The marker alone is 32 bits that are ones.
            Err(Fault::MalformedWord1(_)) if !is_sound => return,
            Err(found) => fault = fault.or(Some(found)),
        }
    }
    let certainty = if is_sound { Certainty::Strong } else { Certainty::Fair };
    candidates.add(Format::Isis, certainty, fault.map(isis_fault_in_words));
}

/// What a fault of a message of the ISIS streaming readout is, in words.
pub fn isis_fault_in_words(fault: Fault) -> &'static str {
    match fault {
        Fault::HeaderCut(_) => "it ends within the header of a message",
        Fault::MalformedWord1(_) => "a word 1 of neither version",
        Fault::LengthTooShort { .. } => "a message shorter than its header",
        Fault::LengthBeyondDatagram { .. } => "a message longer than the datagram",
        Fault::WrongVersion(_) => "a message of another version",
        Fault::UnknownType(_) => "a type of message that does not exist",
        Fault::InvalidTime(_) => "a time that does not exist",
        Fault::HalfEvent(_) => "half an event",
        Fault::WidthsTooLarge(_) => "parts of an event with more than 32 bits together",
    }
}
