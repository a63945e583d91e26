//! What may be a rule: whether it is one, measurements say.

use super::{Assignment, Topology};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Something that an assignment does or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The paper's: no other thread, no interrupt and no sender has the logical core of a worker.
    WorkerAlone,
    /// No worker has the logical core of the receiving thread.
    WorkerOffReceiver,
    /// No worker has a logical core of the interrupt.
    WorkerOffInterrupt,
    /// No worker has the logical core of the sender.
    WorkerOffSender,
    /// No two workers have the same logical core.
    WorkersApart,
    /// The receiving thread has no logical core of the interrupt.
    ReceiverOffInterrupt,
    /// The receiving thread does not have the logical core of the sender.
    ReceiverOffSender,
    /// No worker has a hardware thread of the receiving thread's physical core.
    WorkerNoSiblingOfReceiver,
    /// No worker has a hardware thread of the interrupt's physical core.
    WorkerNoSiblingOfInterrupt,
    /// No two workers have hardware threads of one physical core.
    WorkersNoSiblings,
    /// Threads and interrupt share a last-level cache.
    OneCache,
    /// All threads are on the NUMA node of the network card.
    NodeOfCard,
}

impl Rule {
    /// All that are held against measurements.
    pub const ALL: [Self; 12] = [
        Self::WorkerAlone,
        Self::WorkerOffReceiver,
        Self::WorkerOffInterrupt,
        Self::WorkerOffSender,
        Self::WorkersApart,
        Self::ReceiverOffInterrupt,
        Self::ReceiverOffSender,
        Self::WorkerNoSiblingOfReceiver,
        Self::WorkerNoSiblingOfInterrupt,
        Self::WorkersNoSiblings,
        Self::OneCache,
        Self::NodeOfCard,
    ];

    /// Its name in options and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WorkerAlone => "worker-alone",
            Self::WorkerOffReceiver => "worker-off-receiver",
            Self::WorkerOffInterrupt => "worker-off-interrupt",
            Self::WorkerOffSender => "worker-off-sender",
            Self::WorkersApart => "workers-apart",
            Self::ReceiverOffInterrupt => "receiver-off-interrupt",
            Self::ReceiverOffSender => "receiver-off-sender",
            Self::WorkerNoSiblingOfReceiver => "worker-no-sibling-of-receiver",
            Self::WorkerNoSiblingOfInterrupt => "worker-no-sibling-of-interrupt",
            Self::WorkersNoSiblings => "workers-no-siblings",
            Self::OneCache => "one-cache",
            Self::NodeOfCard => "node-of-card",
        }
    }

    /// What it asks for, in a sentence without its full stop.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::WorkerAlone => "each worker has its logical core alone",
            Self::WorkerOffReceiver => "no worker shares the logical core of the receiving thread",
            Self::WorkerOffInterrupt => "no worker is on the core of the interrupt",
            Self::WorkerOffSender => "no worker is on the core of the sender",
            Self::WorkersApart => "no two workers share a logical core",
            Self::ReceiverOffInterrupt => "the receiving thread is not on the core of the interrupt",
            Self::ReceiverOffSender => "the receiving thread is not on the core of the sender",
            Self::WorkerNoSiblingOfReceiver => "no worker is on the sibling of the receiving thread's core",
            Self::WorkerNoSiblingOfInterrupt => "no worker is on the sibling of the interrupt's core",
            Self::WorkersNoSiblings => "no two workers are on siblings",
            Self::OneCache => "threads and interrupt share a last-level cache",
            Self::NodeOfCard => "all threads are on the NUMA node of the card",
        }
    }

    /// Whether an assignment follows it; none where it says nothing: the topology or the position of the interrupt is not known, or
    /// it is about something else. Of siblings, those that share a logical core say nothing: other rules are about them.
    pub fn is_followed(self, assignment: &Assignment, topology: &Topology) -> Option<bool> {
        let Assignment { interrupt, sender, receiver, workers } = assignment;
        let no_worker = |others: &BTreeSet<usize>| !workers.iter().any(|worker| others.contains(worker));
        let distinct = || workers.iter().collect::<BTreeSet<_>>().len() == workers.len();
        let known_interrupt = || (!interrupt.is_empty()).then_some(interrupt);
        match self {
            Self::WorkerAlone => {
                let others: BTreeSet<usize> =
                    interrupt.iter().chain(sender).chain([receiver]).copied().collect();
                let is_alone = distinct() && no_worker(&others);
                // An interrupt that nobody knows the core of may be there, too.
                (!is_alone || !interrupt.is_empty()).then_some(is_alone)
            }
            Self::WorkerOffReceiver => Some(!workers.contains(receiver)),
            Self::WorkerOffInterrupt => known_interrupt().map(no_worker),
            Self::WorkerOffSender => sender.map(|sender| !workers.contains(&sender)),
            Self::WorkersApart => (workers.len() > 1).then(distinct),
            Self::ReceiverOffInterrupt => known_interrupt().map(|cores| !cores.contains(receiver)),
            Self::ReceiverOffSender => sender.map(|sender| sender != *receiver),
            Self::WorkerNoSiblingOfReceiver => {
                no_siblings(topology, workers.iter().map(|worker| (*worker, *receiver)))
            }
            Self::WorkerNoSiblingOfInterrupt => {
                let pairs = interrupt.iter().flat_map(|core| workers.iter().map(|worker| (*worker, *core)));
                known_interrupt().and_then(|_| no_siblings(topology, pairs))
            }
            Self::WorkersNoSiblings => {
                let pairs = workers.iter().enumerate();
                let pairs =
                    pairs.flat_map(|(place, one)| workers[place + 1..].iter().map(|other| (*one, *other)));
                (workers.len() > 1).then(|| no_siblings(topology, pairs)).flatten()
            }
            Self::OneCache => {
                let threads = workers.iter().chain([receiver]).chain(interrupt);
                let caches: Option<BTreeSet<usize>> =
                    threads.map(|number| topology.core(*number)?.cache).collect();
                caches.map(|caches| caches.len() == 1)
            }
            Self::NodeOfCard => {
                let mut threads = workers.iter().chain([receiver]);
                let node = topology.card_node?;
                let nodes: Option<Vec<usize>> =
                    threads.by_ref().map(|number| topology.core(*number)?.node).collect();
                nodes.map(|nodes| nodes.iter().all(|found| *found == node))
            }
        }
    }
}

