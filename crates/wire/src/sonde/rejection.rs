//! Packets that are of no use.

/// Why a packet is rejected as a whole, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// Too short for the header and one byte of content. The reference returns EBADSIZE.
    TooShort,
    /// A version that is not 0. The reference returns EHEADER.
    WrongVersion(u8),
    /// The length in the header is not that of the datagram. The reference returns EHEADER.
    WrongLength,
    /// No type of readout; types of the control protocol come here as well. The reference returns EUNSUPP.
    UnknownType(u8),
    /// Type 0xD4 with a content shorter than one event with one sample. The reference returns EBADSIZE.
    NoRoomForAnEvent,
    /// The content does not hold as many entries, events or samples as it says. The reference returns
    /// EHEADER.
    WrongCount,
}
