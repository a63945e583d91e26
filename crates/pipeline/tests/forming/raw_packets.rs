//! Raw packets for outputs: of a capture exactly those that the rule chooses, whatever slabs and threads are; live, by every way
//! of forming; and nobody waits for an output that is behind.

use crate::common::Keep;
use evforge_config::Config;
use evforge_core::output::{Output, OutputError, OutputProgress, Taken};
use evforge_core::pulsed::PulsedBatch;
use evforge_core::run_state::RunState;
use evforge_net::capture::CaptureReader;
use evforge_net::clock::SystemClock;
use evforge_net::session::SessionLimits;
use evforge_outputs::QueueSettings;
use evforge_outputs::packet_tap::{PACKET_TAP, PacketSamples, PacketTap, SampleRule, SampledPackets};
use evforge_pipeline::capture_run::CaptureRun;
use evforge_pipeline::live_run::{LiveObserver, LiveRun, open_receivers};
use evforge_pipeline::monitor_tap::MonitorTap;
use evforge_pipeline::report::RunReport;
use evforge_pipeline::run_control::RunControl;
use evforge_testkit::own_data::{capture, capture_path, configuration_path};
use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const NAME: &str = "gdgem-srs-faults";

/// Source, port, arrival and bytes of packets.
type Kept = Vec<(SocketAddr, u16, u64, Vec<u8>)>;

/// An output that wants raw packets and keeps them.
struct KeepPackets {
    samples: PacketSamples,
    kept: Arc<Mutex<Kept>>,
    /// Takes nothing before the end.
    is_late: bool,
}

impl KeepPackets {
    fn keep(&mut self) {
        let mut kept = self.kept.lock().expect("nobody has panicked");
        while let Some(packets) = self.samples.take() {
            kept.extend(all(&packets));
        }
    }
}

fn all(packets: &SampledPackets) -> impl Iterator<Item = (SocketAddr, u16, u64, Vec<u8>)> + '_ {
    packets.batch().iter().map(|packet| {
        let origin = packet.origin;
        (origin.source, origin.destination_port, origin.arrival_ns, packet.bytes.to_vec())
    })
}

impl Output for KeepPackets {
    fn name(&self) -> String {
        "packets in memory".into()
    }
    fn take(&mut self, _: &Arc<PulsedBatch>) -> Result<Taken, OutputError> {
        Ok(Taken::Yes)
    }
    fn poll(&mut self) -> Result<(), OutputError> {
        if !self.is_late {
            self.keep();
        }
        Ok(())
    }
    fn progress(&self) -> OutputProgress {
        OutputProgress::default()
    }
    fn finish(&mut self, _: &Arc<RunState>) -> Result<(), OutputError> {
        self.keep();
        assert!(self.samples.has_ended(), "the run gives back its end before outputs are finished");
        Ok(())
    }
}

/// A tap with an output that takes packets by this rule.
struct Tapped {
    tap: PacketTap,
    output: (String, Box<dyn Output>, QueueSettings),
    kept: Arc<Mutex<Kept>>,
}

impl Tapped {
    fn new(rule: SampleRule, memory: usize, is_late: bool) -> Self {
        let tap = PacketTap::default();
        let samples = tap.subscribe(rule, memory).expect("before the run");
        let kept = Arc::default();
        let output = KeepPackets { samples, kept: Arc::clone(&kept), is_late };
        Self { tap, output: ("packets".into(), Box::new(output), QueueSettings::COMPLETE), kept }
    }
}

