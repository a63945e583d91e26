//! What came at all addresses, by all threads.

use super::account::{Account, NumberedCounters};
use crate::link::first_second::FirstSecond;
use crate::link::receive::{Arrivals, LinkAccount, ProcessorUse, ReceivedLink};
use evforge_core::counter::CounterSet;
use evforge_net::host_counters::HostCounters;
use evforge_net::lateness::Lateness;
use evforge_net::session::ReceiveState;
use std::net::SocketAddr;
use std::time::Duration;

/// A thread that received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceivingThreadUse {
    /// Packets that it took.
    pub packets: u64,
    /// Its processor time.
    pub processor: ProcessorUse,
}

/// What came at all addresses, by all threads.
#[derive(Clone, Debug)]
pub struct ReceivedNumbers {
    /// Where, each address once.
    pub addresses: Vec<SocketAddr>,
    /// How, and why so.
    pub way: String,
    /// The packets, an account for each address of each thread.
    pub accounts: Vec<Account>,
    /// What all receivers counted.
    pub state: ReceiveState,
    /// What this host and its interfaces counted meanwhile; other traffic is in it as well.
    pub host: HostCounters,
    /// Time spent on each packet.
    pub work: Duration,
    /// The smallest receive buffer that a socket was granted, in bytes as the kernel gives it; none without sockets.
    pub buffer_bytes: Option<u64>,
    /// The threads.
    pub threads: Vec<ReceivingThreadUse>,
}

impl ReceivedNumbers {
    /// All links together; none if there is none.
    pub(super) fn of(links: Vec<ReceivedLink<Account>>) -> Option<Self> {
        let first = links.first()?;
        let mut all = Self {
            addresses: Vec::new(),
            way: first.way.clone(),
            accounts: Vec::new(),
            state: ReceiveState::default(),
            // Of the host, and so the same for all.
            host: first.host,
            work: first.work,
            buffer_bytes: None,
            threads: Vec::new(),
        };
        for link in links {
            if !all.addresses.contains(&link.address) {
                all.addresses.push(link.address);
            }
            let granted = link.buffer.map(|buffer| buffer.granted as u64);
            all.buffer_bytes = all.buffer_bytes.into_iter().chain(granted).min();
            // Links of one thread have one receiver, and its state each.
            if link.thread == all.threads.len() {
                all.state.add(&link.state);
                all.threads.push(ReceivingThreadUse { packets: 0, processor: link.processor });
            }
            if let Some(thread) = all.threads.last_mut() {
                thread.packets += link.account.packets();
            }
            all.accounts.push(link.account);
        }
        Some(all)
    }

    /// The packets of all accounts.
    pub fn counters(&self) -> NumberedCounters {
        let mut all = NumberedCounters::default();
        self.accounts.iter().for_each(|account| all.accumulate(account.counters()));
        all
    }

    /// Times from the sender's stamp of each packet to that of its arrival.
    pub fn latency(&self) -> Lateness {
        let mut all = Lateness::default();
        self.accounts.iter().for_each(|account| all.add_all(account.latency()));
        all
    }

    /// When the first packet and the last one came.
    pub fn arrivals(&self) -> Arrivals {
        let mut all = Arrivals::default();
        self.accounts.iter().for_each(|account| all.add(account.arrivals()));
        all
    }

    /// What came in the first second.
    pub fn first_second(&self) -> FirstSecond {
        let mut all = FirstSecond::default();
        self.accounts.iter().for_each(|account| all.add(&account.first_second()));
        all
    }

    /// UDP datagrams per second between the first packet and the last; 0 before the second.
    pub fn packets_per_second(&self) -> f64 {
        self.arrivals().per_second(self.counters().packets_received)
    }

    /// Bits of UDP payload per second; 0 before the second packet.
    pub fn bits_per_second(&self) -> f64 {
        self.arrivals().per_second(self.counters().bytes_received) * 8.0
    }

    /// The processor time of all threads.
    pub fn processor(&self) -> ProcessorUse {
        let add = |all: ProcessorUse, thread: &ReceivingThreadUse| ProcessorUse {
            used: all.used + thread.processor.used,
            of: all.of + thread.processor.of,
        };
        self.threads.iter().fold(ProcessorUse::default(), add)
    }
}
