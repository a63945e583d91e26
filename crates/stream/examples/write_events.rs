//! Writes random events into a NeXus file and says how fast: `write_events FILE [million events] [none|lzf|deflate]`.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::output::{Output, Taken};
use evforge_core::pulse::PulseTrain;
use evforge_core::pulsed::{CalendarRule, PulseStage, PulseStageSettings};
use evforge_core::run_state::RunState;
use evforge_core::time::Clock;
use evforge_stream::nexus::{Compression, ExistingFile, NexusOptions, NexusOutput};

/// Mean rate of the events on the detector's clock.
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

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: write_events FILE [million events] [none|lzf|deflate]")?;
    let millions: u64 = arguments.next().map_or(Ok(100), |text| text.parse())?;
    let compression = match arguments.next().as_deref() {
        None | Some("none") => Compression::None,
        Some("lzf") => Compression::Lzf,
        Some("deflate") => Compression::Deflate(1),
        Some(other) => return Err(format!("no compression is called {other}: none, lzf or deflate").into()),
    };
    let mut options = NexusOptions::new(&path, "demo", LogicalGeometry::flat(1280, 1280)?);
    options.existing = ExistingFile::Overwrite;
    options.compression = compression;

    // Prepared beforehand, so that only the writing is timed. The pixels repeat every 64 batches; times go on.
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let pixels: Vec<u32> = (0..64 * BATCH)
        .map(|_| {
            // The generator of Marsaglia (xorshift): good enough to be incompressible.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % (1280 * 1280)) as u32 + 1
        })
        .collect();
    let mut output = NexusOutput::new(options, Arc::new(WallClock(Instant::now())))?;
    let mut stage = PulseStage::new(PulseStageSettings::new(PulseTrain::ess(), CalendarRule::Readout));
    let mut batch = EventBatch::new(BATCH);
    let (mut number, count) = (0_u64, millions * 1_000_000);
    let mut writing = Duration::ZERO;
    while number < count {
        batch.clear();
        for &pixel_id in pixels.iter().skip(number as usize % pixels.len()).take(BATCH) {
            let _ = batch.push(Event { time_ns: number * 1_000_000_000 / EVENTS_PER_SECOND, pixel_id });
            number += 1;
        }
        let mut pulsed = Vec::new();
        stage.hand_on(&batch, None, &mut |batch| pulsed.push(Arc::new(batch)));
        let begin = Instant::now();
        for batch in &pulsed {
            if output.take(batch)? != Taken::Yes {
                return Err("a batch was not taken".into());
            }
        }
        writing += begin.elapsed();
    }
    let begin = Instant::now();
    output.finish(&Arc::new(RunState::default()))?;
    writing += begin.elapsed();
    let size = std::fs::metadata(&path)?.len();
    println!(
        "{path}: {number} events in {:.2} s: {:.1} million events/s, {:.0} MB/s of 8 bytes per event; the file \
         has {:.2} bytes per event",
        writing.as_secs_f64(),
        number as f64 * 1e-6 / writing.as_secs_f64(),
        number as f64 * 8e-6 / writing.as_secs_f64(),
        size as f64 / number as f64
    );
    Ok(())
}
