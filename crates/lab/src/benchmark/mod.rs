//! How fast events are formed from memory, and how that compares with the reference.
//!
//! The rules, the same for every detector:
//! * all packets are in memory before the clock starts; a fresh detector for every pass, its construction not
//!   timed;
//! * all readouts of the file are the denominator, also those that are discarded;
//! * events go into batches of the size that a run uses; every batch is compared with what is expected, with
//!   the clock stopped;
//! * after every pass the ledger must balance;
//! * the [`yardstick`](yardstick()) is taken before and after, because machines differ and are shared: ratios to
//!   the [reference](reference_speed) go through it.

mod made_packets;
mod reference;

pub use made_packets::{MadePackets, made_packets};
pub use reference::{ReferenceSpeed, reference_speed};

use evforge_config::Config;
use evforge_core::detector::{form, form_rest};
use evforge_core::event::{Event, EventBatch};
use evforge_core::packet::PacketSlab;
use evforge_core::packet_source::{Fill, PacketSource, SourceError};
use evforge_net::thread_time::processor_time;
use std::fmt::Write as _;
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Passes that are measured at least.
const FEWEST_PASSES: usize = 5;

/// What one measurement found. Rates are sums over the cores.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Packets of a pass.
    pub packets: u64,
    /// Bytes of payload of a pass.
    pub bytes: u64,
    /// Readouts of a pass.
    pub readouts: u64,
    /// Events of a pass.
    pub events: u64,
    /// Passes measured on the first core.
    pub passes: usize,
    /// Cores that formed events side by side, each of all packets.
    pub cores: usize,
    /// Threads that form events together on each of them.
    pub threads: usize,
    /// Passes per second: the sum over the cores of one by the median time of a pass.
    pub passes_per_second: f64,
    /// Processor time of a pass in seconds, the median: it does not tell how long other programs held it up. None if several
    /// threads form.
    pub processor_seconds: Option<f64>,
    /// Keys that the yardstick sorted per second, mean of before and after.
    pub keys_per_second: f64,
}

impl Measurement {
    /// Packets per second.
    pub fn packets_per_second(&self) -> f64 {
        self.packets as f64 * self.passes_per_second
    }

    /// Readouts per second.
    pub fn readouts_per_second(&self) -> f64 {
        self.readouts as f64 * self.passes_per_second
    }

    /// Events per second.
    pub fn events_per_second(&self) -> f64 {
        self.events as f64 * self.passes_per_second
    }

    /// Bytes of payload per second.
    pub fn bytes_per_second(&self) -> f64 {
        self.bytes as f64 * self.passes_per_second
    }

    /// Nanoseconds that a readout takes on one core.
    pub fn nanoseconds_per_readout(&self) -> f64 {
        1e9 * self.cores as f64 / self.readouts_per_second()
    }

    /// Nanoseconds of the processor that a readout takes; none if several threads form.
    pub fn processor_nanoseconds_per_readout(&self) -> Option<f64> {
        self.processor_seconds.map(|seconds| 1e9 * seconds / self.readouts.max(1) as f64)
    }

    /// Readouts formed in the time in which the yardstick sorts a key.
    pub fn readouts_per_key(&self) -> f64 {
        self.readouts_per_second() / self.keys_per_second
    }

