//! How trains come to a node: in packets, or over connections.

use evforge_net::live_receiver::{LiveReceiveError, LiveReceiver, ReceivePlan};
use evforge_train::node::{self, NodeError, NodeProgress, NodeSettings, ReceivedTrains, TrainSink};
use evforge_train::tcp::{ListenError, TrainListener};
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

/// Where trains come to.
pub(super) enum Arrival {
    /// In UDP packets.
    Packets(Vec<LiveReceiver>),
    /// Over TCP.
    Streams(TrainListener),
}

impl Arrival {
    /// Receives packets as planned.
    pub(super) fn packets(plan: &ReceivePlan) -> Result<Self, LiveReceiveError> {
        LiveReceiver::open(plan).map(Self::Packets)
    }

    /// Listens at these addresses.
    pub(super) fn streams(addresses: &[SocketAddr]) -> Result<Self, ListenError> {
        TrainListener::open(addresses).map(Self::Streams)
    }

    /// Where it receives, of each receiver; all connections are one. Port 0 is one that the kernel has chosen by now.
    pub(super) fn addresses(&self) -> Vec<Vec<SocketAddr>> {
        match self {
            Self::Packets(receivers) => receivers.iter().map(LiveReceiver::local_addresses).collect(),
            Self::Streams(listener) => vec![listener.local_addresses()],
        }
    }

    /// What is to be known before it begins, in whole sentences.
    pub(super) fn warnings(&self) -> Vec<String> {
        match self {
            Self::Packets(receivers) => {
                receivers.iter().flat_map(LiveReceiver::warnings).map(ToString::to_string).collect()
            }
            Self::Streams(_) => Vec::new(),
        }
    }

    /// Receives until the end.
    pub(super) fn run(
        self,
        settings: &NodeSettings,
        sinks: &mut [Box<dyn TrainSink>],
        stop: &AtomicBool,
        watch: impl FnMut(&NodeProgress<'_>),
    ) -> Result<ReceivedTrains, NodeError> {
        match self {
            Self::Packets(receivers) => node::run(settings, receivers, sinks, stop, watch),
            Self::Streams(listener) => node::run_streams(settings, listener, sinks, stop, watch),
        }
    }
}
