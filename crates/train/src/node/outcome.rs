//! What a node did, and how it goes.

use super::by_source::{SourceCounts, SourceReport};
use super::counters::NodeCounters;
use super::profile::ReaderProfile;
use super::sink::SinkError;
use crate::assembly::{AssemblyCounters, TrainReport};
use crate::tcp::StreamCounters;
use evforge_core::counter::CounterSet;
use evforge_core::settings::SettingsError;
use evforge_net::affinity::PinError;
use evforge_net::live_receiver::LiveReceiveError;
use evforge_net::session::{ReceiveState, SessionError, SessionProgress};
use std::net::SocketAddr;
use std::time::Duration;

/// Why a node cannot run, or has ended.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// A setting makes no sense.
    #[error("{0}")]
    Settings(#[from] SettingsError),
    /// Nothing can be received any more.
    #[error("{0}")]
    Receive(#[from] LiveReceiveError),
    /// The system gives no threads, or no cores.
    #[error("{0}")]
    Session(#[from] SessionError<PinError>),
}

/// How it goes, some 50 times per second.
#[derive(Clone, Copy, Debug)]
pub struct NodeProgress<'a> {
    /// Time since the start.
    pub elapsed: Duration,
    /// What the assemblies of all threads have counted.
    pub assembly: AssemblyCounters,
    /// What that of each thread has counted, in the order of the receivers; one for all connections.
    pub threads: &'a [AssemblyCounters],
    /// None of connections: what they lose is sent again.
    pub(super) session: Option<&'a SessionProgress<'a>>,
}

impl NodeProgress<'_> {
    /// What all receivers together knew a moment ago, what was lost on this host among it.
    pub fn receiving(&self) -> ReceiveState {
        self.session.map(SessionProgress::state).unwrap_or_default()
    }
}

/// What a receiving thread did.
#[derive(Clone, Debug)]
pub struct ThreadReport {
    /// Where it received.
    pub addresses: Vec<SocketAddr>,
    /// How, and why so.
    pub way: String,
    /// What its receiver has counted, losses of this host among it.
    pub state: ReceiveState,
    /// What its assembly has counted.
    pub assembly: AssemblyCounters,
    /// Where its time went; none if that was not asked for.
    pub profile: Option<ReaderProfile>,
    /// Trains that were not good, the first ones.
    pub irregular: Vec<TrainReport>,
    /// What came from each source, as many as there may be at a time.
    pub sources: Vec<SourceReport>,
    /// What came from further ones.
    pub further_sources: SourceCounts,
    /// Processor time of the thread, in the kernel and outside; 0 of the threads of connections, which is not measured.
    pub processor: Duration,
}

/// What a node did.
#[derive(Debug)]
pub struct ReceivedTrains {
    /// Each receiving thread.
    pub threads: Vec<ThreadReport>,
    /// Trains between assemblies and sinks.
    pub counters: NodeCounters,
    /// Why a sink has failed, if one has.
    pub failure: Option<SinkError>,
    /// Time that the worker was in sinks.
    pub busy: Duration,
    /// What happened to the connections over which trains came; none of a node that receives over UDP.
    pub streams: Option<ReceivedStreams>,
}

/// What happened to the connections of a node that receives over TCP.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedStreams {
    /// What was counted.
    pub counters: StreamCounters,
    /// How long connections waited for a buffer, all together.
    pub waited: Duration,
}

impl ReceivedTrains {
    /// What the assemblies of all threads have counted.
    pub fn assembly(&self) -> AssemblyCounters {
        sum(self.threads.iter().map(|thread| thread.assembly))
    }
}

/// Counters of several threads, or of several modules, together.
pub(crate) fn sum<C: CounterSet + Default>(all: impl Iterator<Item = C>) -> C {
    all.fold(C::default(), |mut sum, one| {
        sum.accumulate(&one);
        sum
    })
}