    /// What was found with a configuration on the capture of this name, for people.
    pub fn describe(&self, config: &Config, stem: &str) -> String {
        let mut text = format!(
            "{} on {stem}: {} packets, {} readouts, {} events, {} passes on {} {}\n",
            config.name,
            self.packets,
            self.readouts,
            self.events,
            self.passes,
            self.cores,
            match (self.cores, self.threads) {
                (1, 1) => "core".to_owned(),
                (_, 1) => "cores".to_owned(),
                (_, threads) => format!("x {threads} threads that form together"),
            },
        );
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  {:.3} M packets/s  {:.1} M readouts/s  {:.3} M events/s  {:.2} GB/s  {:.2} ns per readout and core{}",
            self.packets_per_second() / 1e6,
            self.readouts_per_second() / 1e6,
            self.events_per_second() / 1e6,
            self.bytes_per_second() / 1e9,
            self.nanoseconds_per_readout(),
            self.processor_nanoseconds_per_readout()
                .map_or_else(String::new, |ns| format!(", {ns:.2} ns of the processor")),
        );
        let _ = write!(
            text,
            "  yardstick {:.1} M keys/s, {:.2} readouts per key",
            self.keys_per_second / 1e6,
            self.readouts_per_key(),
        );
        let reference = reference_speed(config.section, config.detector.strategy(), stem, self.readouts);
        let _ = match reference {
            Some(reference) => writeln!(
                text,
                ", {:.1} x the reference of August 2018 on one core",
                self.readouts_per_key() / reference.readouts_per_key()
            ),
            None => writeln!(text, " (the reference was not measured on this)"),
        };
        text
    }
}

/// All packets of an input, in memory.
///
/// # Errors
/// If it cannot be read.
pub fn read_all(mut input: Box<dyn PacketSource>) -> Result<Vec<PacketSlab>, SourceError> {
    let mut slabs = Vec::new();
    loop {
        let mut slab = PacketSlab::new(4096, 32 << 20);
        let fill = input.fill(&mut slab)?;
        slabs.push(slab);
        if fill == Fill::End {
            return Ok(slabs);
        }
    }
}

/// Forms the events of `slabs` over and over for `seconds`, on each of `cores` at the same time (on one thread,
/// not pinned, if there are none). `expected` are the events of a pass; without them every pass is compared
/// with the first.
///
/// # Errors
/// If the configured detector cannot be built, a core cannot be had, events differ from what is expected, or
/// the ledger of a pass does not balance.
pub fn measure(
    config: &Config,
    slabs: &[PacketSlab],
    expected: Option<&[Event]>,
    cores: &[usize],
    seconds: f64,
) -> Result<Measurement, String> {
    // As in a live run: first touches are in no round.
    evforge_detect::memory::touch_in_advance();
    let first = match expected {
        Some(_) => None,
        None => Some(pass(config, slabs, None)?.events),
    };
    let expected = expected.or(first.as_deref()).unwrap_or_default();
    let before = yardstick();
    let threads = cores.len().max(1);
    let forming = config.forming_count();
    // Helpers begin on the cores of the thread that starts them.
    let cores = if forming > 1 { &[] } else { cores };
    let barrier = Barrier::new(threads);
    let on_core = |core: Option<&usize>| -> Result<(Vec<f64>, Vec<f64>, u64), String> {
        let pinned = core.map(|&core| evforge_net::affinity::pin_current_thread(core));
        barrier.wait();
        pinned.transpose().map_err(|error| error.to_string())?;
        let (mut times, mut processor) = (Vec::new(), Vec::new());
        let mut readouts = 0;
        let end = Instant::now() + Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())?;
        while times.len() < FEWEST_PASSES || Instant::now() < end {
            let pass = pass(config, slabs, Some(expected))?;
            times.push(pass.elapsed.as_secs_f64());
            processor.push(pass.processor.as_secs_f64());
            readouts = pass.readouts;
        }
        times.sort_by(f64::total_cmp);
        processor.sort_by(f64::total_cmp);
        Ok((times, processor, readouts))
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> =
            (0..threads).map(|index| scope.spawn(move || on_core(cores.get(index)))).collect();
        running.into_iter().map(|thread| thread.join()).collect()
    });
    let mut passes_per_second = 0.0;
    let (mut passes, mut readouts, mut processor_seconds) = (0, 0, None);
    for result in results {
        let (times, processor, count) =
            result.map_err(|_| "a measuring thread has panicked".to_owned())??;
        passes_per_second += 1.0 / times[times.len() / 2].max(1e-9);
        (passes, readouts) = (times.len(), count);
        processor_seconds = processor_seconds.or(processor.get(processor.len() / 2).copied());
    }
    let packets = || slabs.iter().flat_map(|slab| slab.batch().iter());
    Ok(Measurement {
        packets: packets().count() as u64,
        bytes: packets().map(|packet| packet.bytes.len() as u64).sum(),
        readouts,
        events: expected.len() as u64,
        passes,
        cores: threads,
        threads: forming,
        passes_per_second,
        processor_seconds: processor_seconds.filter(|_| forming == 1),
        keys_per_second: (before + yardstick()) / 2.0,
    })
}

