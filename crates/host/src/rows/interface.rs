//! Network interfaces and their cards.

use super::row::{At, Context, Paper, Row, nothing};
use crate::cores::{from_list, from_mask, to_list, to_mask};
use crate::ethtool::Group;
use crate::finding::Verdict;
use crate::place::Place;
use crate::profile::Profile;
use crate::wanted::Wanted;
use std::collections::BTreeSet;
use std::path::Path;

/// Bytes of a jumbo frame's payload, as all of the papers have it.
const JUMBO: u64 = 9_000;
/// Microseconds for which a card may collect packets before it interrupts: at 100 Gb/s and 1500 bytes 1024 of them come in 125 µs, which
/// is what a ring has by default.
const COLLECT: u64 = 125;
/// Of the ring that there can be at most, the part below which it is worth a word.
const SMALL_RING: u64 = 2;

const SLIDES: &str = "10GE network tests with UDP, host tuning";
const RESET: &str = "The card is reset: no packets for some seconds.";

/// The rows of this table.
pub(super) const ROWS: &[Row] = &[
    Row {
        name: "mtu",
        subject: "MTU",
        at: At::Link("mtu"),
        wish: |context| has_card(context).then(|| Wanted::at_least(JUMBO)),
        papers: &[
            (Profile::Udp, Paper::Value("9000")),
            (Profile::Xfel, Paper::Value("9000")),
            (Profile::Xdp, Paper::Least(2_048)),
        ],
        verdict: Verdict::Advice,
        weight: 4,
        why: "Larger packets are dropped, or come in fragments; with small ones the core, and not the link, is the limit.",
        source: "Reliable UDP at 10 Gb/s, 3.2 and figure 3; 10GE network tests with UDP, host tuning",
        risk: "Switches and senders must have it, too. AF_XDP on several drivers takes packets of more than a page only in pieces.",
    },
    Row {
        name: "txqueuelen",
        subject: "transmit queue",
        at: At::Link("tx_queue_len"),
        wish: nothing,
        papers: &[(Profile::Udp, Paper::Value("10000")), (Profile::Xfel, Paper::Value("10000"))],
        verdict: Verdict::Advice,
        weight: 1,
        why: "Packets that are sent wait here; a full queue drops them or makes the sender wait.",
        source: "Reliable UDP at 10 Gb/s, 3.2; 10GE network tests with UDP, host tuning",
        risk: "Packets of all programs can wait longer.",
    },
    Row {
        name: "ring rx",
        subject: "receive ring",
        at: At::Ethtool(Group::Ring, "RX"),
        wish: ring,
        papers: &[(Profile::Xfel, Paper::Least(4_096))],
        verdict: Verdict::Advice,
        weight: 7,
        why: "Packets that come while the core does something else wait in this ring; a full one drops them in the card.",
        source: SLIDES,
        risk: RESET,
    },
    Row {
        name: "ring tx",
        subject: "transmit ring",
        at: At::Ethtool(Group::Ring, "TX"),
        wish: nothing,
        papers: &[(Profile::Xfel, Paper::Least(4_096))],
        verdict: Verdict::Advice,
        weight: 1,
        why: "For senders.",
        source: SLIDES,
        risk: RESET,
    },
    Row {
        name: "rx-usecs",
        subject: "interrupt throttling",
        at: At::Ethtool(Group::Coalescing, "rx-usecs"),
        wish: |_| Some(Wanted::AtMost(COLLECT)),
        papers: &[(Profile::Xfel, Paper::Value("1"))],
        verdict: Verdict::Advice,
        weight: 4,
        why: "So long the card collects packets before it tells: they must fit into the ring. (ixgbe: 0 is no throttling, 1 by load; its module calls it InterruptThrottleRate.)",
        source: SLIDES,
        risk: "More interrupts: more work for the core that serves them.",
    },
    Row {
        name: "adaptive-rx",
        subject: "adaptive interrupt throttling",
        at: At::Ethtool(Group::Coalescing, "Adaptive RX"),
        wish: nothing,
        papers: &[(Profile::Xfel, Paper::Value("off"))],
        verdict: Verdict::Advice,
        weight: 1,
        why: "The driver changes the throttling by load, which makes measurements harder to repeat.",
        source: SLIDES,
        risk: "More interrupts at low load.",
    },
    Row {
        name: "tx-frames-irq",
        subject: "packets sent per interrupt",
        at: At::Ethtool(Group::Coalescing, "tx-frames-irq"),
        wish: nothing,
        papers: &[(Profile::Xfel, Paper::Least(4_096))],
        verdict: Verdict::Advice,
        weight: 1,
        why: "For senders.",
        source: SLIDES,
        risk: "Buffers of sent packets are given back later.",
    },
    Row {
        name: "lro",
        subject: "large receive offload",
        at: At::Ethtool(Group::Offload, "large-receive-offload"),
        wish: |context| context.needs.xdp.is_asked_for().then(|| Wanted::Exactly("off".to_owned())),
        papers: &[(Profile::Xfel, Paper::Value("on")), (Profile::Xdp, Paper::Value("off"))],
        verdict: Verdict::Advice,
        weight: 6,
        why: "Drivers refuse XDP programs while it is on. For UDP it does nothing.",
        source: "Linux, Documentation/networking/netdev-features.rst; 10GE network tests with UDP (on: the default of its driver)",
        risk: "TCP transfers take more processor time.",
    },
    Row {
        name: "gro",
        subject: "generic receive offload",
        at: At::Ethtool(Group::Offload, "generic-receive-offload"),
        wish: |context| context.needs.xdp.is_asked_for().then(|| Wanted::Exactly("off".to_owned())),
        papers: &[],
        verdict: Verdict::Advice,
        weight: 5,
        why: "Where the driver does not run XDP programs itself, packets arrive merged into one, and are rejected.",
        source: "our measurement: docs/receive.md, AF_XDP",
        risk: "TCP transfers take more processor time without it.",
    },
    Row {
        name: "rx-checksumming",
        subject: "checksums by the card",
        at: At::Ethtool(Group::Offload, "rx-checksumming"),
        wish: |_| Some(Wanted::Exactly("on".to_owned())),
        papers: &[],
        verdict: Verdict::Advice,
        weight: 5,
        why: "Without it the core that receives reads every byte once more.",
        source: "Linux, Documentation/networking/checksum-offloads.rst",
        risk: "None known.",
    },
    Row {
        name: "rps_cpus",
        subject: "cores that packets are steered to (RPS)",
        at: At::EachQueue("rps_cpus"),
        wish: steering,
        papers: &[],
        verdict: Verdict::Missing,
        weight: 8,
        why: "The kernel's work on packets and the receiving thread on one core take it from each other: 97 % of the packets were lost.",
        source: "our measurement: docs/receive.md; placement in FPGA-to-server with the eXpress Data Path, optimization of task assignment",
        risk: "Packets go to fewer cores.",
    },
    Row {
        name: "smp_affinity_list",
        subject: "cores of the interrupts",
        at: At::EachInterrupt,
        wish: interrupts,
        papers: &[(Profile::Xfel, Paper::Value("0"))],
        verdict: Verdict::Missing,
        weight: 8,
        why: "A receiving thread on a core that serves the card's interrupts competes with the kernel for the same packets.",
        source: "10GE network tests with UDP: interrupts on core 0, receiver on 2; FPGA-to-server with the eXpress Data Path, optimization of task assignment",
        risk: "irqbalance moves them again unless it is stopped.",
    },
    Row {
        name: "pci read request",
        subject: "read request on the PCI bus",
        at: At::PciReadRequest,
        wish: nothing,
        papers: &[(Profile::Xfel, Paper::Least(4_096))],
        verdict: Verdict::Advice,
        weight: 2,
        why: "The card fetches what it sends in pieces of this size.",
        source: "10GE network tests with UDP, host tuning (MMBRC)",
        risk: "Written into a register of the card: other cards on the same bus wait longer. Lost at the next start.",
    },
];

