//! The host: cores, interrupts, network, memory, disks, clock.

use super::declared::*;
use super::kernel_file::{file, seconds};
use super::parse;
use crate::metric::Metric;
use crate::reading::{Reading, Value};
use evforge_core::counter::CounterSnapshot;
use evforge_net::host_health::disk_space;
use evforge_net::interfaces::{InterfacesInUse, driver_counters, has_device};
use evforge_net::synchronisation::Synchronisation;
use std::collections::BTreeSet;
use std::path::Path;

/// Most cores, interfaces and disks of each.
const MOST: usize = 1024;
/// Most counters of one driver.
const MOST_OF_A_DRIVER: usize = 512;

pub(super) fn read(readings: &mut Vec<Reading>) {
    cores(readings);
    softnet(readings);
    udp(readings);
    interfaces(readings);
    memory(readings);
    disks(readings);
    clock(readings);
}

fn cores(readings: &mut Vec<Reading>) {
    let times = file("/proc/stat").as_deref().map(parse::core_times).unwrap_or_default();
    for (core, ticks) in times.into_iter().take(MOST) {
        for (mode, ticks) in parse::MODES.iter().zip(ticks) {
            readings.push(Reading::of(&CORE_TIME, &[&core.to_string(), mode], seconds(ticks)));
        }
    }
    let mut per_core = |metric: &Metric, path: &str, wanted: fn(&str) -> bool| {
        let counts = file(path).map(|text| parse::per_core(&text, wanted)).unwrap_or_default();
        for (core, count) in counts.into_iter().take(MOST) {
            readings.push(Reading::of(metric, &[&core.to_string()], Value::Whole(count)));
        }
    };
    per_core(&INTERRUPTS, "/proc/interrupts", |_| true);
    per_core(&SOFTIRQ_RECEIVE, "/proc/softirqs", |name| name == "NET_RX");
    let load = file("/proc/loadavg").as_deref().and_then(parse::load);
    readings.extend(load.map(|load| Reading::of(&LOAD, &[], Value::Real(load))));
}

// Of the thread, not of the process: a thread may have been moved to another network namespace.
fn softnet(readings: &mut Vec<Reading>) {
    let cores = file("/proc/thread-self/net/softnet_stat").as_deref().map(parse::softnet).unwrap_or_default();
    for (core, counts) in cores.into_iter().take(MOST) {
        for (metric, count) in
            [&SOFTNET_PROCESSED, &SOFTNET_DROPPED, &SOFTNET_SQUEEZED].into_iter().zip(counts)
        {
            readings.push(Reading::of(metric, &[&core.to_string()], Value::Whole(count)));
        }
    }
}

/// What the label says, and what the kernel calls it.
const UDP_COUNTERS: [(&str, &str); 8] = [
    ("received", "InDatagrams"),
    ("no_port", "NoPorts"),
    ("in_errors", "InErrors"),
    ("sent", "OutDatagrams"),
    ("receive_buffer_errors", "RcvbufErrors"),
    ("send_buffer_errors", "SndbufErrors"),
    ("checksum_errors", "InCsumErrors"),
    ("memory_errors", "MemErrors"),
];

fn udp(readings: &mut Vec<Reading>) {
    let ipv4 = file("/proc/thread-self/net/snmp").unwrap_or_default();
    let ipv6 = file("/proc/thread-self/net/snmp6").unwrap_or_default();
    for (what, name) in UDP_COUNTERS {
        let (four, six) =
            (parse::in_table(&ipv4, "Udp", name), parse::in_list(&ipv6, &format!("Udp6{name}")));
        if four.is_some() || six.is_some() {
            let sum = four.unwrap_or(0).saturating_add(six.unwrap_or(0));
            readings.push(Reading::of(&UDP, &[what], Value::Whole(sum)));
        }
    }
    let pages = file("/proc/thread-self/net/sockstat").as_deref().and_then(parse::udp_pages);
    if let Some(pages) = pages {
        let bytes = pages.saturating_mul(rustix::param::page_size() as u64);
        readings.push(Reading::of(&UDP_MEMORY, &[], Value::Whole(bytes)));
    }
}

fn interfaces(readings: &mut Vec<Reading>) {
    let found = file("/proc/thread-self/net/dev").as_deref().map(parse::interfaces).unwrap_or_default();
    for interface in found.iter().take(MOST) {
        let name = interface.name.as_str();
        for (direction, counts) in [("received", interface.received), ("sent", interface.sent)] {
            let metrics = [&INTERFACE_BYTES, &INTERFACE_PACKETS, &INTERFACE_ERRORS, &INTERFACE_DROPPED];
            for (metric, count) in metrics.into_iter().zip(counts) {
                readings.push(Reading::of(metric, &[name, direction], Value::Whole(count)));
            }
        }
        // Virtual interfaces have drivers too, whose counters nobody asks for.
        if has_device(name) {
            for (counter, count) in
                driver_counters(name).unwrap_or_default().into_iter().take(MOST_OF_A_DRIVER)
            {
                readings.push(Reading::of(&DRIVER, &[name, &counter], Value::Whole(count)));
            }
        }
    }
    let Ok(all) = InterfacesInUse::OfAddress([0, 0, 0, 0].into()).read() else { return };
    for (name, counters) in all.each().take(MOST) {
        for (info, count) in CounterSnapshot::of(counters).iter().filter(|(info, _)| info.name != "received")
        {
            readings.push(Reading::of(&INTERFACE_LOSSES, &[name, info.name], Value::Whole(count)));
        }
    }
}

/// What the label says, and what the kernel calls it.
const MEMORY_KINDS: [(&str, &str); 8] = [
    ("total", "MemTotal"),
    ("available", "MemAvailable"),
    ("free", "MemFree"),
    ("buffers", "Buffers"),
    ("cached", "Cached"),
    ("dirty", "Dirty"),
    ("swap_total", "SwapTotal"),
    ("swap_free", "SwapFree"),
];

fn memory(readings: &mut Vec<Reading>) {
    let text = file("/proc/meminfo").unwrap_or_default();
    for (what, name) in MEMORY_KINDS {
        let bytes = parse::memory(&text, name);
        readings.extend(bytes.map(|bytes| Reading::of(&MEMORY, &[what], Value::Whole(bytes))));
    }
}

/// File systems on disks. Those of other hosts are left out: one that does not answer
/// would hold up everything.
fn disks(readings: &mut Vec<Reading>) {
    let mounted = file("/proc/self/mountinfo").as_deref().map(parse::disks).unwrap_or_default();
    let folders: BTreeSet<String> = mounted.into_iter().take(64).collect();
    for folder in folders {
        let Some(disk) = disk_space(Path::new(&folder)) else { continue };
        readings.push(Reading::of(&DISK_SIZE, &[&folder], Value::Whole(disk.size)));
        readings.push(Reading::of(&DISK_FREE, &[&folder], Value::Whole(disk.free)));
    }
}

fn clock(readings: &mut Vec<Reading>) {
    let Ok(clock) = Synchronisation::read() else { return };
    let synchronised = Value::Whole(u64::from(clock.is_synchronised));
    readings.push(Reading::of(&CLOCK_SYNCHRONISED, &[], synchronised));
    let micros =
        |time: std::time::Duration| Value::Millionths(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    readings.push(Reading::of(&CLOCK_ERROR, &[], micros(clock.maximum_error)));
    readings.push(Reading::of(&CLOCK_ESTIMATE, &[], micros(clock.estimated_error)));
    readings.push(Reading::of(&CLOCK_OFFSET, &[], Value::Real(clock.offset_ns as f64 / 1e9)));
}
