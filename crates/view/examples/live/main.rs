//! A live view of made-up events: an image without any symmetry, a spectrum with edges, a ledger with losses, outputs of
//! which one waits and one fails.
//!
//! ```text
//! cargo run --release -p evforge-view --example live -- --rate 200000 --mask mask.json
//! ```
//!
//! `--mask` writes the probability of each pixel as JSON (`{"nx":…,"ny":…,"values":[…]}`, row by row from
//! y = 0); the browser test compares the page's image with it. `--outputs` feeds outputs beside the view.

mod frames;
mod made_up;
mod outputs;

use clap::Parser;
use evforge_core::alarm::LossWatch;
use evforge_core::counter::CounterSnapshot;
use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::{Coordinates, LogicalGeometry};
use evforge_core::ledger::{DetectorLedger, SourceLedger};
use evforge_core::losses::LossLocation;
use evforge_core::output::Output;
use evforge_core::placement::PlacementSettings;
use evforge_core::pulse::PulseTrain;
use evforge_core::pulsed::{CalendarRule, PulseStage, PulseStageSettings};
use evforge_core::run_state::RunState;
use evforge_core::sequence::SequenceTracker;
use evforge_view::{HostAdvice, HostFinding, LiveView, ViewFile, ViewOptions};
use frames::MadeUpFrames;
use made_up::{Dice, Lottery, MadeUpCounters, account, brightness};
use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
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
    /// Bytes for the newest events, from which slices and regions are counted that are asked for later.
    #[arg(long)]
    memory: Option<usize>,
    /// Packets lost, as a share of those sent.
    #[arg(long, default_value_t = 0.0)]
    loss: f64,
    /// Readouts that vanish without a reason, to see the alarm.
    #[arg(long, default_value_t = 0)]
    swallow: u64,
    /// Feed outputs beside the view: one that commits everything, one that waits, one that fails.
    #[arg(long)]
    outputs: bool,
    /// After so many seconds there is a second with ten times as many events.
    #[arg(long)]
    spike: Option<f64>,
    /// Something is wrong with the host, which is told while no events come (`--rate 0`).
    #[arg(long)]
    advice: bool,
    /// Tell frames with their pulses: periods, vetoes, charge.
    #[arg(long)]
    frames: bool,
    /// Offer the views of a detector with this section in its configuration.
    #[arg(long, default_value = "")]
    detector: String,
    /// Offer the views of this file.
    #[arg(long)]
    views: Option<PathBuf>,
    /// Where panels stand: the table `[placement]`, as JSON.
    #[arg(long)]
    placement: Option<String>,
    /// Write the expected image here.
    #[arg(long)]
    mask: Option<PathBuf>,
}

/// A host with a fault.
#[derive(Debug)]
struct MadeUpDoctor;

impl HostAdvice for MadeUpDoctor {
    fn findings(&self) -> Vec<HostFinding> {
        vec![HostFinding {
            subject: "receive buffer".into(),
            found: "net.core.rmem_max is 212992".into(),
            wanted: Some("33554432".into()),
            fix: Some("sudo sysctl -w net.core.rmem_max=33554432".into()),
        }]
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
    options.event_memory = arguments.memory.unwrap_or(options.event_memory);
    options.address = arguments.address;
    options.advice = arguments.advice.then(|| Arc::new(MadeUpDoctor) as Arc<dyn HostAdvice>);
    options.detector.clone_from(&arguments.detector);
    options.views = arguments.views.as_deref().map(ViewFile::read).transpose()?;
    if let Some(placement) = &arguments.placement {
        options.placement = Some(serde_json::from_str::<PlacementSettings>(placement)?.place(geometry)?);
    }
    let view = LiveView::start(options)?;
    println!("live view at http://{}", view.address());

    let mut sink = view.sink();
    let mut outputs = outputs::start(arguments.outputs)?;
    let mut stage = PulseStage::new(PulseStageSettings::new(pulses, CalendarRule::Readout));
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut events = EventBatch::new(20_000);
    let mut trackers = [SequenceTracker::new(32), SequenceTracker::new(32), SequenceTracker::new(32)];
    let mut numbers = [1_000_u64; 3];
    let mut counters = MadeUpCounters::default();
    let mut frames = arguments.frames.then(MadeUpFrames::new);
    let started = Instant::now();
    let (mut made, mut observed, mut lost) = (0_u64, started, 0_u64);
    let mut losing = LossWatch::default();
    while arguments.seconds.is_none_or(|seconds| started.elapsed().as_secs_f64() < seconds) {
        std::thread::sleep(Duration::from_millis(5));
        let elapsed = started.elapsed().as_secs_f64();
        // The source flickers a little, as sources do.
        let spike = arguments.spike.map_or(0.0, |after| 9.0 * (elapsed - after).clamp(0.0, 1.0));
        let due = (arguments.rate as f64 * (elapsed + 0.6 * (elapsed / 5.0).sin() + spike)) as u64;
        let now_ns = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as u64;
        let (number, pulse_start) = pulses.locate(now_ns).map_or((0, now_ns), |at| (at.pulse, at.start_ns));
        while made < due {
            if let Some(frames) = &mut frames {
                // A batch that was cleared has room for one.
                let _ = events.begin_frame(pulse_start, frames.of(number, pulse_start));
            }
            let until = (due - made).min(events.capacity() as u64);
            for _ in 0..until {
                let flight_ns = u64::from(flights.draw(&mut dice)) * 20_000 + dice.roll() % 20_000;
                let pixel_id = pixels.draw(&mut dice) + 1;
                if !events.push(Event { time_ns: pulse_start + flight_ns, pixel_id }) {
                    break;
                }
            }
            made += events.len() as u64;
            if let Some(frames) = &mut frames {
                frames.add_events(events.len() as u64);
            }
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
            let mut taken = Ok(());
            stage.hand_on(&events, None, &mut |batch| {
                outputs.offer(batch.clone(), &AtomicBool::new(false));
                if let Err(error) = sink.take(&Arc::new(batch)) {
                    taken = Err(error);
                }
            });
            taken?;
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
                frames: frames.as_ref().map(MadeUpFrames::ledger),
                ..Default::default()
            };
            let mut state = RunState { elapsed: started.elapsed(), ledger, ..RunState::default() };
            state.losses.add(LossLocation::SocketBuffer, lost - lost / 4, false);
            state.losses.unlocated = lost / 4;
            losing.observe(&mut state);
            state.health.clock_synchronised = Some(!arguments.advice);
            state.outputs = outputs.states();
            sink.observe(&Arc::new(state))?;
        }
    }
    outputs.end(None, || false);
    sink.abandon();
    view.shutdown();
    Ok(())
}