fn config(overrides: &[&str]) -> Config {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    Config::read(&configuration_path(NAME), &overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// A run over the capture, with the packets that were handed out and the events.
fn run(rule: SampleRule, memory: usize, calibrates: bool, overrides: &[&str]) -> (RunReport, Kept, Keep) {
    let config = config(overrides);
    let (tapped, events) = (Tapped::new(rule, memory, false), Keep::default());
    tapped.tap.calibrate(calibrates);
    let run = CaptureRun {
        monitor: MonitorTap::default(),
        packets: tapped.tap,
        control: RunControl::default(),
        samples: None,
        config: &config,
        input: Box::new(CaptureReader::open(&capture_path(NAME)).expect("a capture")),
        outputs: vec![tapped.output, events.output()],
        stop: &AtomicBool::new(false),
        clock: Arc::new(SystemClock::start()),
        health: Default::default(),
        on_waiting: Arc::new(|_| {}),
    };
    let report = run.run(|_| {}).expect("a run");
    let kept = std::mem::take(&mut *tapped.kept.lock().expect("nobody has panicked"));
    (report, kept, events)
}

/// What a rule chooses of the capture, from its definition. All of it was sent to one port.
fn chosen(every: u64, consecutive: u64) -> Vec<Vec<u8>> {
    let mut numbers = HashMap::new();
    let datagrams = capture(NAME).into_iter().filter(|datagram| {
        let number: &mut u64 = numbers.entry(datagram.source).or_default();
        *number += 1;
        (*number - 1) % every < consecutive
    });
    datagrams.map(|datagram| datagram.payload).collect()
}

fn payloads(kept: &Kept) -> Vec<Vec<u8>> {
    kept.iter().map(|(.., bytes)| bytes.clone()).collect()
}

#[test]
fn of_a_capture_the_packets_of_the_rule_are_handed_out_whatever_slabs_and_threads_are() {
    let rule = SampleRule::new(7, 3).unwrap();
    let expected = chosen(7, 3);
    assert!(expected.len() > 60);
    let (report, kept, events) = run(rule, 1 << 20, false, &[]);
    assert!(payloads(&kept) == expected);
    assert!(
        kept.iter()
            .all(|(source, port, arrival, _)| { !source.ip().is_unspecified() && *port > 0 && *arrival > 0 })
    );
    let value = |name| report.state.stage_value(PACKET_TAP, name);
    assert_eq!(value("offered"), Some(expected.len() as u64));
    assert_eq!((value("dropped"), value("held"), value("taken")), (Some(0), Some(0), value("offered")));
    assert_eq!(report.to_json()[PACKET_TAP]["taken"], expected.len());
    assert!(report.to_text().contains(&format!("raw packets   {} chosen for outputs\n", expected.len())));
    for overrides in [
        &["input.threads=2"][..],
        &["input.packets_per_slab=1"],
        &["input.threads=2", "input.packets_per_slab=5"],
    ] {
        let (_, again, events_again) = run(rule, 1 << 20, false, overrides);
        assert!(again == kept && events_again.log() == events.log(), "{overrides:?}");
    }
}

#[test]
fn all_packets_of_a_capture_go_through_a_small_buffer_without_a_loss() {
    // The buffer holds a part of them only: the run waits.
    let (report, kept, events) = run(SampleRule::ALL, 0, false, &["input.packets_per_slab=16"]);
    assert!(payloads(&kept) == chosen(1, 1));
    assert_eq!(report.state.stage_value(PACKET_TAP, "dropped"), Some(0));
    assert!(!events.log().is_empty());
}

#[test]
fn in_calibration_mode_all_packets_are_handed_out_and_no_events_formed() {
    let (report, kept, events) = run(SampleRule::ALL, 1 << 20, true, &[]);
    assert!(payloads(&kept) == chosen(1, 1));
    assert_eq!(events.log().len(), 0);
    assert!(report.is_success(), "{}", report.to_text());
    assert_eq!(report.state.stage_value(PACKET_TAP, "not_formed"), Some(kept.len() as u64));
    assert!(report.to_text().contains("calibration mode"));
}

/// Sends packets when it is told where to.
struct Sender(Vec<Vec<u8>>);

impl LiveObserver for Sender {
    fn ready(&mut self, addresses: &[SocketAddr], _: &str, _: &[String]) {
        let (to, packets) = (addresses[0], std::mem::take(&mut self.0));
        std::thread::spawn(move || {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
            for packet in packets {
                socket.send_to(&packet, to).expect("loopback takes everything");
                std::thread::sleep(Duration::from_micros(200));
            }
        });
    }
    fn status(&mut self, _: &RunState) {}
}

fn live(packets: Vec<Vec<u8>>, memory: usize, is_late: bool, overrides: &[&str]) -> (RunReport, Kept) {
    let mut config = config(overrides);
    config.receive.address = "127.0.0.1:0".parse().expect("an address");
    let tapped = Tapped::new(SampleRule::ALL, memory, is_late);
    let run = LiveRun {
        receivers: open_receivers(&config, false).expect("receivers"),
        record: None,
        monitor: MonitorTap::default(),
        packets: tapped.tap,
        control: RunControl::default(),
        config: &config,
        outputs: vec![tapped.output],
        clock: Arc::new(SystemClock::start()),
        samples: None,
        health: Default::default(),
        stop: &AtomicBool::new(false),
        limits: SessionLimits {
            ends_after: Some(Duration::from_secs(60)),
            idle_limit: Some(Duration::from_millis(600)),
            ..SessionLimits::default()
        },
    };
    let report = run.run(&mut Sender(packets)).expect("a run");
    let kept = std::mem::take(&mut *tapped.kept.lock().expect("nobody has panicked"));
    (report, kept)
}

#[test]
fn live_packets_are_handed_out_in_their_order_with_one_thread_and_with_two() {
    for threads in ["input.threads=1", "input.threads=2"] {
        let (report, kept) = live(chosen(1, 1), 1 << 22, false, &[threads, "receive.method=\"socket\""]);
        assert!(payloads(&kept) == chosen(1, 1), "{threads}: {} came", kept.len());
        assert_eq!(report.state.stage_value(PACKET_TAP, "dropped"), Some(0), "{threads}");
    }
}

#[test]
fn a_live_run_does_not_wait_for_an_output_that_is_behind_and_counts_what_it_misses() {
    // Sixteen slabs with eight of these packets each.
    let packets = vec![vec![0x2A; 8000]; 400];
    let (report, kept) = live(packets, 0, true, &["input.threads=1", "receive.method=\"socket\""]);
    let value = |name| report.state.stage_value(PACKET_TAP, name).unwrap_or(0);
    assert_eq!((value("offered"), value("held")), (400, 0));
    assert_eq!((value("taken"), value("dropped")), (kept.len() as u64, 400 - kept.len() as u64));
    assert!((16..=16 * 8).contains(&kept.len()), "{} kept", kept.len());
    // The detector has got all of them.
    assert_eq!(report.state.ledger.handed_over(), 400);
    assert!(report.state.hints.iter().any(|hint| hint.contains("raw packets that an output had asked for")));
}
