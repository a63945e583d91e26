//! Services that change what others have set, or look at every packet.

use super::row::{At, Context, Paper, Row, nothing};
use crate::finding::Verdict;
use crate::profile::Profile;
use crate::wanted::Wanted;

const SLIDES: &str = "10GE network tests with UDP, host tuning";
const STOPPED: &str = "inactive";
/// The rows of this table.
pub(super) const ROWS: &[Row] = &[
    Row {
        name: "irqbalance",
        subject: "service irqbalance",
        at: At::Service("irqbalance"),
        wish: when_cores_are_chosen,
        papers: &[(Profile::Xfel, Paper::Value(STOPPED)), (Profile::Xdp, Paper::Value(STOPPED))],
        verdict: Verdict::Advice,
        weight: 6,
        why: "It moves interrupts from core to core, onto those that receive as well.",
        source: SLIDES,
        risk: "Interrupts of other devices stay where they are.",
    },
    Row {
        name: "cpuspeed",
        subject: "service cpuspeed",
        at: At::Service("cpuspeed"),
        wish: nothing,
        papers: &[(Profile::Xfel, Paper::Value(STOPPED))],
        verdict: Verdict::Advice,
        weight: 2,
        why: "It changes the frequency of cores. (Newer systems: the governor.)",
        source: SLIDES,
        risk: "More power, more heat.",
    },
    firewall("iptables", "service iptables"),
    firewall("firewalld", "service firewalld"),
    firewall("nftables", "service nftables"),
];

/// The slides have stopped iptables; the others are what became of it.
const fn firewall(service: &'static str, subject: &'static str) -> Row {
    Row {
        name: service,
        subject,
        at: At::Service(service),
        wish: nothing,
        papers: &[(Profile::Xfel, Paper::Value(STOPPED))],
        verdict: Verdict::Advice,
        weight: 2,
        why: "A firewall looks at every packet, and drops those of ports that it does not know.",
        source: SLIDES,
        risk: "The host is open to its networks: only where they are closed to others.",
    }
}

/// Somebody has chosen cores for receiving.
fn when_cores_are_chosen(context: &Context<'_>) -> Option<Wanted> {
    (!context.needs.receiving_cores.is_empty()).then(|| Wanted::Exactly(STOPPED.to_owned()))
}
