//! What the kernel itself lost: counters of the whole host (network namespace), for the ledger.
//!
//! They are read before and after a run; the difference is what happened in between, to all programs
//! together. The drops of one socket alone are told by
//! [`UdpReceiver::drops`](crate::socket::UdpReceiver::drops), and are part of
//! `receive_buffer_errors`, `memory_errors` and `checksum_errors` here: never add the two.

use std::fs;
use std::io;

evforge_core::counters! {
    /// Counters of Linux for UDP over IPv4 and IPv6 together. No packet is counted twice, except that
    /// `in_errors` contains `receive_buffer_errors`, `checksum_errors` and `memory_errors`.
    pub struct KernelCounters: "kernel" {
        in_errors: Information, Packets, "UDP datagrams that reached the host and were not delivered (Udp InErrors).";
        receive_buffer_errors: Information, Packets, "UDP datagrams dropped because a socket's buffer was full (Udp RcvbufErrors); with UDP_GRO one count can stand for many datagrams.";
        checksum_errors: Information, Packets, "UDP datagrams dropped for a wrong checksum (Udp InCsumErrors).";
        memory_errors: Information, Packets, "UDP datagrams dropped because all sockets together had taken the memory allowed for UDP (Udp MemErrors).";
        header_errors: Information, Packets, "IP packets with a wrong checksum or otherwise wrong header (Ip InHdrErrors).";
        no_port: Information, Packets, "UDP datagrams to a port that no program listened on (Udp NoPorts).";
        reassembly_failures: Information, Packets, "IP packets whose fragments did not all arrive (Ip ReasmFails).";
        backlog_drops: Information, Packets, "Frames dropped before the protocols because a core's queue was full (softnet_stat, column 2).";
    }
}

/// The kernel's counters could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelCountersError {
    /// A file of the kernel could not be read: this is no Linux, or /proc is not mounted.
    #[error(
        "cannot read the kernel's loss counters from {path}: {source}. They exist on Linux with /proc mounted."
    )]
    Unreadable {
        /// The file.
        path: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// A file of the kernel does not have the form it has had so far.
    #[error("the kernel's loss counters in {path} are not as expected: {expected} is not there.")]
    Unexpected {
        /// The file.
        path: &'static str,
        /// What was looked for.
        expected: &'static str,
    },
}

// Of the thread, not of the process: a thread may have been moved to another network namespace.
const IPV4: &str = "/proc/thread-self/net/snmp";
const IPV6: &str = "/proc/thread-self/net/snmp6";
const BACKLOG: &str = "/proc/thread-self/net/softnet_stat";

impl KernelCounters {
    /// Reads the counters as they are now.
    ///
    /// # Errors
    /// If this is not Linux or the kernel's files are not readable or of an unknown form.
    pub fn read() -> Result<Self, KernelCountersError> {
        let mut counters = Self::default();
        counters.add_ipv4(&content(IPV4)?)?;
        match content(IPV6) {
            Ok(text) => counters.add_ipv6(&text),
            // A host without IPv6 has no such file, and loses nothing there.
            Err(KernelCountersError::Unreadable { source, .. })
                if source.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        counters.backlog_drops = backlog_drops(&content(BACKLOG)?)?;
        Ok(counters)
    }

    /// What has been counted since `earlier`; a counter that has gone back (it wraps, or the namespace is
    /// another one) gives 0.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            in_errors: self.in_errors.saturating_sub(earlier.in_errors),
            receive_buffer_errors: self.receive_buffer_errors.saturating_sub(earlier.receive_buffer_errors),
            checksum_errors: self.checksum_errors.saturating_sub(earlier.checksum_errors),
            memory_errors: self.memory_errors.saturating_sub(earlier.memory_errors),
            header_errors: self.header_errors.saturating_sub(earlier.header_errors),
            no_port: self.no_port.saturating_sub(earlier.no_port),
            reassembly_failures: self.reassembly_failures.saturating_sub(earlier.reassembly_failures),
            backlog_drops: self.backlog_drops.saturating_sub(earlier.backlog_drops),
        }
    }

    fn add_ipv4(&mut self, text: &str) -> Result<(), KernelCountersError> {
        let required = |protocol, name| {
            in_table(text, protocol, name)
                .ok_or(KernelCountersError::Unexpected { path: IPV4, expected: name })
        };
        self.in_errors += required("Udp:", "InErrors")?;
        self.receive_buffer_errors += required("Udp:", "RcvbufErrors")?;
        self.checksum_errors += required("Udp:", "InCsumErrors")?;
        // Came with Linux 5.12.
        self.memory_errors += in_table(text, "Udp:", "MemErrors").unwrap_or(0);
        self.header_errors += required("Ip:", "InHdrErrors")?;
        self.no_port += required("Udp:", "NoPorts")?;
        self.reassembly_failures += required("Ip:", "ReasmFails")?;
        Ok(())
    }

    /// The file has a line with name and number for each counter.
    fn add_ipv6(&mut self, text: &str) {
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let (Some(name), Some(Ok(number))) = (words.next(), words.next().map(str::parse::<u64>)) else {
                continue;
            };
            match name {
                "Udp6InErrors" => self.in_errors += number,
                "Udp6RcvbufErrors" => self.receive_buffer_errors += number,
                "Udp6InCsumErrors" => self.checksum_errors += number,
                "Udp6MemErrors" => self.memory_errors += number,
                "Ip6InHdrErrors" => self.header_errors += number,
                "Udp6NoPorts" => self.no_port += number,
                "Ip6ReasmFails" => self.reassembly_failures += number,
                _ => {}
            }
        }
    }
}

