//! What is counted of trains for the next node.

evforge_core::counters! {
    /// Trains on their way to the next node.
    pub struct ForwardCounters: "forwarded trains" {
        trains_offered: Enters(Outputs), Times, "Trains that were to be passed on.";
        trains_sent: Leaves(Outputs), Times, "Trains that were given to the kernel, every byte of them.";
        trains_not_whole: Discarded(Outputs), Times, "Incomplete trains that are kept here: the next node gets whole ones only.";
        trains_not_connected: Discarded(Outputs), Times, "Trains that were not sent, because there was no connection to the next node.";
        trains_not_taken_in_time: Discarded(Outputs), Times, "Trains that were cut off, because the next node took nothing for too long; their connection was closed.";
        trains_broken_off: Discarded(Outputs), Times, "Trains that were cut off, because the connection to the next node broke inside them.";
        packets_sent: Information, Packets, "Packets given to the kernel.";
        bytes_sent: Information, Bytes, "Bytes given to the kernel: UDP payload; over TCP, of the streams.";
        packets_refused: Information, Packets, "Packets of which the other side said that nobody listens; they count as sent.";
        connections_made: Information, Times, "Connections to the next node that were made.";
        connections_not_made: Information, Times, "Attempts to connect to the next node that have failed.";
    }
}
