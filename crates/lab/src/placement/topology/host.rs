//! The topology of a host, as its kernel tells it (sysfs).

use super::{LogicalCore, Topology, TopologyError};
use evforge_host::cores::from_list;
use evforge_host::{Host, interrupt_cores};
use std::path::{Path, PathBuf};

const CORES: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";
const INTERFACES: &str = "/sys/class/net";

impl Topology {
    /// Of these cores of a host, with the card of an interface if one is named. The interrupt's cores are those that serve it or that
    /// the kernel hands its packets to (RPS); they are read, and not changed.
    ///
    /// # Errors
    /// If the system does not say which cores are hardware threads of one.
    pub fn of_host(host: &dyn Host, cores: &[usize], interface: Option<&str>) -> Result<Self, TopologyError> {
        let mut numbers = cores.to_vec();
        numbers.sort_unstable();
        numbers.dedup();
        let nodes = nodes(host);
        let logical = |number: usize| {
            let path = core_folder(number).join("topology/thread_siblings_list");
            let siblings =
                host.read(&path).map_err(|source| TopologyError::Unknown { path: path.clone(), source })?;
            let node = nodes.iter().find(|(_, cores)| cores.contains(&number)).map(|(node, _)| *node);
            Ok(LogicalCore {
                number,
                // A core is a thread of itself at least.
                core: from_list(&siblings).first().copied().unwrap_or(number),
                cache: last_level_cache(host, number),
                node,
            })
        };
        let card_node = interface.and_then(|name| {
            let node = host.read(&Path::new(INTERFACES).join(name).join("device/numa_node")).ok()?;
            // -1 on a host that has one node, or does not know.
            node.parse().ok()
        });
        Ok(Self {
            cores: numbers.into_iter().map(logical).collect::<Result<_, TopologyError>>()?,
            interrupts: interface.into_iter().flat_map(|name| interrupt_cores(host, name)).collect(),
            card_node,
        })
    }
}

fn core_folder(number: usize) -> PathBuf {
    Path::new(CORES).join(format!("cpu{number}"))
}

/// The lowest core that shares the cache of the highest level for data; none if the system does not tell.
fn last_level_cache(host: &dyn Host, number: usize) -> Option<usize> {
    let folder = core_folder(number).join("cache");
    let names = host.list(&folder).ok()?;
    let of = |name: &String| {
        let read = |file: &str| host.read(&folder.join(name).join(file)).ok();
        if read("type")? == "Instruction" {
            return None;
        }
        let level: u32 = read("level")?.parse().ok()?;
        Some((level, from_list(&read("shared_cpu_list")?).first().copied()?))
    };
    let caches = names.iter().filter(|name| name.starts_with("index")).filter_map(of);
    caches.max_by_key(|(level, _)| *level).map(|(_, first)| first)
}

/// NUMA nodes with their cores; nothing if the system does not tell.
fn nodes(host: &dyn Host) -> Vec<(usize, std::collections::BTreeSet<usize>)> {
    let online = host.read(&Path::new(NODES).join("online")).unwrap_or_default();
    let of = |node: usize| {
        let cores = host.read(&Path::new(NODES).join(format!("node{node}")).join("cpulist")).ok()?;
        Some((node, from_list(&cores)))
    };
    from_list(&online).into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_host::LocalHost;
    use std::fs;

    /// Two nodes, each with a cache for two cores of two hardware threads; the second one is numbered as the system likes to: 2 and 6
    /// are siblings.
    fn host(folder: &Path) -> LocalHost {
        let write = |path: String, text: &str| {
            let path = folder.join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        };
        for number in 0..8 {
            let (low, high) = (number % 4, number % 4 + 4);
            let folder = format!("{CORES}/cpu{number}");
            write(format!("{folder}/topology/thread_siblings_list"), &format!("{low},{high}"));
            let caches =
                [("0", "1", "Data"), ("1", "1", "Instruction"), ("2", "2", "Unified"), ("3", "3", "Unified")];
            for (index, level, kind) in caches {
                let folder = format!("{folder}/cache/index{index}");
                write(format!("{folder}/level"), level);
                write(format!("{folder}/type"), kind);
                let shared = match (level, low < 2) {
                    ("3", true) => "0-1,4-5".to_owned(),
                    ("3", false) => "2-3,6-7".to_owned(),
                    _ => format!("{low},{high}"),
                };
                write(format!("{folder}/shared_cpu_list"), &shared);
            }
        }
        write(format!("{NODES}/online"), "0-1");
        write(format!("{NODES}/node0/cpulist"), "0-1,4-5");
        write(format!("{NODES}/node1/cpulist"), "2-3,6-7");
        write(format!("{INTERFACES}/eth2/device/numa_node"), "1");
        write(format!("{INTERFACES}/eth2/device/msi_irqs/40"), "msix");
        write("/proc/irq/40/effective_affinity_list".to_owned(), "2");
        LocalHost::below(folder)
    }

    #[test]
    fn siblings_caches_nodes_and_the_card_are_those_of_the_system() {
        let folder = tempfile::tempdir().unwrap();
        let host = host(folder.path());
        let topology = Topology::of_host(&host, &[7, 6, 3, 2, 1, 0], Some("eth2")).unwrap();
        let expected = LogicalCore { number: 6, core: 2, cache: Some(2), node: Some(1) };
        assert_eq!(topology.core(6), Some(&expected));
        assert_eq!((topology.are_siblings(2, 6), topology.are_siblings(2, 3)), (Some(true), Some(false)));
        assert_eq!(topology.are_siblings(2, 4), None, "4 is no position");
        assert_eq!((topology.card_node, topology.interrupts.clone()), (Some(1), [2].into()));
        let complex = topology.sharing_cache_with(2);
        assert_eq!(complex.numbers().collect::<Vec<_>>(), [2, 3, 6, 7]);
        assert!(complex.has_siblings() && !topology.only(&[0, 1, 2]).unwrap().has_siblings());
        assert_eq!(
            complex.sentence(),
            "logical cores 2-3,6-7 of 2 physical ones, one last-level cache, one NUMA node, interrupt on 2"
        );
        let error = topology.only(&[1, 9]).unwrap_err().to_string();
        assert!(error.contains("no logical core 9") && error.contains("0-3,6-7"), "{error}");
    }

    #[test]
    fn a_system_that_does_not_tell_of_siblings_is_an_error_and_of_the_rest_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let host = host(folder.path());
        fs::remove_dir_all(folder.path().join("sys/devices/system/cpu/cpu1/cache")).unwrap();
        fs::remove_dir_all(folder.path().join("sys/devices/system/node")).unwrap();
        let topology = Topology::of_host(&host, &[1], None).unwrap();
        assert_eq!((topology.cores[0].cache, topology.cores[0].node), (None, None));
        assert!(topology.sentence().contains("NUMA nodes: not known"), "{}", topology.sentence());
        fs::remove_dir_all(folder.path().join("sys/devices/system/cpu/cpu1/topology")).unwrap();
        let error = Topology::of_host(&host, &[1], None).unwrap_err().to_string();
        assert!(
            error.contains("cpu1/topology/thread_siblings_list") && error.contains("--topology"),
            "{error}"
        );
    }
}
