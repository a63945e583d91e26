//! The kernel's memory and queues for packets.

use super::row::{At, Context, Paper, Row, nothing};
use crate::finding::Verdict;
use crate::profile::Profile;
use crate::wanted::Wanted;

/// What the limit of receive buffers is called.
pub const RECEIVE_BUFFER: &str = "receive buffer";
/// Packets that the kernel takes for one core, below which a peak waits longer than it needs to.
const BACKLOG: u64 = 10_000;
/// Packets that are taken from the rings in one go.
const BUDGET: u64 = 600;
/// Microseconds that such a go may last.
const BUDGET_TIME: u64 = 2_000;
/// Bytes of a page on every machine that this runs on.
const PAGE: u64 = 4096;
/// Bytes for the messages that come with a packet: its time of arrival, the number of those dropped.
const ANCILLARY: u64 = 20_480;

const SLIDES: &str = "10GE network tests with UDP, host tuning";
const MEMORY_RISK: &str = "Memory of the kernel: each socket that asks for it can take so much.";

/// The rows of this table.
pub(super) const ROWS: &[Row] = &[
    Row {
        name: "net.core.rmem_max",
        subject: RECEIVE_BUFFER,
        at: At::Sysctl("net/core/rmem_max"),
        wish: buffer,
        papers: &[(Profile::Udp, Paper::Least(12_582_912)), (Profile::Xfel, Paper::Least(1_342_177_280))],
        verdict: Verdict::Missing,
        weight: 9,
        why: "The kernel gives a socket no more than this; when it is full, packets are dropped while the program is busy for a moment.",
        source: "Reliable UDP at 10 Gb/s, 3.2; 10GE network tests with UDP, host tuning",
        risk: MEMORY_RISK,
    },
    Row {
        name: "net.core.rmem_default",
        subject: "receive buffer of sockets that ask for none",
        at: At::Sysctl("net/core/rmem_default"),
        wish: nothing,
        papers: &[(Profile::Xfel, Paper::Least(10_000_000))],
        verdict: Verdict::Advice,
        weight: 1,
        why: "evforge asks for its own; other programs often do not.",
        source: SLIDES,
        risk: "Every socket of every program has it.",
    },
    Row {
        name: "net.core.wmem_max",
        subject: "send buffer",
        at: At::Sysctl("net/core/wmem_max"),
        wish: nothing,
        papers: &[(Profile::Udp, Paper::Least(12_582_912)), (Profile::Xfel, Paper::Least(516_777_216))],
        verdict: Verdict::Advice,
        weight: 1,
        why: "A sender that fills it waits; nothing is lost.",
        source: "Reliable UDP at 10 Gb/s, 3.2; 10GE network tests with UDP, host tuning",
        risk: MEMORY_RISK,
    },
    Row {
        name: "net.core.wmem_default",
        subject: "send buffer of sockets that ask for none",
        at: At::Sysctl("net/core/wmem_default"),
        wish: nothing,
        papers: &[(Profile::Xfel, Paper::Least(10_000_000))],
        verdict: Verdict::Advice,
        weight: 1,
        why: "As above, for programs that do not ask.",
        source: SLIDES,
        risk: "Every socket of every program has it.",
    },
    Row {
        name: "net.core.netdev_max_backlog",
        subject: "kernel backlog",
        at: At::Sysctl("net/core/netdev_max_backlog"),
        wish: |_| Some(Wanted::AtLeast { least: BACKLOG, set: 250_000 }),
        papers: &[(Profile::Udp, Paper::Least(5_000)), (Profile::Xfel, Paper::Least(416_384))],
        verdict: Verdict::Advice,
        weight: 5,
        why: "Packets wait in this queue where they are steered to other cores (RPS), and on virtual interfaces; a full one drops them.",
        source: "Reliable UDP at 10 Gb/s, 3.2; 10GE network tests with UDP, host tuning",
        risk: "Packets can wait longer before the program sees them.",
    },
    Row {
        name: "net.core.netdev_budget",
        subject: "packets per poll",
        at: At::Sysctl("net/core/netdev_budget"),
        wish: |_| Some(Wanted::at_least(BUDGET)),
        papers: &[(Profile::Xfel, Paper::Least(1_024))],
        verdict: Verdict::Advice,
        weight: 4,
        why: "A core that has taken so many packets from its rings does something else first: the third column of /proc/net/softnet_stat counts it.",
        source: SLIDES,
        risk: "Other work of that core waits longer.",
    },
    Row {
        name: "net.core.netdev_budget_usecs",
        subject: "time per poll",
        at: At::Sysctl("net/core/netdev_budget_usecs"),
        wish: |_| Some(Wanted::AtLeast { least: BUDGET_TIME, set: 8_000 }),
        papers: &[],
        verdict: Verdict::Advice,
        weight: 2,
        why: "The same limit in microseconds.",
        source: "Linux, Documentation/admin-guide/sysctl/net.rst",
        risk: "Other work of that core waits longer.",
    },
    Row {
        name: "net.core.optmem_max",
        subject: "ancillary buffer",
        at: At::Sysctl("net/core/optmem_max"),
        wish: |_| Some(Wanted::at_least(ANCILLARY)),
        papers: &[(Profile::Xfel, Paper::Least(524_288))],
        verdict: Verdict::Advice,
        weight: 1,
        why: "Times of arrival and counts of dropped packets come with the packets by this memory.",
        source: SLIDES,
        risk: "Little: memory for each socket that uses it.",
    },
    Row {
        name: "net.ipv4.udp_mem",
        subject: "memory of all UDP sockets",
        at: At::Sysctl("net/ipv4/udp_mem"),
        wish: udp_memory,
        papers: &[(Profile::Xfel, Paper::Numbers(&[11_416_320, 15_221_760, 22_832_640]))],
        verdict: Verdict::Advice,
        weight: 6,
        why: "Pages of 4096 bytes; beyond the third number the kernel drops packets of every UDP socket, however large its own buffer is (counter UdpMemErrors).",
        source: SLIDES,
        risk: "The kernel can take so much memory for packets that wait.",
    },
    Row {
        name: "kernel.sched_rt_runtime_us",
        subject: "share of real-time threads",
        at: At::Sysctl("kernel/sched_rt_runtime_us"),
        wish: |context| context.needs.priority.map(|_| Wanted::OneOf(&["950000", "1000000", "-1"])),
        papers: &[],
        verdict: Verdict::Advice,
        weight: 3,
        why: "Threads of a real-time priority are stopped for the rest of each second.",
        source: "Linux, Documentation/scheduler/sched-rt-group.rst; the slides run their reader in real time",
        risk: "A thread that never sleeps can take a core from everybody, logins included.",
    },
];

fn buffer(context: &Context<'_>) -> Option<Wanted> {
    let needs = context.needs;
    (needs.buffer > 0 && needs.buffer_granted_by.is_none()).then(|| Wanted::at_least(needs.buffer as u64))
}

/// The kernel counts twice what is asked for, and whole pages.
fn udp_memory(context: &Context<'_>) -> Option<Wanted> {
    let needs = context.needs;
    let pages = (needs.buffer as u64).saturating_mul(2 * needs.sockets.max(1) as u64) / PAGE;
    (pages > 0).then(|| Wanted::EachAtLeast(vec![pages, pages, pages]))
}
