//! Which format a packet has, from its bytes alone.
//!
//! | file | formats | by what they are known |
//! |---|---|---|
//! | `ess` | ESS readout of any type | the letters ESS, the lengths of its records |
//! | `srs` | SRS with VMM2, VMM3 of 2018 and VMM3a | the data id |
//! | `caen` | CAEN records, jadaq | nothing (records); the version, the number of elements |
//! | `isis` | streaming readout of ISIS, both versions | the marker, the bits that tell the version, lengths that agree |
//! | `network` | none of a detector: EPICS, DNS, DHCP, NTP and the like | their port and their first bytes |
//! | `others` | SoNDe, Mesytec, CNCS, sampled channels, packets of link tests | types, framing, lengths that agree |
//!
//! The parsers of the formats decide; here is only which of them to ask, and what their answers are worth. Some formats
//! have no signature: any packet of a multiple of 8 bytes may be CAEN records. So [`recognise`] returns
//! [`Candidates`], the most certain one first, and a stream is to be judged by many packets.

mod caen;
mod candidates;
mod ess;
mod isis;
mod network;
mod others;
mod srs;

pub use candidates::{Candidate, Candidates, Certainty, Format};
pub use ess::{EssLook, EssRecords, look_at_ess};
pub use isis::isis_fault_in_words;
pub use network::network_protocol;

/// The formats that a packet may have.
pub fn recognise(bytes: &[u8]) -> Candidates {
    let mut candidates = Candidates::default();
    ess::add(bytes, &mut candidates);
    srs::add(bytes, &mut candidates);
    isis::add(bytes, &mut candidates);
    others::add(bytes, &mut candidates);
    caen::add(bytes, &mut candidates);
    candidates
}
