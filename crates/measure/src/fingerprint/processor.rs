//! Processor, memory and machine.

use super::gathered::Gathered;
use evforge_host::Host;
use std::collections::BTreeSet;
use std::path::Path;

const CORES: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";
const MACHINE: &str = "/sys/class/dmi/id";

pub(super) fn add(gathered: &mut Gathered, host: &dyn Host) {
    let read = |path: String| host.read(Path::new(&path)).ok();
    let info = read("/proc/cpuinfo".to_owned()).unwrap_or_default();
    let (siblings, sockets) = topology(host);
    gathered
        .part("processor")
        .add("model", field(&info, "model name").or_else(|| field(&info, "CPU part")))
        .add("family, model, stepping", numbers(&info))
        .add("microcode", field(&info, "microcode"))
        .add("cores online", read(format!("{CORES}/online")))
        .add("hardware threads of a core", siblings)
        .add("packages", sockets)
        .add("caches of core 0", caches(host))
        .add("NUMA nodes", nodes(host))
        .add("isolated cores", read(format!("{CORES}/isolated")))
        .add("cores without ticks", read(format!("{CORES}/nohz_full")))
        .add("frequency driver", read(format!("{CORES}/cpu0/cpufreq/scaling_driver")))
        .add("highest frequency (kHz)", read(format!("{CORES}/cpu0/cpufreq/cpuinfo_max_freq")))
        .add("boost", read(format!("{CORES}/cpufreq/boost")))
        .add("turbo is off", read(format!("{CORES}/intel_pstate/no_turbo")))
        .add("idle driver", read(format!("{CORES}/cpuidle/current_driver")));
    let memory = read("/proc/meminfo".to_owned()).and_then(|text| field(&text, "MemTotal"));
    gathered
        .part("memory")
        .add("total", memory)
        .add("huge pages", read("/proc/sys/vm/nr_hugepages".to_owned()))
        .add("transparent huge pages", read("/sys/kernel/mm/transparent_hugepage/enabled".to_owned()));
    let is_virtual = field(&info, "flags").map(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    gathered
        .part("machine")
        .add("maker", read(format!("{MACHINE}/sys_vendor")))
        .add("model", read(format!("{MACHINE}/product_name")))
        .add("firmware", read(format!("{MACHINE}/bios_version")))
        .add("is virtual", is_virtual.map(|is| if is { "yes" } else { "no" }));
}

/// The value of a line `name : value`.
fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim() == name).then_some(value.trim())
    });
    line.map(str::to_owned)
}

fn numbers(info: &str) -> Option<String> {
    let numbers: Option<Vec<String>> =
        ["cpu family", "model", "stepping"].iter().map(|name| field(info, name)).collect();
    numbers.map(|numbers| numbers.join(", "))
}

/// Which cores are hardware threads of one, and how many packages there are.
fn topology(host: &dyn Host) -> (Option<String>, Option<String>) {
    let names = host.list(Path::new(CORES)).unwrap_or_default();
    let is_core = |name: &&String| {
        name.strip_prefix("cpu")
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let of = |file: &str| -> BTreeSet<String> {
        let file = |name: &String| host.read(&Path::new(CORES).join(name).join("topology").join(file)).ok();
        names.iter().filter(is_core).filter_map(file).collect()
    };
    let (siblings, packages) = (of("thread_siblings_list"), of("physical_package_id"));
    // In the order of the cores: 2 before 10.
    let mut siblings: Vec<String> = siblings.into_iter().collect();
    siblings.sort_by_key(|list| evforge_host::cores::from_list(list).first().copied());
    let packages = (!packages.is_empty()).then(|| packages.len().to_string());
    ((!siblings.is_empty()).then(|| siblings.join(" | ")), packages)
}

fn caches(host: &dyn Host) -> Option<String> {
    let folder = Path::new(CORES).join("cpu0/cache");
    let names = host.list(&folder).ok()?;
    let of = |name: &String| {
        let read = |file: &str| host.read(&folder.join(name).join(file)).ok();
        let kind = read("type")?;
        Some(format!(
            "L{} {}: {} for cores {}",
            read("level")?,
            kind.to_lowercase(),
            read("size")?,
            read("shared_cpu_list")?
        ))
    };
    let caches: Vec<String> = names.iter().filter(|name| name.starts_with("index")).filter_map(of).collect();
    Some(caches.join("; "))
}

fn nodes(host: &dyn Host) -> Option<String> {
    let online = host.read(&Path::new(NODES).join("online")).ok()?;
    let of = |node: usize| {
        let cores = host.read(&Path::new(NODES).join(format!("node{node}")).join("cpulist")).ok()?;
        Some(format!("{node}: cores {cores}"))
    };
    let nodes: Vec<String> = evforge_host::cores::from_list(&online).into_iter().filter_map(of).collect();
    Some(nodes.join("; "))
}

/// The weaknesses of the processor that the kernel works around, which costs time at every call of the system.
pub(super) fn add_mitigations(gathered: &mut Gathered, host: &dyn Host) {
    let folder = Path::new(CORES).join("vulnerabilities");
    let names = host.list(&folder).unwrap_or_default();
    let mitigated = |name: &String| {
        let state = host.read(&folder.join(name)).ok()?;
        (state != "Not affected").then_some((name.clone(), state))
    };
    let mut unaffected = Vec::new();
    for name in &names {
        match mitigated(name) {
            Some((name, state)) => {
                gathered.add(&format!("mitigation {name}"), Some(state));
            }
            None => unaffected.push(name.as_str()),
        }
    }
    gathered.add("not affected by", Some(unaffected.join(", ")));
}
