//! What happens to the packets that a thread receives.

use evforge_core::packet::PacketSlab;

use super::receiver::PacketReceiver;

/// Takes the packets that one thread receives, in their order.
pub trait PacketHandler {
    /// The slab that the next packets are put into, behind those that are in it. It must have room for the largest piece
    /// that the kernel hands over at once ([`LARGEST_PIECE`](super::LARGEST_PIECE)), or be empty: into a full one nothing is
    /// received, which looks as if nothing had come.
    fn slab_to_fill(&mut self) -> &mut PacketSlab;

    /// `packets` packets have been put into the slab given last, from `receiver`. Called after every attempt to receive,
    /// also if nothing has come, about every 20 ms or more often, and with what came before a failure.
    fn received(&mut self, packets: usize, receiver: &dyn PacketReceiver);

    /// True if packets wait here to be worked on: receiving then asks for packets, and does not wait for them.
    fn has_work(&self) -> bool {
        false
    }

    /// True if the session is to end because of something that this handler has seen.
    fn wants_end(&self) -> bool {
        false
    }

    /// Packets that this handler has had to drop so far, because whoever works on them was behind.
    fn dropped(&self) -> u64 {
        0
    }
}
