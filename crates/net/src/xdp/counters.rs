//! What a receiver by AF_XDP counts.

evforge_core::counters! {
    /// Counters of AF_XDP. No frame is in two of `steered`, `no_socket`, `other_port`, `fragments`, `extended`, `mixed` and
    /// `not_udp`, whose sum is `seen`; what was steered is in one of `frames`, `dropped` and `ring_full`.
    pub struct XdpCounters: "xdp" {
        seen: Information, Packets, "Frames that reached the interface, as counted by the steering program.";
        steered: Information, Packets, "Frames steered to an AF_XDP socket.";
        no_socket: Information, Packets, "Frames for the port in a queue without AF_XDP socket: left to the kernel, and received by the kernel socket.";
        other_port: Information, Packets, "UDP to another port or address: left to the kernel.";
        fragments: Information, Packets, "Fragments of IP packets: left to the kernel, which reassembles them for the kernel socket.";
        extended: Information, Packets, "IPv4 with options and IPv6 with extension headers: left to the kernel, and received by the kernel socket.";
        mixed: Information, Packets, "Whole frames of senders that also send fragments: left to the kernel as well, and received by the kernel socket, so that the packets of a sender stay in order.";
        not_udp: Information, Packets, "Frames that are no UDP (ARP, ICMP and the like): left to the kernel.";
        frames: Information, Packets, "Frames taken out of the rings.";
        dropped: Information, Packets, "Frames lost because no memory was free, or they were longer than it (rx_dropped).";
        ring_full: Information, Packets, "Frames lost because the receive ring was full (rx_ring_full).";
        fill_ring_empty: Information, Times, "Times no memory was free (rx_fill_ring_empty_descs); these frames are in dropped.";
        gathered: Information, Packets, "Frames that came in several pieces and were put together by copying.";
        malformed: Information, Packets, "Frames discarded: headers malformed or contradictory.";
        merged: Information, Packets, "Frames discarded: longer than the interface can receive, so the kernel has merged several packets whose borders are lost.";
        wrong_checksum: Information, Packets, "Packets with a wrong checksum of IPv4 or UDP: discarded, or only counted, as the configuration says.";
        not_verifiable: Information, Packets, "Packets from this host, whose checksum was left to a network card and is not there.";
        before_start: Information, Packets, "Packets that came to the port while AF_XDP was being opened: no part of the run, and not in lost.";
        interface_down: Information, Times, "Times the interface was set down or lost its carrier during the run.";
        interface_gone: Information, Times, "Times the interface was removed during the run.";
        kernel_socket: Information, Packets, "Packets received by the kernel socket: what the program left to the kernel, or another interface received.";
    }
}
