//! A live view of made-up events: an image without any symmetry, a spectrum with edges, a ledger with losses.
//!
//! ```text
//! cargo run --release -p evforge-view --example live -- --rate 200000 --mask mask.json
//! ```
//!
//! `--mask` writes the probability of each pixel as JSON (`{"nx":…,"ny":…,"values":[…]}`, row by row from
//! y = 0); the browser test compares the page's image with it.

use clap::Parser;
use evforge_core::counter::CounterSnapshot;
use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::{Coordinates, LogicalGeometry};
use evforge_core::ledger::{DetectorLedger, SourceLedger};
use evforge_core::pulse::PulseTrain;
use evforge_core::sequence::SequenceTracker;
use evforge_core::sink::EventSink;
use evforge_view::{LiveView, LocatedLoss, ViewOptions};
use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[derive(Parser)]
#[command(about = "A live view of made-up events")]
struct Arguments {
    /// Where to serve the page; port 0 takes any free port.
    #[arg(long, default_value = "127.0.0.1:8080")]
    address: SocketAddr,
    /// Events per second.
    #[arg(long, default_value_t = 100_000)]
    rate: u64,
    /// Columns per panel.
    #[arg(long, default_value_t = 256)]
    nx: u32,
    /// Rows.
    #[arg(long, default_value_t = 256)]
    ny: u32,
    /// Layers.
    #[arg(long, default_value_t = 1)]
    nz: u32,
    /// Panels.
    #[arg(long, default_value_t = 1)]
    panels: u32,
    /// Stop after so many seconds; without it, run until interrupted.
    #[arg(long)]
    seconds: Option<f64>,
    /// Packets lost, as a share of those sent.
    #[arg(long, default_value_t = 0.0)]
    loss: f64,
    /// Readouts that vanish without a reason, to see the alarm.
    #[arg(long, default_value_t = 0)]
    swallow: u64,
    /// Write the expected image here.
    #[arg(long)]
    mask: Option<PathBuf>,
}

evforge_core::counters! {
    /// Counters of the made-up detector.
    struct MadeUpCounters: "made_up" {
        packets_received: Enters(Packets), Packets, "Packets handed to the pipeline.";
        packets_formed_from: Leaves(Packets), Packets, "Packets whose content was used.";
        packets_too_short: Discarded(Packets), Packets, "Packets too short for their header.";
        readouts: Enters(Readouts), Readouts, "Readouts in the packets used.";
        below_threshold: Discarded(Readouts), Readouts, "Readouts with too small an amplitude.";
        unmapped_channel: Discarded(Readouts), Readouts, "Readouts of channels that no strip is wired to.";
        hits: Joins(Readouts, Hits), Hits, "Readouts placed on the detector.";
        only_x: Discarded(Hits), Hits, "Hits of clusters on x without a partner on y.";
        hits_in_events: Leaves(Hits), Hits, "Hits of the events formed.";
        held: Held(Hits), Hits, "Hits that wait at this moment.";
        events: Information, Events, "Events formed.";
    }
}

