//! How much of a capture the shipped configurations place that may fit it: each forms events of it, as `run` would, and nothing is
//! written.

use crate::input::open_until;
use evforge_config::Config;
use evforge_config::shipped::configuration;
use evforge_core::counter::{Law, Role};
use evforge_core::run_state::{LedgerTotals, discards};
use evforge_inspect::stream::Tried;
use evforge_inspect::survey::Findings;
use evforge_net::clock::SystemClock;
use evforge_outputs::packet_tap::PacketTap;
use evforge_pipeline::capture_run::CaptureRun;
use evforge_pipeline::monitor_tap::MonitorTap;
use evforge_pipeline::run_control::RunControl;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Configurations that are tried, those of the streams with most packets first.
const MOST: usize = 8;
/// Reasons that are named.
const REASONS: usize = 2;

/// Tries the configurations of the streams on the capture that they are from, of which packets to `port` are looked at, if one is given.
pub(crate) fn try_shipped(findings: &mut Findings, path: &Path, port: Option<u16>, stop: &Arc<AtomicBool>) {
    let mut known: BTreeMap<String, Option<Tried>> = BTreeMap::new();
    for stream in &mut findings.streams {
        for shipped in stream.shipped() {
            let name = shipped.in_words();
            if known.len() == MOST && !known.contains_key(&name) {
                continue;
            }
            let tried = known.entry(name).or_insert_with(|| {
                let overrides: Vec<String> = shipped.key.into_iter().map(str::to_owned).collect();
                let name = shipped.path.strip_prefix("configs/")?.strip_suffix(".toml")?;
                tried(shipped.in_words(), &configuration(name, &overrides).ok()?, path, port, stop)
            });
            stream.tried.extend(tried.clone());
        }
    }
}

/// What a configuration places; none if it cannot read the capture, or finds no readouts in it.
fn tried(
    configuration: String,
    config: &Config,
    path: &Path,
    port: Option<u16>,
    stop: &Arc<AtomicBool>,
) -> Option<Tried> {
    let run = CaptureRun {
        config,
        input: open_until(path, port, config, stop).ok()?,
        outputs: Vec::new(),
        clock: Arc::new(SystemClock::start()),
        health: Default::default(),
        on_waiting: Arc::new(|_| {}),
        samples: None,
        stop,
        monitor: MonitorTap::default(),
        packets: PacketTap::default(),
        control: RunControl::default(),
    };
    let ledger = run.run(|_| {}).ok()?.state.ledger;
    if stop.load(Ordering::Relaxed) {
        // Part of a capture says nothing of all of it.
        return None;
    }
    let totals = LedgerTotals::of(&ledger);
    let integrated = ledger.counters.sum(|role| role == Role::Leaves(Law::Readouts)).unwrap_or(0);
    let mut reasons: Vec<_> =
        discards(&ledger.counters).into_iter().filter(|found| found.of == Law::Readouts.name()).collect();
    reasons.sort_by_key(|found| std::cmp::Reverse(found.count));
    let reasons = reasons.into_iter().filter(|found| found.count > 0).take(REASONS);
    Some(Tried {
        configuration,
        readouts: totals.readouts.filter(|&readouts| readouts > 0)?,
        placed: totals.hits.unwrap_or(0) + integrated,
        events: totals.events,
        reasons: reasons.map(|found| (found.reason, found.count)).collect(),
    })
}