struct Pass {
    elapsed: Duration,
    /// Of this thread.
    processor: Duration,
    readouts: u64,
    events: Vec<Event>,
}

/// One pass over the packets with a fresh detector. Keeps the events if there is nothing to compare them with.
fn pass(config: &Config, slabs: &[PacketSlab], expected: Option<&[Event]>) -> Result<Pass, String> {
    let mut detector = config.build_detector().map_err(|error| error.to_string())?;
    let mut batch = EventBatch::new(config.input.events_per_batch);
    let mut events = Vec::new();
    let mut seen = 0;
    let mut differs = None;
    // Looking at the events is not part of forming them.
    let (mut looking, mut looking_processor) = (Duration::ZERO, Duration::ZERO);
    // Asking for the processor time takes longer than a short pass may: it is outside what is timed.
    let started_processor = processor_time();
    let started = Instant::now();
    let mut look = |batch: &mut EventBatch| {
        let began = Instant::now();
        let began_processor = processor_time();
        match expected {
            None => events.extend(batch.iter()),
            Some(expected) => {
                let due = expected.get(seen..).unwrap_or_default();
                let same =
                    due.len() >= batch.len() && batch.iter().zip(due).all(|(event, due)| event == *due);
                if !same && differs.is_none() {
                    let at = batch.iter().zip(due).position(|(event, due)| event != *due);
                    differs = Some(seen + at.unwrap_or(due.len().min(batch.len())));
                }
            }
        }
        seen += batch.len();
        batch.clear();
        looking_processor += processor_time().saturating_sub(began_processor);
        looking += began.elapsed();
    };
    for slab in slabs {
        form(detector.as_mut(), &slab.batch(), &mut batch, &mut look);
    }
    form_rest(detector.as_mut(), &mut batch, &mut look);
    let elapsed = started.elapsed().saturating_sub(looking);
    let processor = processor_time().saturating_sub(started_processor).saturating_sub(looking_processor);
    let missing = expected.filter(|expected| expected.len() > seen).map(|_| seen);
    if let Some(at) = differs.or(missing) {
        return Err(format!("event {at} of a pass is not the expected one"));
    }
    if let Some(failure) = detector.failure() {
        return Err(failure.to_owned());
    }
    let ledger = detector.ledger();
    if ledger.unaccounted() != 0 {
        return Err(format!("{} packets, readouts or hits are unaccounted for", ledger.unaccounted()));
    }
    Ok(Pass { elapsed, processor, readouts: ledger.readouts().unwrap_or(0), events })
}

/// Keys that the yardstick sorts.
const KEYS: usize = 1 << 20;

/// Keys sorted per second by one thread: `sort_unstable` of 2^20 keys from xorshift64 with seed 1, median of 9.
/// Takes about a tenth of a second.
pub fn yardstick() -> f64 {
    let mut x = 1_u64;
    let keys: Vec<u64> = (0..KEYS)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x
        })
        .collect();
    let mut times: Vec<f64> = (0..9)
        .map(|_| {
            let mut keys = keys.clone();
            let start = Instant::now();
            keys.sort_unstable();
            let elapsed = start.elapsed().as_secs_f64();
            std::hint::black_box(&keys);
            elapsed
        })
        .collect();
    times.sort_by(f64::total_cmp);
    KEYS as f64 / times[4]
}
