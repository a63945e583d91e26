//! Twice the loss-free load: what still arrives.
//!
//! The application spends a stated time on each packet, so that a sender of this machine can send twice of what is received without
//! loss. Application and the kernel's work of receiving (here that of the sender's core) are on different cores.

use crate::ends::run;
use crate::{ROUNDS, SYSTEMS, prepare, search};
use evforge_testkit::veth::with_wire;
use std::time::Duration;

/// Spent on each packet.
const WORK: Duration = Duration::from_micros(5);
const SIZES: [usize; 3] = [64, 1472, 8972];

/// What was found in one round.
#[derive(Clone, Copy)]
struct Found {
    /// The highest loss-free rate, in packets per second.
    lossless: f64,
    /// Sent and received in overload.
    sent: f64,
    delivered: f64,
}

impl Found {
    fn ratio(&self) -> f64 {
        self.delivered / self.lossless.max(1.0)
    }
}

/// Measures and prints.
pub(crate) fn measure(time: Duration) {
    // What waits at the end of a measurement is to be little beside what was received.
    let time = 2 * time;
    println!(
        "\n{WORK:?} of work for each packet, in thousand packets per second: loss-free rate; received of what is sent at twice that rate; \
         ratio of both"
    );
    // The row "receiver" has the receiver of the next one.
    let systems = || SYSTEMS.iter().filter(|system| !system.name.starts_with("receiver"));
    print!("{:>6}", "bytes");
    systems().for_each(|system| print!("{:>30}", system.name));
    println!();
    for size in SIZES {
        let mut found: Vec<Vec<Found>> = systems().map(|_| Vec::new()).collect();
        for _ in 0..ROUNDS {
            for (system, found) in systems().zip(&mut found) {
                with_wire(1, 9000, |wire| {
                    prepare(wire, system.receiving);
                    let lossless = search(wire, *system, size, time, WORK).rate;
                    let rate = Some(2.0 * lossless);
                    let over = run(wire, system.sending, system.receiving, size, rate, time, WORK);
                    found.push(Found { lossless, sent: over.rate(), delivered: over.delivered() });
                });
            }
        }
        print!("{size:>6}");
        for mut found in found {
            found.sort_by(|one, other| one.ratio().total_cmp(&other.ratio()));
            let middle = found[found.len() / 2];
            print!(
                "{:>8.0};{:>5.0} of{:>5.0};{:>5.2}",
                middle.lossless / 1e3,
                middle.delivered / 1e3,
                middle.sent / 1e3,
                middle.ratio()
            );
        }
        println!();
    }
}
