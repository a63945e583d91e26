//! What happens to a datagram.

/// What happened to a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketFate {
    /// Its data are in their place.
    Used,
    /// Its open train had it already.
    Repeated,
    /// Its train had been closed.
    Late,
    /// It is of no use.
    Rejected(PacketFault),
}

/// Why a packet is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketFault {
    /// Fewer bytes than a trailer.
    TooShort,
    /// A trailer without data.
    Empty,
    /// More data than packets have.
    TooLong,
    /// Less data than packets have, and not the last.
    Cut,
    /// Its data would lie beyond the largest train.
    BeyondLargest,
    /// Marked as the first, and its number is not 0; or number 0, and not marked.
    WrongFirst,
    /// Of a source beyond the number of sources.
    FurtherSource,
    /// No buffer was free when its train was to be opened.
    NoBuffer,
    /// Its number is above that of the last packet.
    BeyondLast,
    /// Marked as the last, and another one is the last.
    OtherLast,
    /// Marked as the last, and its number or a higher one has been there.
    LastTooLow,
}
