//! What a node is to do.

use crate::assembly::AssemblySettings;
use evforge_net::session::SessionLimits;
use std::net::SocketAddr;

/// A module of the detector, and the port that its trains come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModulePort {
    /// UDP port at this node.
    pub port: u16,
    /// Number of the module, from 0.
    pub module: u8,
}

/// Whose trains are told apart by their frame numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourcesBy {
    /// Those of each module: whoever sends them, one at a time does.
    #[default]
    Module,
    /// Those of each sender's address and port: several modules, or several train builders, send to one port. The module of a train is
    /// that in its header.
    Sender,
}

/// What a node is to do.
#[derive(Clone, Debug)]
pub struct NodeSettings {
    /// How trains are put together, in each receiving thread.
    pub assembly: AssemblySettings,
    /// The modules.
    pub modules: Vec<ModulePort>,
    /// Whose trains are told apart by their frame numbers.
    pub sources_by: SourcesBy,
    /// Cores of the receiving threads, taken in turn; none leaves them to the system.
    pub cores: Vec<usize>,
    /// Core of the worker; none leaves it to the system.
    pub worker_core: Option<usize>,
    /// Packets that are fetched at once at most.
    pub batch: usize,
    /// Say where the time of the receiving threads goes.
    pub has_profile: bool,
    /// When it is over.
    pub limits: SessionLimits,
    /// Ends after so many trains that are good, of all modules together; none does not.
    pub trains: Option<u64>,
    /// Reports of trains that were not good are kept, up to so many of each thread; all of them are counted.
    pub kept_reports: usize,
}

impl NodeSettings {
    /// With everything but these as usual.
    pub fn new(assembly: AssemblySettings, modules: Vec<ModulePort>) -> Self {
        Self {
            assembly,
            modules,
            sources_by: SourcesBy::default(),
            cores: Vec::new(),
            worker_core: None,
            batch: 1024,
            has_profile: true,
            limits: SessionLimits::default(),
            trains: None,
            kept_reports: 100,
        }
    }

    /// The modules whose ports a receiver has.
    pub(super) fn modules_at(&self, addresses: &[SocketAddr]) -> Vec<ModulePort> {
        let is_there = |module: &&ModulePort| addresses.iter().any(|address| address.port() == module.port);
        self.modules.iter().filter(is_there).copied().collect()
    }
}
