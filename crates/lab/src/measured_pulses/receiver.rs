//! What a receiver makes of packets, apart from pulses: how many it serves, and how much of its buffer each takes.

use crate::measured_link::program::{PATIENCE, Program};
use crate::measured_link::{LinkMethod, LinkPoint, MeasureError, MeasuredPoint, PointRunner};
use crate::two_hosts::End;
use evforge_core::packet::PacketSlab;
use evforge_net::socket::{ReceiverOptions, UdpReceiver};
use std::time::{Duration, Instant};

/// Packets that the receiver fetches at once, and so takes out of the buffer: few, so that they do not count.
pub(super) const BATCH: u32 = 16;
/// Packets that are left in a buffer to see how much they take.
const KEPT: usize = 4;
/// The buffer they are left in: large enough for them, and what any system gives.
const KEPT_IN: usize = 200_000;
/// Packets that were sent have come if the buffer is as it was so long ago.
const SETTLED: Duration = Duration::from_millis(50);
/// The buffer, how long, and how often a receiver is overloaded. Larger ones would take a slow receiver long to empty.
const OVERLOADED_BUFFER: u64 = 1_000_000;
const OVERLOADED: Duration = Duration::from_millis(300);
const OVERLOADS: usize = 3;
/// The largest payload of which runs are given to the kernel in one piece, and cut before the wire, as a card does it. Jumbo packets
/// are not: out of a piece they take less of the buffer than by themselves, and a pulse has both.
const LARGEST_IN_PIECES: usize = 1472;

/// A receiver of packets of one size, with some work on each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PulseReceiver {
    /// Packets per second that it serves, by its processor time for each while it is never without any; none if the sender is not
    /// fast enough for that.
    pub served: Option<f64>,
    /// Bytes of the receive buffer that a packet takes (`truesize`).
    pub truesize: f64,
}

/// How packets of this size are sent: as a network card hands them over.
pub(super) const fn method(size: usize) -> LinkMethod {
    if size <= LARGEST_IN_PIECES { LinkMethod::Segmented } else { LinkMethod::Batched }
}

/// Bytes of the receive buffer that a packet of this size takes: packets are sent to a socket of this process, which is in the
/// receiver's namespace, and nobody reads them.
///
/// # Errors
/// If packets cannot be sent, do not all come, or the kernel does not tell.
pub(super) fn truesize(points: &PointRunner<'_>, size: usize) -> Result<f64, MeasureError> {
    let mut receiver = UdpReceiver::open(&options(points, KEPT_IN))?;
    let mut command = points.hosts.command(End::Sender, &points.program);
    command.args(["send", "--quiet", "--unpaced", "--packets", &KEPT.to_string()]);
    command.args(["--to", &receiver.local_address().to_string(), "--size", &format!("{size}B")]);
    command.args(method(size).sender_options());
    Program::start(command, "evforge send")?.wait_good(PATIENCE, points.stop)?;
    let mut used = receiver.buffer_used()?;
    loop {
        // The sender's kernel puts them there before its program ends; if it is interrupted, a little later.
        std::thread::sleep(SETTLED);
        let now = receiver.buffer_used()?;
        if now == used {
            break;
        }
        used = now;
    }
    let mut slab = PacketSlab::new(2 * KEPT, (2 * KEPT) << 16);
    while receiver.receive(&mut slab, Instant::now())? > 0 {}
    let found = slab.len();
    match found == KEPT {
        true => Ok(used as f64 / KEPT as f64),
        false => Err(MeasureError::Kept { found, sent: KEPT, size, buffer: receiver.buffer().granted }),
    }
}

