//! What is kept of a library's counters and sources, and the laws that they must keep.

use evforge_core::counter::{CounterInfo, Law, Role};
use evforge_core::ledger::{PacketLedger, SourceLedger};
use evforge_plugin_interface::layout::Source;
use std::ffi::c_char;

/// What the host itself has counted, to compare with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HostCounts {
    /// Packets that the library has taken, those of the present call included.
    pub(crate) taken: u64,
    /// Events that it has handed out, those of the present call included.
    pub(crate) events: u64,
}

/// Counters and sources after the last call whose answer could be. What is asked of the library goes into a second
/// set first, and takes the place of the first one only if it keeps the laws.
#[derive(Debug)]
pub(crate) struct Accounts {
    infos: &'static [CounterInfo],
    values: Vec<u64>,
    asked: Vec<u64>,
    sources: Vec<Source>,
    source_count: usize,
    asked_sources: Vec<Source>,
}

impl Accounts {
    pub(crate) fn new(infos: &'static [CounterInfo], most_sources: usize) -> Self {
        Self {
            infos,
            values: vec![0; infos.len()],
            asked: vec![0; infos.len()],
            sources: vec![Source::default(); most_sources],
            source_count: 0,
            asked_sources: vec![Source::default(); most_sources],
        }
    }

    /// Memory in bytes.
    pub(crate) fn memory_bound(&self) -> usize {
        2 * (self.values.len() * size_of::<u64>() + self.sources.len() * size_of::<Source>())
    }

    /// Places for new values, all 0: of the counters, and of the sources.
    pub(crate) fn ask(&mut self) -> (&mut [u64], &mut [Source]) {
        self.asked.fill(0);
        (&mut self.asked, &mut self.asked_sources)
    }

    /// Keeps the new values, `source_count` sources of them, if they can be.
    pub(crate) fn accept(&mut self, source_count: usize, host: HostCounts) -> Result<(), String> {
        self.check_counters(host)?;
        self.check_sources(source_count, host)?;
        std::mem::swap(&mut self.values, &mut self.asked);
        std::mem::swap(&mut self.sources, &mut self.asked_sources);
        self.source_count = source_count;
        Ok(())
    }

    fn check_counters(&self, host: HostCounts) -> Result<(), String> {
        for (info, (&before, &now)) in self.infos.iter().zip(self.values.iter().zip(&self.asked)) {
            if now < before && !matches!(info.role, Role::Held(_)) {
                return Err(format!("{} fell from {before} to {now}; only what is held may fall", info.name));
            }
        }
        for law in Law::ALL {
            // Incoming less outgoing; what comes in as packets is counted here.
            let incoming = if law == Law::Packets { i128::from(host.taken) } else { 0 };
            let counters = self.infos.iter().zip(&self.asked);
            let left: i128 = incoming
                + counters.map(|(info, &value)| info.role.sign(law) * i128::from(value)).sum::<i128>();
            if left != 0 {
                return Err(format!("the law of {} does not hold: in less out is {left}", law.name()));
            }
        }
        self.check_handed_out(host.events)
    }

    /// A library that counts the events that leave it must have counted those that it handed out.
    fn check_handed_out(&self, events: u64) -> Result<(), String> {
        let leaving = |info: &CounterInfo| info.role == Role::Leaves(Law::Events);
        if !self.infos.iter().any(leaving) {
            return Ok(());
        }
        let counters = self.infos.iter().zip(&self.asked).filter(|(info, _)| leaving(info));
        let counted: u128 = counters.map(|(_, &value)| u128::from(value)).sum();
        if counted != u128::from(events) {
            return Err(format!("{counted} events have left by its counters; {events} were handed out"));
        }
        Ok(())
    }

    fn check_sources(&self, count: usize, host: HostCounts) -> Result<(), String> {
        let most = self.asked_sources.len();
        if count > most {
            return Err(format!("{count} sources are reported; it was described to have at most {most}"));
        }
        if count < self.source_count {
            return Err(format!("{count} sources are reported after {}", self.source_count));
        }
        let mut received = 0_u128;
        for (index, source) in self.asked_sources[..count].iter().enumerate() {
            let left = if source.numbered == 0 { 0 } else { packets_of(source).imbalance() };
            if left != 0 {
                return Err(format!(
                    "source {:?}: sent + duplicated less received + lost is {left}; expected 0",
                    name_of(&source.name)
                ));
            }
            let before = self.sources[..self.source_count].get(index).map_or(0, |source| source.received);
            if source.received < before {
                return Err(format!(
                    "source {:?}: received fell from {before} to {}",
                    name_of(&source.name),
                    source.received
                ));
            }
            received += u128::from(source.received);
        }
        if received > u128::from(host.taken) {
            return Err(format!("{received} packets of all sources received; {} were taken", host.taken));
        }
        Ok(())
    }

    /// The library's counters.
    pub(crate) fn counters(&self) -> (&'static [CounterInfo], &[u64]) {
        (self.infos, &self.values)
    }

    /// The sources, as the ledger tells them.
    pub(crate) fn source_ledgers(&self) -> Vec<SourceLedger> {
        self.sources[..self.source_count].iter().map(ledger_of).collect()
    }
}

/// The packets of a source that numbers them.
fn packets_of(source: &Source) -> PacketLedger {
    PacketLedger {
        sent: Some(source.sent),
        received: source.received,
        lost: source.lost,
        reordered: source.reordered,
        duplicated: source.duplicated,
        // Libraries follow the numbers by themselves, and have no such count.
        unconfirmed: 0,
        restarts: source.restarts,
    }
}

fn ledger_of(source: &Source) -> SourceLedger {
    let name = name_of(&source.name);
    if source.numbered == 0 {
        return SourceLedger::unnumbered(name, source.received);
    }
    SourceLedger { name, packets: packets_of(source), ..SourceLedger::default() }
}

/// A text up to its 0, or to the end of its place.
pub(crate) fn name_of(text: &[c_char]) -> String {
    let bytes: Vec<u8> = text.iter().map(|&c| c as u8).take_while(|&c| c != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