/// True if there is a card behind the interface: loopback, veth and bridges have none.
fn has_card(context: &Context<'_>) -> bool {
    let device = |interface: &str| Path::new("/sys/class/net").join(interface).join("device");
    context.interface.is_some_and(|interface| context.host.link(&device(interface)).is_ok())
}

/// As large as it can be, if it is smaller than half of that.
fn ring(context: &Context<'_>) -> Option<Wanted> {
    let most = context.reading.most?;
    Some(Wanted::AtLeast { least: most / SMALL_RING, set: most })
}

/// The same cores without those that receive.
fn steering(context: &Context<'_>) -> Option<Wanted> {
    let now = from_mask(&context.reading.now);
    let receiving = &context.needs.receiving_cores;
    let is_shared = !context.needs.share_interrupt_core && receiving.iter().any(|core| now.contains(core));
    is_shared.then(|| {
        Wanted::Exactly(to_mask(&now.into_iter().filter(|core| !receiving.contains(core)).collect()))
    })
}

/// Where an interrupt is served, if a thread that receives runs there: all cores that it may be served on but those.
fn interrupts(context: &Context<'_>) -> Option<Wanted> {
    let Place::File(allowed) = context.place else { return None };
    let receiving = &context.needs.receiving_cores;
    // It may be allowed on every core; the kernel serves it on one of them.
    let served = context.host.read(&allowed.with_file_name("effective_affinity_list"));
    let served =
        from_list(served.as_deref().ok().filter(|list| !list.is_empty()).unwrap_or(&context.reading.now));
    if context.needs.share_interrupt_core || !receiving.iter().any(|core| served.contains(core)) {
        return None;
    }
    let others = |cores: BTreeSet<usize>| -> BTreeSet<usize> {
        cores.into_iter().filter(|core| !receiving.contains(core)).collect()
    };
    let mut left = others(from_list(&context.reading.now));
    if left.is_empty() {
        left = others(from_list(&context.host.read(Path::new("/sys/devices/system/cpu/online")).ok()?));
    }
    (!left.is_empty()).then(|| Wanted::Exactly(to_list(&left)))
}