/// Packets per second that a receiver serves which is never without any: the median of some measurements, in which the sender
/// was as fast as it can be. None if fewer than half of them had a packet too many.
///
/// # Errors
/// As [`PointRunner::run`].
pub(super) fn served(
    points: &PointRunner<'_>,
    size: usize,
    work: Duration,
) -> Result<Option<f64>, MeasureError> {
    let point = LinkPoint {
        buffer: OVERLOADED_BUFFER,
        time: OVERLOADED,
        work,
        batch: Some(BATCH),
        ..LinkPoint::new(method(size), size)
    };
    let measured = (0..OVERLOADS).map(|_| points.run(&point));
    Ok(served_by(&measured.collect::<Result<Vec<_>, _>>()?, work))
}

/// Makes sure that the kernel gives a buffer as large as this.
///
/// # Errors
/// If it does not, with what helps.
pub(super) fn check_buffer(points: &PointRunner<'_>, bytes: u64) -> Result<(), MeasureError> {
    let asked = usize::try_from(bytes).unwrap_or(usize::MAX);
    let granted = UdpReceiver::open(&options(points, asked))?.buffer().granted;
    match granted >= asked {
        true => Ok(()),
        false => Err(MeasureError::Buffer { asked: bytes, granted }),
    }
}

fn options(points: &PointRunner<'_>, buffer: usize) -> ReceiverOptions {
    ReceiverOptions {
        receive_buffer: buffer,
        coalesce: false,
        ..ReceiverOptions::new((points.hosts.address(End::Receiver), 0).into())
    }
}

/// The median of what overloaded receivers serve. Work is a time on the clock: of a receiver whose core others take meanwhile, the
/// processor time is less than that, and it serves no more for it.
fn served_by(measured: &[MeasuredPoint], work: Duration) -> Option<f64> {
    let work_ns = work.as_nanos() as f64;
    let overloaded = measured.iter().filter(|point| point.lost > 0);
    let mut times: Vec<f64> =
        overloaded.filter_map(|point| point.receiver_ns).filter(|time| *time > 0.0).collect();
    times.sort_by(f64::total_cmp);
    let median = times.get(times.len() / 2).filter(|_| 2 * times.len() >= measured.len());
    median.map(|time| 1e9 / time.max(work_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::two_hosts::TwoHosts;
    use std::sync::atomic::AtomicBool;

    fn measured(lost: u64, receiver_ns: f64) -> MeasuredPoint {
        MeasuredPoint { lost, receiver_ns: Some(receiver_ns), ..MeasuredPoint::default() }
    }

    #[test]
    fn what_a_receiver_serves_is_the_median_of_those_that_were_overloaded() {
        let [slow, usual, quick] = [40_000.0, 20_000.0, 10_000.0].map(|time| measured(1, time));
        let work = Duration::from_micros(5);
        assert_eq!(served_by(&[slow.clone(), quick.clone(), usual.clone()], work), Some(50_000.0));
        // One that lost nothing may have waited for packets: its time is that of spinning as well.
        let idle = measured(0, 1_000.0);
        assert_eq!(served_by(&[idle.clone(), usual, slow], work), Some(25_000.0));
        assert_eq!(served_by(&[idle.clone(), idle, quick.clone()], work), None);
        // 20 us of work are never more than 50 000 packets in a second.
        assert_eq!(served_by(&[quick], Duration::from_micros(20)), Some(50_000.0));
    }

    #[test]
    fn a_buffer_that_the_kernel_does_not_give_is_refused_before_anything_is_measured() {
        let (hosts, stop) = (TwoHosts::on_loopback(), AtomicBool::new(false));
        let points = PointRunner {
            hosts: &hosts,
            program: "evforge".into(),
            folder: std::env::temp_dir(),
            sender_core: 0,
            receiver_core: 0,
            stop: &stop,
        };
        check_buffer(&points, 100_000).expect("what any system gives");
        // More than the kernel can count, whoever asks.
        assert!(check_buffer(&points, 4_000_000_000).is_err());
        let short = MeasureError::Buffer { asked: 400_000, granted: 212_992 }.to_string();
        assert!(short.contains("sudo sysctl -w net.core.rmem_max=400000"), "{short}");
    }
}
