//! What this host itself lost of what it was given to send, for the sender's report.
//!
//! They are read before and after sending, as [`KernelCounters`](crate::kernel_counters::KernelCounters) are, and what other
//! programs of the host (network namespace) lost meanwhile is in them as well.

use std::net::IpAddr;

use crate::interfaces::InterfacesInUse;
use crate::kernel_counters::in_table;

/// The interface that packets from this local address leave by, the card if there are others on it; none if the kernel does
/// not tell.
pub fn interface_of(address: IpAddr) -> Option<String> {
    let reading = InterfacesInUse::OfAddress(address).read().ok()?;
    reading.names().first().map(|&name| name.to_owned())
}

evforge_core::counters! {
    /// Counters of Linux for packets that leave. No packet is counted twice.
    pub struct DepartureCounters: "send" {
        send_buffer_errors: Information, Packets, "UDP datagrams that were taken from a program and not sent, because the queue of the interface (qdisc) was full or memory was short (Udp SndbufErrors); with UDP_SEGMENT one count can stand for many datagrams.";
        interface_dropped: Information, Packets, "Frames that the driver of the interface dropped instead of sending them (TX dropped); with a veth pair they are those that the other end had no room for.";
        interface_errors: Information, Packets, "Frames that the interface could not send (TX errs).";
    }
}

impl DepartureCounters {
    /// Reads the counters as they are now; those of the interface only if one is named. What the system does not tell is 0.
    pub fn read(interface: Option<&str>) -> Self {
        // Of the thread, not of the process: a thread may have been moved to another network namespace.
        let read =
            |file: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap_or_default();
        let mut counters = Self::default();
        counters.add_protocols(&read("snmp"), &read("snmp6"));
        if let Some(interface) = interface {
            counters.add_interface(&read("dev"), interface);
        }
        counters
    }

    /// What has been counted since `earlier`; a counter that has gone back gives 0.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            send_buffer_errors: self.send_buffer_errors.saturating_sub(earlier.send_buffer_errors),
            interface_dropped: self.interface_dropped.saturating_sub(earlier.interface_dropped),
            interface_errors: self.interface_errors.saturating_sub(earlier.interface_errors),
        }
    }

    fn add_protocols(&mut self, ipv4: &str, ipv6: &str) {
        let of_ipv6 = ipv6.lines().find_map(|line| line.strip_prefix("Udp6SndbufErrors"));
        self.send_buffer_errors += in_table(ipv4, "Udp:", "SndbufErrors").unwrap_or(0)
            + of_ipv6.and_then(|count| count.trim().parse::<u64>().ok()).unwrap_or(0);
    }

    /// A line for each interface: eight numbers on what it received, then bytes, packets, errors, drops sent.
    fn add_interface(&mut self, text: &str, interface: &str) {
        let line = text.lines().find_map(|line| line.trim_start().strip_prefix(interface)?.strip_prefix(':'));
        let numbers: Vec<u64> =
            line.unwrap_or_default().split_whitespace().filter_map(|word| word.parse().ok()).collect();
        self.interface_errors += numbers.get(10).copied().unwrap_or(0);
        self.interface_dropped += numbers.get(11).copied().unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_in_the_kernels_tables() {
        let mut counters = DepartureCounters::default();
        counters.add_protocols(
            "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors\nUdp: 129 1 12 130 7 40\n",
            "Udp6NoPorts 10\nUdp6SndbufErrors   \t 2\n",
        );
        let devices = "Inter-|   Receive     |  Transmit\n face |bytes ...\n    lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n\
                       eth10: 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9\n  eth1: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
        counters.add_interface(devices, "eth1");
        let expected =
            DepartureCounters { send_buffer_errors: 42, interface_errors: 11, interface_dropped: 12 };
        assert_eq!(counters, expected);
        counters.add_interface(devices, "eth2");
        counters.add_protocols("", "nonsense");
        assert_eq!(counters.since(&expected), DepartureCounters::default());
    }
}
