//! Counters: those that a library declares, and those of the host.

use crate::text::text;
use evforge_core::counter::{CounterInfo, CounterSet, Law, Role, Unit};
use evforge_plugin_interface::layout::{Counter, law, role, unit};

evforge_core::counters! {
    /// What the host counts of a plugin. The library's own counters stand behind them.
    pub struct PluginCounters: "plugin" {
        packets_received: Enters(Packets), Packets, "Packets given to the detector.";
        packets_after_failure: Discarded(Packets), Packets, "Packets that the library has not taken: it had failed, or did so before it came to them.";
        events: HandedOut, Events, "Events taken over from the library.";
        events_refused: Information, Events, "Events of a call in which the library reported something impossible: not taken over.";
    }
}

/// Longest name of a counter.
const LONGEST_NAME: usize = 63;

/// The declarations of a library, checked. They stay in memory until the process ends.
pub(crate) fn declared_counters(counters: &[Counter]) -> Result<&'static [CounterInfo], String> {
    let mut infos: Vec<CounterInfo> = Vec::with_capacity(counters.len());
    for (index, counter) in counters.iter().enumerate() {
        // SAFETY: a declaration points to texts that end with 0, or is null.
        let (name, help) = unsafe { (text(counter.name), text(counter.help)) };
        let name = name.ok_or_else(|| format!("its counter {index} has no name"))?;
        let problem = |problem: &str| format!("its counter {name:?} {problem}");
        if name.len() > LONGEST_NAME || !name.bytes().all(|c| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'_')) {
            return Err(problem(
                "has a name of other characters than a to z, 0 to 9 and _, or of more than 63",
            ));
        }
        if PluginCounters::infos().iter().any(|own| own.name == name) {
            return Err(problem("has a name that evforge itself counts under"));
        }
        if infos.iter().any(|other| other.name == name) {
            return Err(problem("is declared twice"));
        }
        let help = help.ok_or_else(|| problem("has no help text, or one that is not UTF-8"))?;
        let unit = unit_of(counter.unit).ok_or_else(|| problem("has a unit that is not known"))?;
        let role = role_of(counter).ok_or_else(|| {
            problem("has a role and laws that do not go together (see EVFORGE_ROLE in the header)")
        })?;
        if role.sign(Law::Packets) > 0 {
            return Err(problem("enters the law of packets: evforge itself counts what enters there"));
        }
        infos.push(CounterInfo { name: name.leak(), unit, help: help.leak(), role });
    }
    if !infos.iter().any(|info| info.role.sign(Law::Packets) < 0) {
        return Err(
            "none of its counters leaves the law of packets: what happens to a packet must be counted \
                    (packets used, and those discarded by reason)"
                .to_owned(),
        );
    }
    Ok(infos.leak())
}

fn unit_of(number: u32) -> Option<Unit> {
    Some(match number {
        unit::PACKETS => Unit::Packets,
        unit::BYTES => Unit::Bytes,
        unit::READOUTS => Unit::Readouts,
        unit::HITS => Unit::Hits,
        unit::CLUSTERS => Unit::Clusters,
        unit::EVENTS => Unit::Events,
        unit::TIMES => Unit::Times,
        _ => return None,
    })
}

fn law_of(number: u32) -> Option<Law> {
    Some(match number {
        law::PACKETS => Law::Packets,
        law::READOUTS => Law::Readouts,
        law::HITS => Law::Hits,
        law::EVENTS => Law::Events,
        _ => return None,
    })
}

fn role_of(counter: &Counter) -> Option<Role> {
    let next = law_of(counter.next_law);
    if counter.role == role::JOINS {
        let (law, next) = (law_of(counter.law)?, next?);
        return (law != next).then_some(Role::Joins(law, next));
    }
    if counter.next_law != law::NONE {
        return None;
    }
    if counter.role == role::INFORMATION {
        return (counter.law == law::NONE).then_some(Role::Information);
    }
    let law = law_of(counter.law)?;
    Some(match counter.role {
        role::ENTERS => Role::Enters(law),
        role::LEAVES => Role::Leaves(law),
        role::DISCARDED => Role::Discarded(law),
        role::HELD => Role::Held(law),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::{CStr, c_char};

    fn counter(name: &'static CStr, role: u32, law: u32, next_law: u32) -> Counter {
        Counter { name: name.as_ptr(), help: c"Help.".as_ptr(), unit: unit::PACKETS, role, law, next_law }
    }

    #[test]
    fn declarations_become_those_of_core() {
        let used = counter(c"used", role::JOINS, law::PACKETS, law::EVENTS);
        let held = counter(c"held_2", role::HELD, law::READOUTS, law::NONE);
        let infos = declared_counters(&[used, held]).unwrap();
        assert_eq!((infos[0].name, infos[0].role), ("used", Role::Joins(Law::Packets, Law::Events)));
        assert_eq!((infos[1].help, infos[1].role), ("Help.", Role::Held(Law::Readouts)));
    }

    #[test]
    fn declarations_that_cannot_be_are_refused_by_name() {
        let used = counter(c"used", role::LEAVES, law::PACKETS, law::NONE);
        let long = c"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
        let (unknown, helpless) = (Counter { unit: 7, ..used }, Counter { help: std::ptr::null(), ..used });
        for (counters, expected) in [
            (vec![Counter { name: std::ptr::null::<c_char>(), ..used }], "its counter 0 has no name"),
            (vec![counter(c"Used", role::LEAVES, law::PACKETS, law::NONE)], "\"Used\" has a name of other"),
            (vec![counter(long, role::LEAVES, law::PACKETS, law::NONE)], "of more than 63"),
            (
                vec![counter(c"events", role::INFORMATION, law::NONE, law::NONE)],
                "evforge itself counts under",
            ),
            (vec![used, used], "\"used\" is declared twice"),
            (vec![unknown], "has a unit that is not known"),
            (vec![helpless], "has no help text"),
            (vec![counter(c"used", 6, law::PACKETS, law::NONE)], "do not go together"),
            (vec![counter(c"used", role::LEAVES, 5, law::NONE)], "do not go together"),
            (vec![counter(c"used", role::LEAVES, law::PACKETS, law::HITS)], "do not go together"),
            (vec![counter(c"used", role::JOINS, law::PACKETS, law::NONE)], "do not go together"),
            (vec![counter(c"used", role::JOINS, law::HITS, law::HITS)], "do not go together"),
            (vec![counter(c"used", role::INFORMATION, law::HITS, law::NONE)], "do not go together"),
            (
                vec![counter(c"in", role::ENTERS, law::PACKETS, law::NONE)],
                "evforge itself counts what enters",
            ),
            (
                vec![counter(c"hits", role::LEAVES, law::HITS, law::NONE)],
                "none of its counters leaves the law of packets",
            ),
        ] {
            let error = declared_counters(&counters).unwrap_err();
            assert!(error.contains(expected), "{error}\n  expected {expected}");
        }
    }
}
