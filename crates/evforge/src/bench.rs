//! `evforge bench`: how fast events are formed from memory.

use crate::CommandError;
use crate::output::print;
use clap::Args;
use evforge_core::detector::{form, form_rest};
use evforge_core::event::{Event, EventBatch};
use evforge_core::packet::PacketSlab;
use evforge_net::capture::{CaptureReader, Fill};
use evforge_pipeline::config::Config;
use evforge_pipeline::report::scaled;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Arguments of `evforge bench`.
#[derive(Args)]
pub(crate) struct BenchArguments {
    /// Configuration of the instrument
    #[arg(long, short = 'f', env = "EVFORGE_CONFIG", value_name = "FILE")]
    config: PathBuf,
    /// The capture to form events of; it is read into memory first
    #[arg(long, env = "EVFORGE_INPUT", value_name = "FILE")]
    input: PathBuf,
    /// How long to measure, in seconds
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Override a key of the configuration; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// One pass over the packets with a fresh detector: time, readouts, events.
fn pass(config: &Config, slabs: &[PacketSlab]) -> Result<(Duration, u64, Vec<Event>), CommandError> {
    let mut detector = config.build_detector()?;
    let mut batch = EventBatch::new(1 << 16);
    let mut events = Vec::new();
    // Copying the events out of the batch is not part of forming them.
    let mut copying = Duration::ZERO;
    let started = Instant::now();
    let mut keep = |batch: &mut EventBatch| {
        let began = Instant::now();
        events.extend(batch.iter());
        batch.clear();
        copying += began.elapsed();
    };
    for slab in slabs {
        form(detector.as_mut(), &slab.batch(), &mut batch, &mut keep);
    }
    form_rest(detector.as_mut(), &mut batch, &mut keep);
    let elapsed = started.elapsed().saturating_sub(copying);
    let ledger = detector.ledger();
    if ledger.unaccounted() != 0 {
        return Err(format!("{} readouts or hits are unaccounted for", ledger.unaccounted()).into());
    }
    Ok((elapsed, ledger.counters.value("readouts").unwrap_or(0), events))
}

/// Runs the command.
pub(crate) fn bench(arguments: &BenchArguments) -> Result<bool, CommandError> {
    let config = Config::read(&arguments.config, &arguments.overrides)?;
    let mut reader = CaptureReader::open(&arguments.input)?;
    let mut slabs = Vec::new();
    loop {
        let mut slab = PacketSlab::new(4096, 32 << 20);
        let fill = reader.fill(&mut slab)?;
        slabs.push(slab);
        if fill == Fill::End {
            break;
        }
    }
    let (first, readouts, expected) = pass(&config, &slabs)?;
    let mut times = vec![first];
    let end = Instant::now() + Duration::try_from_secs_f64(arguments.seconds)?;
    while Instant::now() < end {
        let (elapsed, _, events) = pass(&config, &slabs)?;
        if events != expected {
            return Err("two passes over the same packets gave different events".into());
        }
        times.push(elapsed);
    }
    times.sort_unstable();
    let median = times[times.len() / 2].as_secs_f64().max(1e-9);
    print(&format!(
        "{}: {} readouts, {} events, {} passes on one core, median {:.3} ms\n\
         {}readouts/s, {}events/s\n",
        config.name,
        readouts,
        expected.len(),
        times.len(),
        median * 1e3,
        scaled(readouts as f64 / median),
        scaled(expected.len() as f64 / median),
    ))?;
    Ok(true)
}