/// Numbers that look random (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (((self.roll() >> 32) * limit as u64) >> 32) as usize
    }

    fn share(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Brightness at a place of the unit square, y upwards: an F with strokes of different brightness, a spot at
/// the lower right, a thin background.
fn brightness(x: f64, y: f64) -> f64 {
    let inside = |x0: f64, x1: f64, y0: f64, y1: f64| (x0..x1).contains(&x) && (y0..y1).contains(&y);
    let mut value = 0.02;
    if inside(0.12, 0.22, 0.42, 0.92) {
        value += 1.0;
    }
    if inside(0.22, 0.62, 0.82, 0.92) {
        value += 0.8;
    }
    if inside(0.22, 0.45, 0.62, 0.7) {
        value += 0.6;
    }
    let (dx, dy) = ((x - 0.78) / 0.07, (y - 0.22) / 0.05);
    value + 1.6 * (-dx * dx - dy * dy).exp()
}

/// Draws indices in proportion to weights: each slot of the table holds two indices and the share of the
/// first (the alias method).
struct Lottery(Vec<(f64, u32, u32)>);

impl Lottery {
    fn new(weights: &[f64]) -> Self {
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        let mut shares: Vec<f64> = weights.iter().map(|weight| weight / mean).collect();
        let mut slots: Vec<_> = (0..weights.len() as u32).map(|index| (1.0, index, index)).collect();
        let (mut poor, mut rich): (Vec<usize>, Vec<usize>) =
            (0..shares.len()).partition(|&index| shares[index] < 1.0);
        // What a poor index leaves of its slot is filled by a rich one, which may be poor thereafter.
        while let (Some(low), Some(high)) = (poor.pop(), rich.pop()) {
            slots[low] = (shares[low], low as u32, high as u32);
            shares[high] -= 1.0 - shares[low];
            if shares[high] < 1.0 { poor.push(high) } else { rich.push(high) }
        }
        Self(slots)
    }

    fn draw(&self, dice: &mut Dice) -> u32 {
        let (share, first, second) = self.0[dice.below(self.0.len())];
        if dice.share() < share { first } else { second }
    }
}

fn write_mask(path: &PathBuf, geometry: &LogicalGeometry, weights: &[f64]) -> Result<(), Box<dyn Error>> {
    let (nx, ny) = (geometry.nx() * geometry.panels(), geometry.ny());
    let mut values = vec![0.0; (nx * ny) as usize];
    for (index, weight) in weights.iter().enumerate() {
        if let Some(at) = geometry.coordinates(index as u32 + 1) {
            values[(at.y * nx + at.panel * geometry.nx() + at.x) as usize] += weight;
        }
    }
    std::fs::write(path, serde_json::to_vec(&serde_json::json!({ "nx": nx, "ny": ny, "values": values }))?)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let geometry = LogicalGeometry::new(arguments.nx, arguments.ny, arguments.nz, arguments.panels)?;
    let width = f64::from(geometry.nx() * geometry.panels());
    let weights: Vec<f64> = (1..=geometry.pixel_count())
        .filter_map(|pixel| geometry.coordinates(pixel))
        .map(|Coordinates { x, y, panel, .. }| {
            let column = f64::from(panel * geometry.nx() + x) + 0.5;
            brightness(column / width, (f64::from(y) + 0.5) / f64::from(geometry.ny()))
        })
        .collect();
    if let Some(path) = &arguments.mask {
        write_mask(path, &geometry, &weights)?;
    }
    let pixels = Lottery::new(&weights);
    // Times of flight in steps of 20 µs: a broad hump with two edges.
    let flight: Vec<f64> = (0..3571)
        .map(|step| {
            let t = f64::from(step) * 0.02;
            let hump = (t / 14.0).powi(3) * (-t / 7.0).exp();
            hump * if t > 33.0 { 0.55 } else { 1.0 } * if t > 21.0 { 0.8 } else { 1.0 }
        })
        .collect();
    let flights = Lottery::new(&flight);

    let pulses = PulseTrain::ess();
    let mut options = ViewOptions::new("Made-up detector", geometry, pulses);
    options.address = arguments.address;
    let view = LiveView::start(options)?;
    println!("live view at http://{}", view.address());

    let mut sink = view.sink();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut events = EventBatch::new(20_000);
    let mut trackers = [SequenceTracker::new(32), SequenceTracker::new(32), SequenceTracker::new(32)];
    let mut numbers = [1_000_u64; 3];
    let mut counters = MadeUpCounters::default();
    let started = Instant::now();
    let (mut made, mut observed, mut lost) = (0_u64, started, 0_u64);
    while arguments.seconds.is_none_or(|seconds| started.elapsed().as_secs_f64() < seconds) {
        std::thread::sleep(Duration::from_millis(5));
        let elapsed = started.elapsed().as_secs_f64();
        // The source flickers a little, as sources do.
        let due = (arguments.rate as f64 * (elapsed + 0.6 * (elapsed / 5.0).sin())) as u64;
        let now_ns = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as u64;
        let pulse_start = pulses.locate(now_ns).map_or(now_ns, |at| at.start_ns);
        while made < due {
            let until = (due - made).min(events.capacity() as u64);
            for _ in 0..until {
                let flight_ns = u64::from(flights.draw(&mut dice)) * 20_000 + dice.roll() % 20_000;
                let pixel_id = pixels.draw(&mut dice) + 1;
                if !events.push(Event { time_ns: pulse_start + flight_ns, pixel_id }) {
                    break;
                }
            }
            made += events.len() as u64;
            account(&mut counters, events.len() as u64, &mut dice);
            for _ in 0..events.len().div_ceil(100) {
                let fec = dice.below(3);
                numbers[fec] += 1;
                if dice.share() < arguments.loss {
                    lost += 1;
                    numbers[fec] += 1;
                }
                trackers[fec].observe(numbers[fec]);
                counters.packets_received += 1;
                counters.packets_formed_from += 1;
            }
            sink.take(&events).map_err(|error| error.to_string())?;
            events.clear();
        }
        if observed.elapsed() >= Duration::from_secs(1) {
            observed = Instant::now();
            let snapshot = MadeUpCounters { readouts: counters.readouts + arguments.swallow, ..counters };
            let sources = trackers
                .iter()
                .enumerate()
                .map(|(fec, tracker)| SourceLedger::of_sequence(format!("FEC {}", fec + 1), tracker));
            let ledger = DetectorLedger {
                sources: sources.collect(),
                counters: CounterSnapshot::of(&snapshot),
                ..Default::default()
            };
            sink.observe(&ledger).map_err(|error| error.to_string())?;
            if arguments.swallow > 0 {
                view.set_alarms(vec![format!("{} readouts are unaccounted for", arguments.swallow)]);
            }
            view.set_losses(vec![LocatedLoss {
                place: "socket buffer".into(),
                packets: lost - lost / 4,
                inferred: false,
            }]);
        }
    }
    sink.abandon();
    view.shutdown();
    Ok(())
}

/// Counters that a detector might have for so many events; the laws hold.
fn account(counters: &mut MadeUpCounters, events: u64, dice: &mut Dice) {
    let (lonely, weak, unmapped) = (events / 50, events / 20, events / 400);
    counters.events += events;
    counters.hits_in_events += 5 * events;
    counters.only_x += lonely;
    let held = dice.roll() % 200;
    counters.hits = counters.hits_in_events + counters.only_x + held;
    counters.held = held;
    counters.below_threshold += weak;
    counters.unmapped_channel += unmapped;
    counters.readouts = counters.hits + counters.below_threshold + counters.unmapped_channel;
}
