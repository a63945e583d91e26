//! A topology written down: that of another host, for the list of its assignments.

use super::{LogicalCore, MOST_CORES, Topology, TopologyError};
use evforge_core::whole_file;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;

/// As in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// Logical cores of the interrupt.
    #[serde(default)]
    interrupt: Cores,
    /// NUMA node of the card.
    card_node: Option<usize>,
    #[serde(default)]
    core: Vec<PhysicalCore>,
}

/// A table `[[core]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PhysicalCore {
    threads: Vec<usize>,
    cache: Option<usize>,
    node: Option<usize>,
}

/// A number, or a list of them.
#[derive(Deserialize)]
#[serde(untagged, expecting = "the number of a logical core, or a list of them as in [0, 4]")]
enum Cores {
    One(usize),
    Several(BTreeSet<usize>),
}

impl Default for Cores {
    fn default() -> Self {
        Self::Several(BTreeSet::new())
    }
}

impl Topology {
    /// Reads a file in TOML: `interrupt`, `card_node`, and a table `[[core]]` with `threads`, `cache` and `node` for each physical core.
    ///
    /// # Errors
    /// If it cannot be read, or is no topology: with the place, and what is expected.
    pub fn read_file(path: &Path) -> Result<Self, TopologyError> {
        let text = whole_file::text(path, whole_file::SETTINGS)
            .map_err(|source| TopologyError::Read { path: path.to_owned(), source })?;
        Self::of_text(&text).map_err(|problem| TopologyError::File { path: path.to_owned(), problem })
    }

    fn of_text(text: &str) -> Result<Self, String> {
        let written: Written = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut cores = Vec::new();
        for physical in &written.core {
            let Some(&core) = physical.threads.iter().min() else {
                return Err(
                    "a [[core]] has no threads: expected their numbers, as in threads = [0, 1]".into()
                );
            };
            cores.extend(physical.threads.iter().map(|&number| LogicalCore {
                number,
                core,
                cache: physical.cache,
                node: physical.node,
            }));
        }
        if cores.is_empty() || cores.len() > MOST_CORES {
            return Err(format!(
                "has {} logical cores: expected 1 to {MOST_CORES}, in tables [[core]] with threads = [0, 1]",
                cores.len()
            ));
        }
        cores.sort_by_key(|core| core.number);
        if let Some(pair) = cores.windows(2).find(|pair| pair[0].number == pair[1].number) {
            return Err(format!("the logical core {} is there twice", pair[0].number));
        }
        let interrupts = match written.interrupt {
            Cores::One(core) => BTreeSet::from([core]),
            Cores::Several(cores) => cores,
        };
        if let Some(core) = interrupts.iter().find(|core| !cores.iter().any(|known| known.number == **core)) {
            return Err(format!("interrupt = {core}, but no [[core]] has that thread"));
        }
        Ok(Self { cores, interrupts, card_node: written.card_node })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_threads_and_the_interrupt_are_read() {
        let text = "interrupt = 0\ncard_node = 1\n[[core]]\nthreads = [0, 4]\nnode = 1\n[[core]]\nthreads = [1, 5]\ncache = 3\n";
        let topology = Topology::of_text(text).unwrap();
        assert_eq!(topology.numbers().collect::<Vec<_>>(), [0, 1, 4, 5]);
        assert_eq!((topology.are_siblings(0, 4), topology.are_siblings(0, 1)), (Some(true), Some(false)));
        assert_eq!(topology.core(4).unwrap().node, Some(1));
        assert_eq!((topology.core(5).unwrap().cache, topology.card_node), (Some(3), Some(1)));
        assert_eq!(topology.interrupts, [0].into());
        assert_eq!(
            Topology::of_text("interrupt = [0, 1]\n[[core]]\nthreads = [0, 1]").unwrap().interrupts.len(),
            2
        );
    }

    #[test]
    fn what_is_no_topology_is_refused_with_what_is_expected() {
        for (text, expected) in [
            ("", "has 0 logical cores"),
            ("[[core]]\nthreads = []", "has no threads"),
            ("[[core]]\nthreads = [0]\n[[core]]\nthreads = [1, 0]", "core 0 is there twice"),
            ("interrupt = 7\n[[core]]\nthreads = [0]", "interrupt = 7"),
            ("interrupt = 'x'\n[[core]]\nthreads = [0]", "a list of them"),
            ("[[core]]\nthread = [0]", "unknown field `thread`"),
        ] {
            let error = Topology::of_text(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let error = Topology::read_file(Path::new("no-such.toml")).unwrap_err().to_string();
        assert!(error.starts_with("no-such.toml: "), "{error}");
    }
}
