//! Pulses of 14 Hz over a pair of virtual interfaces: up to which peak every packet is received, for several buffers and
//! receivers; and whether reading counters beside costs any.
//!
//! A pulse of *n* packets in the time *t* comes at the peak rate *P* = *n* / *t*. A receiver that serves *S* packets per second
//! has *S t* of them by the end, and the others must fit into the socket's buffer: twice what was asked for, of which a packet
//! takes `truesize` bytes. So all are received if
//!
//! ```text
//! (P - S) t truesize <= 2 buffer        and        mean rate <= S
//! ```
//!
//! *S* is one over the processor time that the receiver needs for a packet while it is overloaded, `truesize` is measured in a
//! socket that nobody reads. The highest loss-free peak is what is kept of pulses that are half as large again as the relation
//! allows, over *t*; then pulses of 90 % of it are sent, and those received whole are counted. Other programs of a machine hold up
//! both ends, so that the median of all pulses counts.
//!
//! `cargo bench -p evforge-lab --bench pulsed` needs root, `ip` and `ethtool`. With EVFORGE_UPDATE=1 it writes the points and
//! their picture into docs/pictures. EVFORGE_BENCH_SECONDS sets the time of a measurement (1).

mod load;
mod polling;

use evforge_lab::plots::pulsed::{COLUMNS, svg};
use evforge_testkit::bench_history::{Figure, keep};
use evforge_testkit::veth::{self, SENDER, Wire, with_wire};
use load::{ReceivedPulse, Receiving, Sending};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const SIZES: [usize; 3] = [64, 1472, 8972];
const FACTORS: [f64; 2] = [10.0, 50.0];
const WORKS: [Duration; 2] = [Duration::from_micros(5), Duration::from_micros(20)];
const BUFFERS: [usize; 4] = [100_000, 200_000, 400_000, 800_000];

/// The highest loss-free peak of one receiver.
pub(crate) struct Point {
    pub(crate) receiving: Receiving,
    pub(crate) factor: f64,
    /// Packets per second that the receiver serves.
    pub(crate) served: f64,
    /// Bytes of the buffer that a packet takes.
    pub(crate) truesize: usize,
    /// By the relation, in packets per second.
    pub(crate) expected: f64,
    /// Found.
    pub(crate) found: f64,
    /// Pulses of 90 % of it that were received whole, and all.
    whole: (usize, usize),
}

impl Point {
    /// What waited in the buffer at the end of the pulse, as a share of the buffer.
    fn filling(&self) -> f64 {
        let waiting = (self.found - self.served) * pulse_time(self.factor) * self.truesize as f64;
        waiting / (2 * self.receiving.buffer) as f64
    }
}

fn pulse_time(factor: f64) -> f64 {
    1e3 / load::FREQUENCY.millihertz as f64 / factor
}

fn main() {
    // `cargo test --benches` asks for nothing to be measured.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    if !veth::is_possible("the bench of pulses") {
        return;
    }
    let seconds =
        std::env::var("EVFORGE_BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let time = Duration::from_secs_f64(seconds);
    let mut points = Vec::new();
    with_wire(1, 9000, |wire| {
        cut_segments(wire);
        points = measure(wire, time);
    });
    write_pictures(&points);
    with_wire(1, 9000, |wire| {
        cut_segments(wire);
        polling::compare(wire, time, &points);
    });
}

/// Lets segments be cut before the wire, as a network card does it.
fn cut_segments(wire: &Wire) {
    wire.at_sender(|| {
        let arguments = ["-K", SENDER, "tx-udp-segmentation", "off"];
        let output = Command::new("ethtool").args(arguments).output().expect("the program ethtool");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    });
}