/// The number called `name` in a table of the kernel that has a line of names and a line of numbers for each protocol.
pub(crate) fn in_table(text: &str, protocol: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(protocol));
    let names = lines.next()?.split_whitespace();
    let mut numbers = lines.next()?.split_whitespace();
    numbers.nth(names.take_while(|&found| found != name).count())?.parse().ok()
}

fn content(path: &'static str) -> Result<String, KernelCountersError> {
    fs::read_to_string(path).map_err(|source| KernelCountersError::Unreadable { path, source })
}

/// One line per core; the second number, hexadecimal, counts its drops.
fn backlog_drops(text: &str) -> Result<u64, KernelCountersError> {
    text.lines()
        .map(|line| {
            let second = line.split_whitespace().nth(1);
            second.and_then(|word| u64::from_str_radix(word, 16).ok())
        })
        .sum::<Option<u64>>()
        .ok_or(KernelCountersError::Unexpected {
            path: BACKLOG,
            expected: "a second column of hexadecimal numbers",
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name_in_the_kernels_tables() {
        let mut counters = KernelCounters::default();
        let ipv4 = "Ip: Forwarding InHdrErrors ReasmFails FragOKs\nIp: 1 6 4 2\n\
                    Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors MemErrors\n\
                    Udp: 129 1 12 130 7 0 5 8\n\
                    UdpLite: InDatagrams NoPorts InErrors\nUdpLite: 900 900 900\n";
        counters.add_ipv4(ipv4).unwrap();
        counters.add_ipv6("Ip6InReceives 1\nUdp6NoPorts   \t 10\nUdp6RcvbufErrors 20\nstrange\n");
        let expected = KernelCounters {
            in_errors: 12,
            receive_buffer_errors: 27,
            checksum_errors: 5,
            memory_errors: 8,
            header_errors: 6,
            no_port: 11,
            reassembly_failures: 4,
            backlog_drops: 0,
        };
        assert_eq!(counters, expected);
        assert_eq!(expected.since(&counters), KernelCounters::default());
        let text = KernelCounters::default().add_ipv4("Udp: NoPorts\nUdp: 1\n").unwrap_err().to_string();
        assert!(text.contains("InErrors is not there"), "{text}");
    }

    #[test]
    fn the_backlog_drops_of_all_cores_add_up() {
        assert_eq!(backlog_drops("00000007 0000000a 00\n00000ac6 00000001 00\n").unwrap(), 11);
        assert!(backlog_drops("7 x\n").is_err());
        assert!(backlog_drops("7\n").is_err());
    }

    #[test]
    fn the_counters_of_this_host_can_be_read_and_do_not_go_back() {
        let before = KernelCounters::read().unwrap();
        let after = KernelCounters::read().unwrap();
        assert!(after.no_port >= before.no_port && after.in_errors >= before.in_errors);
    }
}
