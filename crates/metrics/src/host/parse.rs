//! Texts of the kernel, read. What is not as expected is left out: another kernel may have more or fewer columns, and a
//! metric that is absent says so, while a wrong one does not.

/// Counters of an interface in `/proc/net/dev`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Bytes, packets, errors and drops on the way in.
    pub received: [u64; 4],
    /// The same on the way out.
    pub sent: [u64; 4],
}

/// `/proc/net/dev`: a line for each interface, `name: 8 numbers 8 numbers`.
pub fn interfaces(text: &str) -> Vec<Interface> {
    let line = |line: &str| {
        let (name, numbers) = line.rsplit_once(':')?;
        let numbers: Vec<u64> = numbers.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let four = |from: usize| numbers.get(from..from + 4)?.try_into().ok();
        Some(Interface { name: name.trim().to_owned(), received: four(0)?, sent: four(8)? })
    };
    text.lines().filter_map(line).filter(|found| !found.name.is_empty()).collect()
}

/// `/proc/net/softnet_stat`: for each core its number, and the first three columns (taken, dropped, squeezed). The core is
/// in column 13 since Linux 5.10, and the number of the line before.
pub fn softnet(text: &str) -> Vec<(u64, [u64; 3])> {
    let line = |(place, line): (usize, &str)| {
        let words: Vec<u64> =
            line.split_whitespace().map_while(|word| u64::from_str_radix(word, 16).ok()).collect();
        let first = words.get(..3)?.try_into().ok()?;
        Some((words.get(12).copied().unwrap_or(place as u64), first))
    };
    text.lines().enumerate().filter_map(line).collect()
}

/// `/proc/interrupts` and `/proc/softirqs`: what each core has served, summed over the lines whose name `wanted` says yes to.
/// The first line names the cores, `CPU0 CPU1`.
pub fn per_core(text: &str, wanted: impl Fn(&str) -> bool) -> Vec<(u64, u64)> {
    let mut lines = text.lines();
    let cores = lines.next().unwrap_or_default().split_whitespace();
    let mut sums: Vec<(u64, u64)> =
        cores.map_while(|core| core.strip_prefix("CPU")?.parse().ok()).map(|core| (core, 0)).collect();
    for line in lines {
        let Some((name, counts)) = line.split_once(':') else { continue };
        let counts: Vec<u64> =
            counts.split_whitespace().take(sums.len()).map_while(|word| word.parse().ok()).collect();
        // A line with fewer numbers is a sum of the host, of no core.
        if wanted(name.trim()) && counts.len() == sums.len() {
            for ((_, sum), count) in sums.iter_mut().zip(counts) {
                *sum = sum.saturating_add(count);
            }
        }
    }
    sums
}

/// Modes of a core in `/proc/stat`.
pub const MODES: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];

/// `/proc/stat`: for each core the ticks that it spent in each of [`MODES`].
pub fn core_times(text: &str) -> Vec<(u64, [u64; 8])> {
    let line = |line: &str| {
        let (core, ticks) = line.strip_prefix("cpu")?.split_once(' ')?;
        let ticks: Vec<u64> = ticks.split_whitespace().map_while(|word| word.parse().ok()).collect();
        Some((core.parse().ok()?, ticks.get(..8)?.try_into().ok()?))
    };
    text.lines().filter_map(line).collect()
}

/// The number called `name` in `/proc/meminfo`, in bytes.
pub fn memory(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    value.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The number called `name` in a table with a line of names and a line of numbers for each protocol (`/proc/net/snmp`).
pub fn in_table(text: &str, protocol: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(protocol)?.strip_prefix(':'));
    let place = lines.next()?.split_whitespace().position(|found| found == name)?;
    lines.next()?.split_whitespace().nth(place)?.parse().ok()
}

/// The number called `name` in a list with a name and a number in each line (`/proc/net/snmp6`).
pub fn in_list(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some(name)).then(|| words.next())??.parse().ok()
    })
}

/// Pages of memory that UDP sockets take, of `/proc/net/sockstat`: `UDP: inuse 3 mem 1`.
pub fn udp_pages(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("UDP:"))?;
    let mut words = line.split_whitespace();
    words.find(|word| *word == "mem")?;
    words.next()?.parse().ok()
}

/// Processor time of a thread in ticks, of `/proc/self/task/*/stat`: what it spent outside the kernel and inside. Its name
/// is in brackets and may have any characters in it, brackets and blanks too.
pub fn thread_ticks(text: &str) -> Option<u64> {
    let (_, behind) = text.rsplit_once(')')?;
    // The state is the third field, and the first one behind the name; user and system time are 14 and 15.
    let mut fields = behind.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    user.checked_add(fields.next()?.parse().ok()?)
}

/// Pages that a process has in memory: the second number of `/proc/self/statm`.
pub fn resident_pages(text: &str) -> Option<u64> {
    text.split_whitespace().nth(1)?.parse().ok()
}

/// The soft limit of open files in `/proc/self/limits`.
pub fn most_descriptors(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Folders on which file systems of a disk are mounted, of `/proc/self/mountinfo`, each device once: those whose source is a
/// device. The kernel writes blanks in names as `\040`.
pub fn disks(text: &str) -> Vec<String> {
    let mut seen: Vec<&str> = Vec::new();
    let mut folders = Vec::new();
    for line in text.lines() {
        let Some((before, behind)) = line.split_once(" - ") else { continue };
        let (Some(device), Some(folder)) = (before.split(' ').nth(2), before.split(' ').nth(4)) else {
            continue;
        };
        let source = behind.split(' ').nth(1).unwrap_or_default();
        if source.starts_with("/dev/") && !source.starts_with("/dev/loop") && !seen.contains(&device) {
            seen.push(device);
            folders.push(folder.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\"));
        }
    }
    folders
}

/// The first number of `/proc/loadavg`.
pub fn load(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok().filter(|load: &f64| load.is_finite() && *load >= 0.0)
}
