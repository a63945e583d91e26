//! What is told of the host and of this process. Counters of the host count from its start, not from that of a run, and hold
//! what all programs do.

use crate::metric::metrics;

metrics! {
    UPTIME: Gauge, "process", "uptime_seconds", Some("seconds"), [], "Time since this program was started.";
    RESIDENT: Gauge, "process", "resident_bytes", Some("bytes"), [], "Memory that this program has in the memory of the host.";
    DESCRIPTORS: Gauge, "process", "open_descriptors", None, [], "Open files and sockets of this program.";
    MOST_DESCRIPTORS: Gauge, "process", "most_descriptors", None, [], "Files and sockets that it may have open.";
    THREAD_TIME: Counter, "thread", "processor_seconds", Some("seconds"), ["thread"], "Processor time of the threads of this program, in the kernel and outside; threads of the same name are added up, those that have ended are not in it.";
    THREADS: Gauge, "thread", "number", None, ["thread"], "Threads of that name.";
    CORE_TIME: Counter, "host", "core_seconds", Some("seconds"), ["core", "mode"], "Time of a core, by what it did: user, nice, system, idle, iowait, irq, softirq, steal (/proc/stat).";
    INTERRUPTS: Counter, "host", "interrupts", None, ["core"], "Interrupts that a core has served (/proc/interrupts).";
    SOFTIRQ_RECEIVE: Counter, "host", "receive_softirqs", None, ["core"], "Times that a core did the kernel's work on received packets (NET_RX in /proc/softirqs).";
    SOFTNET_PROCESSED: Counter, "host", "softnet_processed_packets", Some("packets"), ["core"], "Frames that a core has taken from drivers (softnet_stat, column 1).";
    SOFTNET_DROPPED: Counter, "host", "softnet_dropped_packets", Some("packets"), ["core"], "Frames dropped because the queue of a core was full (softnet_stat, column 2).";
    SOFTNET_SQUEEZED: Counter, "host", "softnet_squeezed", None, ["core"], "Times that a core left frames for later because its time or budget was over (softnet_stat, column 3).";
    UDP: Counter, "host", "udp_packets", Some("packets"), ["what"], "UDP datagrams of the host, IPv4 and IPv6 together: received, no_port, in_errors, sent, receive_buffer_errors, send_buffer_errors, checksum_errors, memory_errors (/proc/net/snmp, snmp6).";
    UDP_MEMORY: Gauge, "host", "udp_memory_bytes", Some("bytes"), [], "Memory of all UDP sockets together (/proc/net/sockstat).";
    INTERFACE_BYTES: Counter, "host", "interface_bytes", Some("bytes"), ["interface", "direction"], "Bytes of an interface (/proc/net/dev).";
    INTERFACE_PACKETS: Counter, "host", "interface_packets", Some("packets"), ["interface", "direction"], "Frames of an interface (/proc/net/dev).";
    INTERFACE_ERRORS: Counter, "host", "interface_errors", None, ["interface", "direction"], "Errors of an interface, whatever kind (/proc/net/dev).";
    INTERFACE_DROPPED: Counter, "host", "interface_dropped_packets", Some("packets"), ["interface", "direction"], "Frames dropped by an interface or behind it (/proc/net/dev).";
    INTERFACE_LOSSES: Counter, "host", "interface_losses", None, ["interface", "counter"], "Why received frames were lost, by the counters of docs/counters.md, \"What the network interfaces lost\" (rtnetlink).";
    DRIVER: Counter, "host", "driver", None, ["interface", "counter"], "What the driver of a network card counts by itself (ethtool -S): names and meanings are the driver's.";
    MEMORY: Gauge, "host", "memory_bytes", Some("bytes"), ["what"], "Memory of the host: total, available, free, buffers, cached, dirty, swap_total, swap_free (/proc/meminfo).";
    DISK_SIZE: Gauge, "host", "disk_size_bytes", Some("bytes"), ["folder"], "Size of the file system that is mounted there.";
    DISK_FREE: Gauge, "host", "disk_free_bytes", Some("bytes"), ["folder"], "What programs without privileges may still write there.";
    LOAD: Gauge, "host", "load", None, [], "Tasks that ran or wanted to, on average of a minute.";
    CLOCK_SYNCHRONISED: Gauge, "host", "clock_synchronised", None, [], "1 if the kernel says that something (chrony, ntpd, ptp4l with phc2sys) keeps the clock of the host right.";
    CLOCK_ERROR: Gauge, "host", "clock_maximum_error_seconds", Some("seconds"), [], "How wrong the clock may be at most, as the kernel estimates it.";
    CLOCK_ESTIMATE: Gauge, "host", "clock_estimated_error_seconds", Some("seconds"), [], "How wrong the clock probably is, as whatever keeps it right says.";
    CLOCK_OFFSET: Gauge, "host", "clock_offset_seconds", Some("seconds"), [], "What the clock is being corrected by at this moment.";
}
