//! The logical cores of a host, and what they share.

mod file;
mod host;

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

/// Logical cores that a topology has at most.
const MOST_CORES: usize = 4096;

/// A logical core, also called a hardware thread: what a thread can be bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogicalCore {
    /// Its number, as the system counts.
    pub number: usize,
    /// The physical core that it belongs to: the lowest number of its hardware threads.
    pub core: usize,
    /// Its last-level cache (on AMD's processors that of a CCX): the lowest number of the cores that share it; none if it is not known.
    pub cache: Option<usize>,
    /// Its NUMA node; none if it is not known.
    pub node: Option<usize>,
}

/// Logical cores, and where packets come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The positions that threads may be assigned to, in the order of their numbers.
    pub cores: Vec<LogicalCore>,
    /// Logical cores of the network card's interrupt; none if there is no card, or it is not known.
    pub interrupts: BTreeSet<usize>,
    /// NUMA node of the network card; none if there is no card, or it is not known.
    pub card_node: Option<usize>,
}

/// Why there is no topology.
#[derive(Debug, thiserror::Error)]
pub enum TopologyError {
    /// The system does not tell.
    #[error("{} cannot be read: {source}. Without it nobody knows which cores are hardware threads of one: give --topology FILE", path.display())]
    Unknown {
        /// What was to be read.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file is no topology.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what is expected.
        problem: String,
    },
    /// A core was asked for that is not there.
    #[error("there is no logical core {core} here: expected some of {known}")]
    NoCore {
        /// The core.
        core: usize,
        /// Those that there are.
        known: String,
    },
}

impl Topology {
    /// The numbers of its cores.
    pub fn numbers(&self) -> impl Iterator<Item = usize> {
        self.cores.iter().map(|core| core.number)
    }

    /// A core by its number.
    pub fn core(&self, number: usize) -> Option<&LogicalCore> {
        self.cores.iter().find(|core| core.number == number)
    }

    /// True if two different logical cores are hardware threads of one; none if one of them is not among the positions.
    pub fn are_siblings(&self, one: usize, other: usize) -> Option<bool> {
        let of = |number| self.core(number).map(|core| core.core);
        Some(one != other && of(one)? == of(other)?)
    }

    /// True if two of its logical cores are hardware threads of one.
    pub fn has_siblings(&self) -> bool {
        let physical: BTreeSet<usize> = self.cores.iter().map(|core| core.core).collect();
        physical.len() < self.cores.len()
    }

    /// The same with these cores only.
    ///
    /// # Errors
    /// If one of them is not there.
    pub fn only(&self, cores: &[usize]) -> Result<Self, TopologyError> {
        let known = || evforge_host::cores::to_list(&self.numbers().collect());
        if let Some(&core) = cores.iter().find(|core| self.core(**core).is_none()) {
            return Err(TopologyError::NoCore { core, known: known() });
        }
        let chosen = self.cores.iter().filter(|core| cores.contains(&core.number)).copied();
        Ok(Self { cores: chosen.collect(), ..self.clone() })
    }

    /// The same with the cores only that share the last-level cache of this one: what the paper calls a CCX. All of them if it is not known.
    #[must_use]
    pub fn sharing_cache_with(&self, number: usize) -> Self {
        let Some(cache) = self.core(number).and_then(|core| core.cache) else { return self.clone() };
        let chosen = self.cores.iter().filter(|core| core.cache == Some(cache)).copied();
        Self { cores: chosen.collect(), ..self.clone() }
    }

    /// The topology in a sentence.
    pub fn sentence(&self) -> String {
        let physical: BTreeSet<usize> = self.cores.iter().map(|core| core.core).collect();
        let count = |of: fn(&LogicalCore) -> Option<usize>, one: &str, many: &str| {
            let groups: Option<BTreeSet<usize>> = self.cores.iter().map(of).collect();
            match groups.map(|groups| groups.len()) {
                None => format!("{many}: not known"),
                Some(1) => format!("one {one}"),
                Some(number) => format!("{number} {many}"),
            }
        };
        let card = match self.interrupts.is_empty() {
            true => "no interrupt of a card".to_owned(),
            false => format!("interrupt on {}", evforge_host::cores::to_list(&self.interrupts)),
        };
        format!(
            "logical cores {} of {} physical ones, {}, {}, {card}",
            evforge_host::cores::to_list(&self.numbers().collect()),
            physical.len(),
            count(|core| core.cache, "last-level cache", "last-level caches"),
            count(|core| core.node, "NUMA node", "NUMA nodes")
        )
    }
}
