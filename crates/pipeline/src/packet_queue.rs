//! Memory for packets that have been received and wait to be formed into events.
//!
//! Neutrons come in pulses: for some milliseconds a detector sends several times as fast as on average. The buffer of a
//! socket is often too small for that (`net.core.rmem_max`), so packets wait here, in pieces: a piece is what is formed
//! before the kernel is asked for packets again.
//!
//! What a receiver fills is mostly empty, as every packet has room for the largest piece that the kernel hands over at
//! once. Packets that wait are copied close together, and `input.queue` is what they take.

use evforge_config::{Config, InputSettings};
use evforge_core::get_size2::GetSize;
use evforge_core::packet::{PacketBatch, PacketSlab};

/// Bytes of packets in a piece: one or two milliseconds of forming.
const PIECE_BYTES: usize = 512 << 10;
/// Packets in a piece.
const PIECE_PACKETS: usize = 1024;

/// A slab to receive into: for what the kernel hands over at once. With UDP_GRO its pieces are large.
pub(crate) fn receive_slab(input: &InputSettings) -> PacketSlab {
    const LARGEST_PIECES: usize = 8 << 20;
    let bytes = usize::try_from(input.bytes_per_slab.bytes).unwrap_or(usize::MAX);
    PacketSlab::new(input.packets_per_slab.max(4096), bytes.max(LARGEST_PIECES))
}

/// An empty piece.
pub(crate) fn piece() -> PacketSlab {
    PacketSlab::new(PIECE_PACKETS, PIECE_BYTES)
}

/// How many pieces `input.queue` has room for; at least four.
pub(crate) fn pieces(input: &InputSettings) -> usize {
    let bytes = usize::try_from(input.queue.bytes).unwrap_or(usize::MAX);
    (bytes / piece().get_heap_size()).max(4)
}

/// True if these packets can be formed where they lie, as the kernel has no more: within some milliseconds.
pub(crate) fn are_few(packets: &PacketBatch<'_>) -> bool {
    packets.iter().map(|packet| packet.bytes.len()).sum::<usize>() <= 4 * PIECE_BYTES
}

/// Copies packets into a piece, from number `next` on, as many as fit: the number of the first one that does not.
pub(crate) fn copy(packets: &PacketBatch<'_>, mut next: usize, piece: &mut PacketSlab) -> usize {
    while let Some(packet) = packets.get(next)
        && piece.push(packet.bytes, packet.original_length as usize, packet.origin)
    {
        next += 1;
    }
    next
}

/// Most memory of packets on their way from a capture file, in bytes: slabs, and the window over the file.
pub fn file_packets_bound(input: &InputSettings) -> usize {
    let slabs = if input.threads == 1 { 1 } else { InputSettings::SLABS };
    let bytes = usize::try_from(input.bytes_per_slab.bytes).unwrap_or(usize::MAX);
    slabs * PacketSlab::new(input.packets_per_slab, bytes).get_heap_size()
        + evforge_net::capture::MEMORY_BOUND
}

/// Most memory of packets on their way from where a live run receives them, in bytes.
pub fn live_packets_bound(config: &Config) -> usize {
    let input = &config.input;
    let threads = if input.threads == 1 { 1 } else { config.threads.receive.count };
    // A thread that only receives has a piece that it fills as well.
    let pieces = pieces(input) + usize::from(input.threads > 1);
    threads * (receive_slab(input).get_heap_size() + pieces * piece().get_heap_size())
}
