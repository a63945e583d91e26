//! Whether reading counters beside costs packets: all of them, never, once a second, and 100 times a second.

use crate::Point;
use crate::load::{Outcome, Sending, run};
use evforge_net::interfaces::InterfacesInUse;
use evforge_net::kernel_counters::KernelCounters;
use evforge_testkit::veth::{RECEIVER, Wire};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Readings in a second.
const POLLING: [(&str, f64); 3] = [("off", 0.0), ("once a second", 1.0), ("100 times a second", 100.0)];
/// Measurements of each kind.
const ROUNDS: usize = 12;
/// Pulses as shares of the largest one that is received whole: one that fits, and one that does not.
const SHARES: [f64; 2] = [0.7, 1.3];

/// Measures in turns, and prints shares lost.
pub(crate) fn compare(wire: &Wire, time: Duration, points: &[Point]) {
    let Some(point) = points.iter().find(|point| {
        point.receiving.size == 1472 && point.factor == 10.0 && point.receiving.buffer == 400_000
    }) else {
        return;
    };
    // Long enough for a reading each second.
    let time = time.max(Duration::from_secs_f64(1.1));
    println!(
        "\nshare of packets lost while all counters are read, {ROUNDS} measurements of {time:?} each, in turns: 1472 bytes, peak \
         factor {}, buffer of {} bytes",
        point.factor, point.receiving.buffer
    );
    println!(
        "{:>10} {:>20} {:>10} {:>10} {:>10} {:>10} {:>24}",
        "peak", "counters read", "readings", "sent", "lost", "median", "share (from .. to)"
    );
    for share in SHARES {
        let packets = (share * point.found * crate::pulse_time(point.factor)) as u64;
        let sending = Sending { pulse: Some(packets), factor: point.factor, time };
        let mut all: [(Vec<Outcome>, u64); POLLING.len()] = Default::default();
        for _ in 0..ROUNDS {
            for ((_, rate), (outcomes, readings)) in POLLING.iter().zip(&mut all) {
                let count = AtomicU64::new(0);
                let poll = |over: &AtomicBool| read_all(*rate, over, &count);
                outcomes.push(run(wire, &point.receiving, &sending, &poll));
                *readings += count.load(Ordering::Relaxed);
            }
        }
        for ((name, _), (outcomes, readings)) in POLLING.iter().zip(&all) {
            let sent: u64 = outcomes.iter().map(|one| one.sent).sum();
            let lost = sent - outcomes.iter().map(|one| one.received).sum::<u64>();
            let mut shares: Vec<f64> = outcomes
                .iter()
                .map(|one| (one.sent - one.received) as f64 / one.sent.max(1) as f64)
                .collect();
            shares.sort_by(f64::total_cmp);
            let [least, median, most] = [0, shares.len() / 2, shares.len() - 1].map(|index| shares[index]);
            println!(
                "{:>10.0} {name:>20} {readings:>10} {sent:>10} {lost:>10} {median:>10.5} {least:>12.5} .. {most:.5}",
                share * point.found
            );
        }
    }
}

/// Reads every counter that the reports use, and those that `ethtool -S` and `netstat -s` print, so many times a second.
fn read_all(rate: f64, over: &AtomicBool, count: &AtomicU64) {
    if rate == 0.0 {
        return;
    }
    let begun = Instant::now();
    while !over.load(Ordering::Relaxed) {
        let readings = count.load(Ordering::Relaxed);
        if begun.elapsed().as_secs_f64() * rate >= readings as f64 {
            KernelCounters::read().expect("the kernel's counters");
            InterfacesInUse::Named(RECEIVER.into()).read().expect("the interface's counters");
            for file in ["dev", "snmp", "snmp6", "netstat", "softnet_stat", "udp"] {
                std::fs::read_to_string(format!("/proc/thread-self/net/{file}"))
                    .expect("a table of the kernel");
            }
            assert!(driver_statistics() > 0, "the driver has statistics");
            count.fetch_add(1, Ordering::Relaxed);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Reads the driver's own counters, as `ethtool -S` does; says how many there are.
fn driver_statistics() -> usize {
    const ETHTOOL_GDRVINFO: u32 = 0x03;
    const ETHTOOL_GSTATS: u32 = 0x1d;
    /// Word of `struct ethtool_drvinfo` (include/uapi/linux/ethtool.h) that has the number of statistics.
    const COUNT: usize = 45;
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    // SAFETY: made of integers and a raw pointer, for which all zeros is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, &byte) in request.ifr_name.iter_mut().zip(RECEIVER.as_bytes()) {
        *place = byte as libc::c_char;
    }
    let mut ask = |memory: &mut [u64]| {
        request.ifr_ifru.ifru_data = memory.as_mut_ptr().cast();
        // SAFETY: the request points to memory that is longer than what the command writes, and both live until it ends.
        let status = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
        assert_eq!(status, 0, "ethtool: {}", std::io::Error::last_os_error());
    };
    let mut driver = [0_u64; 32];
    driver[0] = ETHTOOL_GDRVINFO.into();
    ask(&mut driver);
    // Two words of 32 bits are one of 64: the lower one first.
    let count = (driver[COUNT / 2] >> (32 * (COUNT % 2))) as u32;
    let mut statistics = vec![0_u64; 1 + count as usize];
    statistics[0] = u64::from(ETHTOOL_GSTATS) | u64::from(count) << 32;
    ask(&mut statistics);
    count as usize
}
