//! This process.

use super::declared::{DESCRIPTORS, MOST_DESCRIPTORS, RESIDENT, THREAD_TIME, THREADS, UPTIME};
use super::kernel_file::{file, seconds};
use super::parse;
use crate::reading::{Reading, Value};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Instant;

/// Most names of threads.
const MOST_NAMES: usize = 256;

/// When this was asked for the first time, if the kernel does not tell when the process began.
static FIRST: OnceLock<Instant> = OnceLock::new();

pub(super) fn read(readings: &mut Vec<Reading>) {
    readings.push(Reading::of(&UPTIME, &[], uptime()));
    let pages = file("/proc/self/statm").as_deref().and_then(parse::resident_pages);
    if let Some(pages) = pages {
        let bytes = pages.saturating_mul(rustix::param::page_size() as u64);
        readings.push(Reading::of(&RESIDENT, &[], Value::Whole(bytes)));
    }
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        // One of them is the folder itself.
        readings.push(Reading::of(&DESCRIPTORS, &[], Value::Whole((open.count() as u64).saturating_sub(1))));
    }
    let most = file("/proc/self/limits").as_deref().and_then(parse::most_descriptors);
    readings.extend(most.map(|most| Reading::of(&MOST_DESCRIPTORS, &[], Value::Whole(most))));
    threads(readings);
}

/// Time since the process began: the kernel has it in ticks since its own start.
fn uptime() -> Value {
    let first = *FIRST.get_or_init(Instant::now);
    let told = || {
        let stat = file("/proc/self/stat")?;
        let started: u64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
        let now: f64 = file("/proc/uptime")?.split_whitespace().next()?.parse().ok()?;
        let Value::Millionths(started) = seconds(started) else { return None };
        let now = std::time::Duration::try_from_secs_f64(now).ok()?;
        Some(u64::try_from(now.as_micros()).ok()?.saturating_sub(started))
    };
    Value::Millionths(told().unwrap_or_else(|| first.elapsed().as_micros() as u64))
}

fn threads(readings: &mut Vec<Reading>) {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return };
    let mut names: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for task in tasks.flatten() {
        let path = task.path();
        let in_task = |name: &str| file(&path.join(name).to_string_lossy());
        // A thread may end between the listing and the reading.
        let (Some(name), Some(stat)) = (in_task("comm"), in_task("stat")) else { continue };
        let Some(ticks) = parse::thread_ticks(&stat) else { continue };
        if names.len() < MOST_NAMES || names.contains_key(name.trim()) {
            let (time, number) = names.entry(name.trim().to_owned()).or_default();
            *time += ticks;
            *number += 1;
        }
    }
    for (name, (ticks, number)) in names {
        readings.push(Reading::of(&THREAD_TIME, &[&name], seconds(ticks)));
        readings.push(Reading::of(&THREADS, &[&name], Value::Whole(number)));
    }
}
