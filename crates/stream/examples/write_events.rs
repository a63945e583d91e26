//! Writes events into a NeXus file and says how fast, and what it took of the processor:
//!
//! `write_events FILE [events=20] [compression=deflate|lzf|none] [threads=1] [chunk=8192] [sync=commit|none] [from=EVENTS.nxs]`
//!
//! `events` are millions. They are those of another file of evforge, again and again with later pulses, or random ones, which
//! cannot be compressed much. All are in memory before the time begins.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::output::{Output, Taken};
use evforge_core::pulse::PulseTrain;
use evforge_core::pulsed::{CalendarRule, PulseStage, PulseStageSettings, PulsedBatch};
use evforge_core::run_state::RunState;
use evforge_core::time::Clock;
use evforge_stream::nexus::{Compression, DiskSync, ExistingFile, NexusOptions, NexusOutput};
use hdf5_metno::File;

/// Mean rate of random events on the detector's clock.
const EVENTS_PER_SECOND: u64 = 10_000_000;
const BATCH: usize = 16 << 10;

/// The clock of the computer.
#[derive(Debug)]
struct WallClock(Instant);

impl Clock for WallClock {
    fn unix_ns(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// Events in the order of time: time and pixel.
fn recorded(path: &str) -> Result<Vec<(u64, u32)>, Box<dyn Error>> {
    let file = File::open(path)?;
    let detectors = file.group("/entry/instrument")?.groups()?;
    let groups = detectors.iter().filter_map(|detector| detector.groups().ok()).flatten();
    let events = groups.into_iter().find(|group| group.link_exists("event_id"));
    let events = events.ok_or("the file has no detector with events")?;
    let ids = events.dataset("event_id")?.read_raw::<i32>()?;
    let offsets = events.dataset("event_time_offset")?.read_raw::<i32>()?;
    let zeros = events.dataset("event_time_zero")?.read_raw::<u64>()?;
    let index = events.dataset("event_index")?.read_raw::<i64>()?;
    let mut all = Vec::with_capacity(ids.len());
    for (pulse, &zero) in zeros.iter().enumerate() {
        let end = index.get(pulse + 1).map_or(ids.len(), |&end| end as usize);
        all.extend((index[pulse] as usize..end).map(|at| (zero + offsets[at] as u64, ids[at] as u32)));
    }
    Ok(all)
}

/// Random pixels at regular times.
fn random(count: usize) -> Vec<(u64, u32)> {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let event = |number: u64| {
        // The generator of Marsaglia (xorshift): good enough to be incompressible.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (number * 1_000_000_000 / EVENTS_PER_SECOND, (random % (1280 * 1280)) as u32 + 1)
    };
    (0..count as u64).map(event).collect()
}

/// So many events as batches of a run, the same ones again and again.
fn batches(events: &[(u64, u32)], count: usize) -> Vec<Arc<PulsedBatch>> {
    let mut stage = PulseStage::new(PulseStageSettings::new(PulseTrain::ess(), CalendarRule::Readout));
    let (first, last) = (events[0].0, events[events.len() - 1].0);
    // The next round begins with a pulse.
    let period = (last - first + 1).next_multiple_of(1_000_000_000);
    let mut all = Vec::new();
    let mut batch = EventBatch::new(BATCH);
    let mut number = 0;
    while number < count {
        batch.clear();
        while number < count && !batch.is_full() {
            let (time_ns, pixel_id) = events[number % events.len()];
            let round = (number / events.len()) as u64;
            let _ = batch.push(Event { time_ns: time_ns + round * period, pixel_id });
            number += 1;
        }
        stage.hand_on(&batch, None, &mut |batch| all.push(Arc::new(batch)));
    }
    all
}

/// Seconds of all cores together that this process has taken, in hundredths.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name of the program: the times in user and kernel mode are the 14th and the 15th of all fields (proc(5)).
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn main() -> Result<(), Box<dyn Error>> {
    let usage = "usage: write_events FILE [events=20] [compression=deflate|lzf|none] [threads=1] [chunk=8192] \
                 [sync=commit|none] [from=EVENTS.nxs]";
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or(usage)?;
    let pairs: Option<HashMap<String, String>> = arguments
        .map(|text| text.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())))
        .collect();
    let given = pairs.ok_or(usage)?;
    let value = |key: &str| given.get(key).map(String::as_str);
    let mut options = NexusOptions::new(&path, "demo", LogicalGeometry::flat(1280, 1280)?);
    options.existing = ExistingFile::Overwrite;
    options.compression = match value("compression") {
        None | Some("deflate") => Compression::default(),
        Some("lzf") => Compression::Lzf,
        Some("none") => Compression::None,
        Some(_) => return Err(usage.into()),
    };
    options.compression_threads = value("threads").map_or(Ok(options.compression_threads), str::parse)?;
    options.chunk_events = value("chunk").map_or(Ok(options.chunk_events), str::parse)?;
    options.sync = if value("sync") == Some("none") { DiskSync::None } else { DiskSync::Commit };
    let count = value("events").map_or(Ok(20), str::parse::<usize>)? * 1_000_000;
    let events = match value("from") {
        Some(path) => recorded(path)?,
        None => random(1 << 20),
    };
    let batches = batches(&events, count);

    let mut output = NexusOutput::new(options, Arc::new(WallClock(Instant::now())))?;
    let (begin, before) = (Instant::now(), processor());
    for batch in &batches {
        while output.take(batch)? != Taken::Yes {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
    while let Err(error) = output.finish(&Arc::new(RunState::default())) {
        eprintln!("{error}");
    }
    let (time, used) = (begin.elapsed().as_secs_f64(), processor() - before);
    let size = std::fs::metadata(&path)?.len();
    let millions = count as f64 * 1e-6;
    println!(
        "{path}: {millions} million events in {time:.2} s: {:.1} million events/s, {:.0} ns of the processor for an event, {:.2} \
         bytes for an event",
        millions / time,
        used * 1e3 / millions,
        size as f64 / count as f64
    );
    Ok(())
}
