//! What a result depends on, as rows that two results can be compared by.
//!
//! | part | what is in it |
//! |---|---|
//! | `program` | version, build and target of evforge |
//! | `processor` | model, microcode, cores, siblings, caches, NUMA nodes, frequency |
//! | `memory` | how much |
//! | `machine` | maker and model, its firmware, whether it is virtual |
//! | `kernel` | release, parameters that change its speed, clock, mitigations |
//! | `setting` | every setting that `evforge doctor` knows ([`evforge_host::rows`]) |
//! | `interface …` | card, slot, driver, firmware, speed, queues, offloads |
//!
//! Names of hosts, addresses and serial numbers are not in it: a report can be handed on. What changes all the time (frequencies, free
//! memory) is not in it either, but for the [load](crate::load) at the beginning.

mod gathered;
mod interface;
mod kernel;
mod processor;
mod program;

pub use gathered::Fact;

use crate::error::MeasureError;
use crate::load::Load;
use evforge_host::{Host, HostNeeds, Profile, settings};
use gathered::Gathered;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Facts that a fingerprint can have at most, and bytes of each.
const MOST: usize = 10_000;
const LONGEST: usize = 100_000;

/// What a result depends on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The facts, in the order in which they are shown.
    pub facts: Vec<Fact>,
    /// What else the host did at the beginning; none if no host takes part, or it does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
}

impl Fingerprint {
    /// Of a host, this program, and these interfaces.
    ///
    /// # Errors
    /// If there is no such interface.
    pub fn of(host: &dyn Host, interfaces: &[String]) -> Result<Self, MeasureError> {
        let mut gathered = Gathered::default();
        program::add(&mut gathered);
        processor::add(&mut gathered, host);
        kernel::add(&mut gathered, host);
        add_settings(&mut gathered, host, interfaces);
        for interface in interfaces {
            interface::add(&mut gathered, host, interface)?;
        }
        Ok(Self { facts: gathered.facts, load: None })
    }

    /// Of this program alone, for what no host takes part in.
    pub fn of_program() -> Self {
        let mut gathered = Gathered::default();
        program::add(&mut gathered);
        Self { facts: gathered.facts, load: None }
    }

    /// The value of a fact.
    pub fn value(&self, part: &str, name: &str) -> Option<&str> {
        let fact = self.facts.iter().find(|fact| fact.part == part && fact.name == name)?;
        Some(&fact.value)
    }

    /// Makes sure that the fingerprint can be read again.
    ///
    /// # Errors
    /// If there is too much of it, or the load is none that a host can have.
    pub(crate) fn check(&self) -> Result<(), MeasureError> {
        let long = |fact: &Fact| fact.part.len() + fact.name.len() + fact.value.len() > LONGEST;
        if self.facts.len() > MOST || self.facts.iter().any(long) {
            let limits = format!("at most {MOST} facts of {LONGEST} bytes");
            return Err(MeasureError::Wrong(format!("fingerprint: {} facts; {limits}", self.facts.len())));
        }
        let numbers =
            self.load.map(|load| [load.seconds, load.busy_cores, load.stolen, load.average.unwrap_or(0.0)]);
        if numbers.is_some_and(|numbers| numbers.iter().any(|number| !number.is_finite() || *number < 0.0)) {
            return Err(MeasureError::Wrong("fingerprint: a load is finite, and 0 or more".to_owned()));
        }
        Ok(())
    }
}

/// Every setting of the table of `doctor`. Those that are there once for each core, queue or interrupt are one fact.
fn add_settings(gathered: &mut Gathered, host: &dyn Host, interfaces: &[String]) {
    let needs = HostNeeds { interfaces: interfaces.to_vec(), ..HostNeeds::default() };
    let all = settings(host, &needs, Profile::Evforge);
    gathered.part("setting");
    for of_row in all.chunk_by(|a, b| a.row.name == b.row.name && a.interface == b.interface) {
        let [first, ..] = of_row else { continue };
        let name = match &first.interface {
            Some(interface) => format!("{interface}: {}", first.row.name),
            None => first.row.name.to_owned(),
        };
        let values = summary(of_row.iter().map(|setting| setting.reading.now.as_str()));
        let most = first.reading.most.map(|most| format!("{values} of at most {most}"));
        gathered.add(&name, Some(most.unwrap_or(values)));
    }
}

/// The values of many places in a few words: `performance`, or `performance (6), powersave (2)`.
fn summary<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    match counts.len() {
        0 => String::new(),
        1 => counts.keys().copied().collect(),
        _ => counts.iter().map(|(value, count)| format!("{value} ({count})")).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_host::LocalHost;

    #[test]
    fn this_host_tells_what_it_is_and_nothing_that_names_it() {
        let host = LocalHost::new();
        let fingerprint = Fingerprint::of(&host, &["lo".to_owned()]).unwrap();
        fingerprint.check().unwrap();
        for (part, name) in [
            ("program", "version"),
            ("processor", "cores online"),
            ("memory", "total"),
            ("kernel", "release"),
            ("setting", "net.core.rmem_max"),
            ("setting", "lo: mtu"),
            ("interface lo", "MTU"),
        ] {
            assert!(fingerprint.value(part, name).is_some(), "{part} {name}: {:#?}", fingerprint.facts);
        }
        let name = host.read(std::path::Path::new("/proc/sys/kernel/hostname")).unwrap();
        let is_name = |fact: &&Fact| fact.value.split(' ').any(|word| word == name);
        assert_eq!(fingerprint.facts.iter().find(is_name), None);
        let again = Fingerprint::of(&host, &["lo".to_owned()]).unwrap();
        assert_eq!(fingerprint, again, "what changes all the time is no part of a fingerprint");
    }

    #[test]
    fn an_interface_that_is_not_there_is_refused_with_those_that_are() {
        let said = Fingerprint::of(&LocalHost::new(), &["eth99".to_owned()]).unwrap_err().to_string();
        assert!(said.contains("eth99") && said.contains("lo"), "{said}");
    }

    #[test]
    fn values_of_many_places_are_one_fact() {
        assert_eq!(summary(["a", "a"].into_iter()), "a");
        assert_eq!(summary(["b", "a", "b"].into_iter()), "a (1), b (2)");
        assert_eq!(summary(std::iter::empty()), "");
    }
}
