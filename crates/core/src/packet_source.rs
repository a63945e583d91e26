//! Where packets come from when they are not live: capture files, dumps of readouts.

use crate::counter::CounterSnapshot;
use crate::packet::PacketSlab;
use crate::run_state::InputFault;
use std::error::Error;
use std::path::Path;

/// How a call of [`PacketSource::fill`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// There may be more packets: empty the slab and call again.
    More,
    /// The input has been read to its end.
    End,
}

/// Why a source of packets cannot go on, in words for a person: what was found, where, and what to do.
pub type SourceError = Box<dyn Error>;

/// A file that packets are read from, in its order, as fast as somebody takes them.
///
/// Whoever forms events knows no more of its input than this, so that a new kind of file is an implementation
/// of this trait and nothing else.
pub trait PacketSource: Send {
    /// Copies packets behind those that are in `slab` already, until it is full or the input ends. A packet
    /// that does not fit any more is the first of the next call.
    ///
    /// # Errors
    /// If the input is damaged or cannot be read on. All packets before that place have been delivered by
    /// earlier calls: a call that has copied packets never fails, the next one does. Calling again after an
    /// error reports it again.
    fn fill(&mut self, slab: &mut PacketSlab) -> Result<Fill, SourceError>;

    /// The file.
    fn path(&self) -> &Path;

    /// Packets delivered so far.
    fn packets(&self) -> u64;

    /// Bytes of the input that have been dealt with.
    fn position(&self) -> u64;

    /// Bytes of the input; none where it is unknown, as for a pipe.
    fn total_bytes(&self) -> Option<u64>;

    /// Name of the counters' stage.
    fn stage(&self) -> &'static str;

    /// What has been read and left out so far.
    fn counters(&self) -> CounterSnapshot;

    /// What is wrong with what has been read so far, besides what its counters say.
    fn faults(&self) -> Vec<InputFault> {
        Vec::new()
    }

    /// What is worth knowing of what has been read so far, and is no fault: whole sentences.
    fn hints(&self) -> Vec<String> {
        Vec::new()
    }

    /// True if the input has ended because it was asked to, and not where it ends itself.
    fn is_stopped(&self) -> bool {
        false
    }
}