fn measure(wire: &Wire, time: Duration) -> Vec<Point> {
    println!("highest loss-free peak, in thousand packets per second");
    println!(
        "{:>6} {:>9} {:>9} {:>7} {:>9} {:>9} {:>9} {:>9} {:>8} {:>12}",
        "bytes",
        "truesize",
        "work",
        "factor",
        "served",
        "buffer",
        "relation",
        "found",
        "filling",
        "whole at 90%"
    );
    let mut points = Vec::new();
    for size in SIZES {
        let truesize = load::bytes_in_buffer(wire, size);
        for work in WORKS {
            let served = served(wire, size, work, time);
            for factor in FACTORS {
                for buffer in BUFFERS {
                    let receiving = Receiving { size, buffer, work };
                    let Some(point) = search(wire, receiving, factor, served, truesize, time) else {
                        continue;
                    };
                    println!(
                        "{size:>6} {truesize:>9} {:>6} us {factor:>7} {:>9.0} {buffer:>9} {:>9.0} {:>9.0} {:>8.2} {:>6} of {:>2}",
                        work.as_micros(),
                        served / 1e3,
                        point.expected / 1e3,
                        point.found / 1e3,
                        point.filling(),
                        point.whole.0,
                        point.whole.1,
                    );
                    keep(&Figure {
                        bench: "pulses",
                        case: &format!(
                            "{size} bytes, {} us, factor {factor}, buffer {buffer}",
                            work.as_micros()
                        ),
                        figure: "highest loss-free peak",
                        value: point.found / 1e3,
                        unit: "kp/s",
                        keys_per_second: None,
                    });
                    points.push(point);
                }
            }
        }
    }
    points
}

/// Packets per second that a receiver serves which is never without any.
fn served(wire: &Wire, size: usize, work: Duration, time: Duration) -> f64 {
    let receiving = Receiving { size, buffer: 4_000_000, work };
    let sending = Sending { pulse: None, factor: 1.0, time: time.min(Duration::from_millis(300)) };
    let mut times: Vec<f64> =
        (0..5).map(|_| load::run(wire, &receiving, &sending, &|_| {}).packet_ns).collect();
    times.sort_by(f64::total_cmp);
    1e9 / times[times.len() / 2]
}

/// The highest loss-free peak; none if the mean rate would be more than is served, or the sender is not as fast.
fn search(
    wire: &Wire,
    receiving: Receiving,
    factor: f64,
    served: f64,
    truesize: usize,
    time: Duration,
) -> Option<Point> {
    let pulse_time = pulse_time(factor);
    let expected = served + (2 * receiving.buffer) as f64 / truesize as f64 / pulse_time;
    let most_in_a_period = 0.9 * served * pulse_time * factor;
    if expected * pulse_time > most_in_a_period {
        return None;
    }
    let pulses = |peak: f64| {
        let packets = (peak * pulse_time).round().max(1.0) as u64;
        let outcome = load::run(wire, &receiving, &Sending { pulse: Some(packets), factor, time }, &|_| {});
        (packets, outcome.pulses)
    };
    let (_, kept) = pulses(1.5 * expected);
    // A pulse of which the sender was late says nothing of this peak.
    let in_time = |pulse: &&ReceivedPulse| pulse.seconds() < 1.15 * pulse_time;
    let mut counts: Vec<u64> = kept.iter().filter(in_time).map(|pulse| pulse.packets).collect();
    counts.sort_unstable();
    let found = *counts.get(counts.len() / 2).filter(|_| 2 * counts.len() >= kept.len())? as f64 / pulse_time;
    let (packets, kept) = pulses(0.9 * found);
    let whole = kept.iter().filter(|pulse| pulse.packets == packets).count();
    Some(Point { receiving, factor, served, truesize, expected, found, whole: (whole, kept.len()) })
}

/// The points as a table, and their picture.
fn write_pictures(points: &[Point]) {
    if std::env::var_os("EVFORGE_UPDATE").is_none_or(|value| value != "1") {
        return;
    }
    let mut table = format!("{COLUMNS}\n");
    for point in points {
        let Receiving { size, buffer, work } = point.receiving;
        // Writing to a string cannot fail.
        let _ = writeln!(
            table,
            "{size},{},{},{},{:.0},{buffer},{:.0},{:.0},{},{}",
            point.truesize,
            work.as_micros(),
            point.factor,
            point.served,
            point.expected,
            point.found,
            point.whole.0,
            point.whole.1,
        );
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
    std::fs::write(folder.join("pulsed.svg"), svg(&table).expect("a plot"))
        .expect("docs/pictures can be written");
    std::fs::write(folder.join("pulsed.csv"), table).expect("docs/pictures can be written");
}
