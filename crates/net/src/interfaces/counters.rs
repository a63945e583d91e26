//! What network interfaces count.

use evforge_core::counter::CounterSet;

evforge_core::counters! {
    /// Counters of the network interfaces in use, together; all traffic of theirs is in them. A packet can be in
    /// several: drivers put the same loss into `missed`, `fifo_errors` and `over_errors`, and `dropped` holds what the
    /// kernel's backlog and XDP dropped as well.
    pub struct InterfaceCounters: "interface" {
        received: Information, Packets, "Frames that the interfaces received (rx_packets).";
        crc_errors: Information, Packets, "Frames with a wrong checksum of Ethernet: cable, connector, transceiver (rx_crc_errors).";
        frame_errors: Information, Packets, "Frames that were no whole number of bytes or otherwise out of shape (rx_frame_errors).";
        length_errors: Information, Packets, "Frames shorter or longer than allowed, for example longer than the MTU (rx_length_errors).";
        missed: Information, Packets, "Frames that the network card dropped because the host had given it no memory (rx_missed_errors).";
        fifo_errors: Information, Packets, "Overflows of the network card's own memory (rx_fifo_errors).";
        over_errors: Information, Packets, "Frames that did not fit into the memory that the host had given the network card (rx_over_errors).";
        dropped: Information, Packets, "Frames dropped between driver and protocols, also because no protocol knows them (rx_dropped).";
        no_handler: Information, Packets, "Frames that came in by an interface that is not active, such as the spare one of a bond (rx_nohandler).";
    }
}

impl InterfaceCounters {
    /// What has been counted since `earlier`; a counter that has gone back (the driver was loaded again) gives 0.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            received: self.received.saturating_sub(earlier.received),
            crc_errors: self.crc_errors.saturating_sub(earlier.crc_errors),
            frame_errors: self.frame_errors.saturating_sub(earlier.frame_errors),
            length_errors: self.length_errors.saturating_sub(earlier.length_errors),
            missed: self.missed.saturating_sub(earlier.missed),
            fifo_errors: self.fifo_errors.saturating_sub(earlier.fifo_errors),
            over_errors: self.over_errors.saturating_sub(earlier.over_errors),
            dropped: self.dropped.saturating_sub(earlier.dropped),
            no_handler: self.no_handler.saturating_sub(earlier.no_handler),
        }
    }

    /// Adds the counters of another interface.
    pub fn add(&mut self, other: &Self) {
        self.accumulate(other);
    }

    /// Frames that were lost on the wire.
    pub fn lost_on_the_link(&self) -> u64 {
        self.crc_errors + self.frame_errors + self.length_errors
    }

    /// Frames that the network card lost. The largest of three counters, because drivers put the same frames into
    /// several of them.
    pub fn lost_in_the_card(&self) -> u64 {
        self.missed.max(self.fifo_errors).max(self.over_errors)
    }
}
