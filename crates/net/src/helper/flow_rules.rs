//! Rules in a network card that bring the packets of a port to a queue.
//!
//! Each rule is written into the [journal](super::journal) before it is set, so that the next start finds what a killed
//! helper has left. Rules that were there before are left alone, at the end, too.

use std::io;

use super::flow_rule::{Cards, FlowRule, remove_rule};
use super::journal::Journal;

/// Rules that have been set, to be removed at the end of a session.
#[derive(Debug, Default)]
pub(super) struct FlowRules {
    interface: String,
    set: Vec<FlowRule>,
}

impl FlowRules {
    /// Has the card spread `ports` over `queues`, one after the other.
    ///
    /// # Errors
    /// If the journal cannot be written, or the card refuses; what had been set until then is removed.
    pub(super) fn set(
        cards: &mut dyn Cards,
        journal: &mut Journal,
        interface: &str,
        ports: &[u16],
        queues: &[u32],
        ipv6: bool,
    ) -> io::Result<Self> {
        let mut rules = Self { interface: interface.to_owned(), set: Vec::new() };
        let there = cards.list(interface)?;
        let families = if ipv6 { &[false, true][..] } else { &[false] };
        let wanted = ports
            .iter()
            .zip(queues.iter().cycle())
            .flat_map(|(&port, &queue)| families.iter().map(move |&ipv6| FlowRule { ipv6, port, queue }));
        for rule in wanted {
            if there.iter().any(|(_, other)| *other == rule) {
                continue;
            }
            let step = journal.note(interface, &rule).and_then(|()| {
                rules.set.push(rule);
                cards.insert(interface, &rule)
            });
            if let Err(error) = step {
                // What could not be set is not found, and what cannot be removed stays in the journal.
                let _ = rules.remove(cards, journal);
                return Err(error);
            }
        }
        Ok(rules)
    }

    /// Removes what has been set.
    ///
    /// # Errors
    /// If the card refuses: the rule stays in the journal.
    pub(super) fn remove(&mut self, cards: &mut dyn Cards, journal: &mut Journal) -> io::Result<()> {
        for rule in std::mem::take(&mut self.set) {
            remove_rule(cards, &self.interface, &rule)?;
            journal.cross_out(&self.interface, &rule)?;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Cards in memory.
    #[derive(Debug, Default)]
    pub(crate) struct FakeCards {
        pub(crate) rules: BTreeMap<(String, u32), FlowRule>,
        /// Places of a card.
        pub(crate) places: u32,
    }

    impl Cards for FakeCards {
        fn list(&mut self, interface: &str) -> io::Result<Vec<(u32, FlowRule)>> {
            let of_it = self.rules.iter().filter(|((name, _), _)| name == interface);
            Ok(of_it.map(|((_, place), rule)| (*place, *rule)).collect())
        }
        fn insert(&mut self, interface: &str, rule: &FlowRule) -> io::Result<()> {
            let free =
                (0..self.places).find(|&place| !self.rules.contains_key(&(interface.to_owned(), place)));
            let place = free.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOSPC))?;
            self.rules.insert((interface.to_owned(), place), *rule);
            Ok(())
        }
        fn remove(&mut self, interface: &str, place: u32) -> io::Result<()> {
            let gone = self.rules.remove(&(interface.to_owned(), place));
            gone.map(drop).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
        }
    }

    #[test]
    fn ports_are_spread_over_queues_and_taken_back_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(folder.path()).unwrap();
        let mut cards = FakeCards { places: 8, ..FakeCards::default() };
        let others = FlowRule { ipv6: false, port: 9001, queue: 1 };
        cards.insert("eth2", &others).unwrap();
        let mut rules =
            FlowRules::set(&mut cards, &mut journal, "eth2", &[9000, 9001, 9002], &[0, 1], true).unwrap();
        let queue_of = |cards: &FakeCards, ipv6, port| {
            cards.rules.values().find(|rule| (rule.ipv6, rule.port) == (ipv6, port)).map(|rule| rule.queue)
        };
        assert_eq!([9000, 9001, 9002].map(|port| queue_of(&cards, true, port)), [Some(0), Some(1), Some(0)]);
        assert_eq!(cards.rules.len(), 6, "the rule that was there is not set again");
        rules.remove(&mut cards, &mut journal).unwrap();
        assert_eq!(cards.rules.values().collect::<Vec<_>>(), [&others]);
    }

    #[test]
    fn a_card_that_is_full_is_left_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(folder.path()).unwrap();
        let mut cards = FakeCards { places: 2, ..FakeCards::default() };
        let refused = FlowRules::set(&mut cards, &mut journal, "eth2", &[1, 2, 3], &[0], false);
        assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::ENOSPC));
        assert!(cards.rules.is_empty());
        drop(journal);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left in the journal");
    }
}