/// True if no pair is on siblings; none if one shares a logical core, the topology has no siblings, or a core is not known.
fn no_siblings(topology: &Topology, pairs: impl Iterator<Item = (usize, usize)>) -> Option<bool> {
    if !topology.has_siblings() {
        return None;
    }
    let mut is_followed = true;
    for (one, other) in pairs {
        if one == other {
            return None;
        }
        is_followed &= !topology.are_siblings(one, other)?;
    }
    Some(is_followed)
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|rule| rule.name() == text).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|rule| rule.name()).collect();
            format!("`{text}` is no rule; expected one of {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::LogicalCore;

    /// Two caches, each with two cores of two hardware threads: 0 1 | 2 3 and 4 5 | 6 7. The card is on the second node.
    fn topology() -> Topology {
        let logical = |number| LogicalCore {
            number,
            core: number / 2 * 2,
            cache: Some(number / 4),
            node: Some(number / 4),
        };
        Topology { cores: (0..8).map(logical).collect(), interrupts: [0].into(), card_node: Some(1) }
    }

    fn of(interrupt: &[usize], sender: Option<usize>, receiver: usize, workers: &[usize]) -> Assignment {
        let interrupt = interrupt.iter().copied().collect();
        Assignment { interrupt, sender, receiver, workers: workers.to_vec() }
    }

    #[test]
    fn each_rule_is_about_what_its_name_says() {
        let topology = topology();
        let none: [usize; 0] = [];
        for (rule, assignment, expected) in [
            (Rule::WorkerAlone, of(&[0], None, 0, &[1, 2]), Some(true)),
            (Rule::WorkerAlone, of(&[0], None, 1, &[0]), Some(false)),
            (Rule::WorkerAlone, of(&[0], None, 2, &[2]), Some(false)),
            (Rule::WorkerAlone, of(&[0], None, 1, &[2, 2]), Some(false)),
            (Rule::WorkerAlone, of(&[0], Some(3), 1, &[3]), Some(false)),
            (Rule::WorkerAlone, of(&none, None, 1, &[3]), None),
            (Rule::WorkerAlone, of(&none, None, 1, &[1]), Some(false)),
            (Rule::WorkerOffReceiver, of(&[0], None, 0, &[0]), Some(false)),
            (Rule::WorkerOffReceiver, of(&[0], None, 1, &[0]), Some(true)),
            (Rule::WorkerOffInterrupt, of(&[0, 1], None, 2, &[3, 1]), Some(false)),
            (Rule::WorkerOffInterrupt, of(&none, None, 2, &[3]), None),
            (Rule::WorkerOffSender, of(&[0], Some(1), 0, &[1]), Some(false)),
            (Rule::WorkerOffSender, of(&[0], None, 0, &[1]), None),
            (Rule::WorkersApart, of(&[0], None, 0, &[1, 1]), Some(false)),
            (Rule::WorkersApart, of(&[0], None, 0, &[1]), None),
            (Rule::ReceiverOffInterrupt, of(&[0], None, 0, &[1]), Some(false)),
            (Rule::ReceiverOffInterrupt, of(&[0], None, 1, &[0]), Some(true)),
            (Rule::ReceiverOffSender, of(&[0], Some(2), 2, &[1]), Some(false)),
            (Rule::WorkerNoSiblingOfReceiver, of(&[0], None, 2, &[3]), Some(false)),
            (Rule::WorkerNoSiblingOfReceiver, of(&[0], None, 2, &[4]), Some(true)),
            (Rule::WorkerNoSiblingOfReceiver, of(&[0], None, 2, &[2]), None),
            (Rule::WorkerNoSiblingOfInterrupt, of(&[0], None, 2, &[1]), Some(false)),
            (Rule::WorkersNoSiblings, of(&[0], None, 1, &[2, 3]), Some(false)),
            (Rule::WorkersNoSiblings, of(&[0], None, 1, &[2, 4]), Some(true)),
            (Rule::OneCache, of(&[0], None, 1, &[2]), Some(true)),
            (Rule::OneCache, of(&[0], None, 1, &[4]), Some(false)),
            (Rule::OneCache, of(&[9], None, 1, &[4]), None),
            (Rule::NodeOfCard, of(&[0], None, 4, &[5]), Some(true)),
            (Rule::NodeOfCard, of(&[0], None, 1, &[5]), Some(false)),
        ] {
            assert_eq!(rule.is_followed(&assignment, &topology), expected, "{rule}: {assignment}");
        }
    }

    #[test]
    fn a_topology_without_siblings_says_nothing_of_them() {
        let topology = topology().only(&[0, 2, 4]).unwrap();
        for rule in [Rule::WorkerNoSiblingOfReceiver, Rule::WorkerNoSiblingOfInterrupt] {
            assert_eq!(rule.is_followed(&of(&[0], None, 2, &[4]), &topology), None, "{rule}");
        }
    }

    #[test]
    fn names_are_read_again() {
        for rule in Rule::ALL {
            assert_eq!(rule.name().parse(), Ok(rule));
        }
        assert!("alone".parse::<Rule>().unwrap_err().contains("worker-alone"));
    }
}
