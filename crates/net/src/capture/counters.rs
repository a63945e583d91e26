//! What has been read from a capture, and what was skipped and why.

use crate::frame::Skip;

evforge_core::counters! {
    /// Counters of reading one capture file: `frames = packets + ` all the reasons from `other_port` on.
    pub struct CaptureCounters: "capture" {
        frames: Information, Packets, "Frames (in .pkts: payloads) found in the capture file.";
        packets: Information, Packets, "UDP packets delivered from the capture file.";
        bytes: Information, Bytes, "Payload bytes of the UDP packets delivered from the capture file.";
        cut: Information, Packets, "Delivered packets that a snap length has cut: part of the payload is missing.";
        unstamped: Information, Packets, "Delivered packets for which the capture has no usable time stamp.";
        other_port: Information, Packets, "Frames skipped: UDP to a port that was not asked for.";
        not_ip: Information, Packets, "Frames skipped: neither IPv4 nor IPv6 (ARP and the like).";
        not_udp: Information, Packets, "Frames skipped: IP, but not UDP.";
        fragments: Information, Packets, "Frames skipped: fragments of UDP packets, which are not reassembled.";
        headers_cut: Information, Packets, "Frames skipped: cut by a snap length before the payload.";
        malformed: Information, Packets, "Frames skipped: headers malformed or contradictory.";
        unknown_link: Information, Packets, "Frames skipped: the interface's link type is not one that can be read.";
        unknown_interface: Information, Packets, "Frames skipped: the capture does not describe their interface.";
        obsolete: Information, Packets, "Frames skipped: in packet blocks of the obsolete type 2.";
    }
}

impl CaptureCounters {
    /// Counts one frame that was not delivered.
    pub(super) fn count_skipped(&mut self, reason: Skip) {
        self.frames += 1;
        *match reason {
            Skip::NotIp => &mut self.not_ip,
            Skip::NotUdp => &mut self.not_udp,
            Skip::Fragment => &mut self.fragments,
            Skip::HeadersCut => &mut self.headers_cut,
            Skip::Malformed => &mut self.malformed,
            Skip::UnknownLink => &mut self.unknown_link,
            Skip::UnknownInterface => &mut self.unknown_interface,
            Skip::Obsolete => &mut self.obsolete,
        } += 1;
    }

    /// All frames that were not delivered, whatever the reason.
    pub fn skipped(&self) -> u64 {
        self.other_port
            + self.not_ip
            + self.not_udp
            + self.fragments
            + self.headers_cut
            + self.malformed
            + self.unknown_link
            + self.unknown_interface
            + self.obsolete
    }
}
