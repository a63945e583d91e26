//! A node over loopback: packets in, trains out.

use evforge_core::counter::{CounterSet, Law};
use evforge_net::live_receiver::{LiveReceiver, ReceiveMethod, ReceivePlan};
use evforge_net::session::SessionLimits;
use evforge_net::socket::ReceiverOptions;
use evforge_train::assembly::{AssemblySettings, IncompleteCause, IncompletePolicy, TrainOutcome};
use evforge_train::file::{TrainFileOptions, TrainFiles};
use evforge_train::generate::{CounterPattern, ImageContent, TrainSource, TrainStructure};
use evforge_train::node::{
    ModulePort, NodeSettings, NodeTrain, ReaderStep, ReceivedTrains, SinkError, SourcesBy, TrainSink, run,
};
use evforge_train::sinks::{ContentSink, FileSink, NewestSink, ProcessingPlan, ProcessingSink, write_sums};
use evforge_wire::train::TrainDetector;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const IMAGES: u32 = 2;

/// A socket for each of so many modules.
fn receivers(modules: usize) -> Vec<LiveReceiver> {
    let open = || {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let socket =
            ReceiverOptions { receive_buffer: 4 << 20, slot: 65_536, ..ReceiverOptions::new(address) };
        let plan = ReceivePlan {
            method: ReceiveMethod::Socket,
            socket,
            xdp: None,
            ports: Vec::new(),
            sockets_per_port: 1,
        };
        LiveReceiver::open(&plan).expect("a socket")
    };
    (0..modules).flat_map(|_| open()).collect()
}

/// For a node that would never end.
fn ends_after() -> SessionLimits {
    SessionLimits { ends_after: Some(Duration::from_secs(30)), ..SessionLimits::default() }
}

/// LPD modules at these receivers, with buffers for whatever a test sends: the worker may be as slow as the machine is busy. The node
/// ends by itself when nothing comes.
fn settings(receivers: &[LiveReceiver]) -> NodeSettings {
    let ports = receivers.iter().flat_map(LiveReceiver::local_addresses).map(|address| address.port());
    let modules = ports.zip(0..).map(|(port, module)| ModulePort { port, module }).collect();
    NodeSettings {
        limits: SessionLimits { idle_limit: Some(Duration::from_millis(1500)), ..ends_after() },
        ..NodeSettings::new(
            AssemblySettings { buffers: 16, ..AssemblySettings::new(TrainDetector::Lpd, IMAGES) },
            modules,
        )
    }
}

fn source() -> TrainSource {
    let structure = TrainStructure { first_train: 1000, ..TrainStructure::of(TrainDetector::Lpd, IMAGES) };
    TrainSource::new(structure, ImageContent::Counter).expect("a source")
}

/// Sends trains to each port, without some packets of theirs (train, packet); slowly enough for any machine.
fn send(ports: &[u16], trains: std::ops::Range<u64>, without: &[(u64, u32)]) {
    let (socket, source) = (UdpSocket::bind("127.0.0.1:0").expect("a socket"), source());
    let mut memory = vec![0; source.largest_datagram()];
    for train in trains {
        for packet in (0..source.packets()).filter(|&packet| !without.contains(&(train, packet))) {
            let bytes = source.write_packet(train, packet, &mut memory).expect("a packet");
            for &port in ports {
                socket.send_to(&memory[..bytes], ("127.0.0.1", port)).expect("it is sent");
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a node while trains are sent to it.
fn received(
    settings: &NodeSettings,
    receivers: Vec<LiveReceiver>,
    sinks: &mut [Box<dyn TrainSink>],
    send: impl FnOnce(&[u16]) + Send,
) -> ReceivedTrains {
    let stop = AtomicBool::new(false);
    let ports: Vec<u16> = settings.modules.iter().map(|module| module.port).collect();
    let received = std::thread::scope(|scope| {
        scope.spawn(|| send(&ports));
        run(settings, receivers, sinks, &stop, |_| {}).expect("it runs")
    });
    for law in [Law::Packets, Law::Trains] {
        assert_eq!(received.assembly().imbalance(law), 0, "{law:?}: {received:?}");
        assert_eq!(received.counters.imbalance(law), 0, "{law:?}: {received:?}");
    }
    received
}

#[test]
fn trains_of_two_modules_come_whole_are_right_and_are_in_files() {
    let _alone = crate::alone();
    let receivers = receivers(2);
    let settings = settings(&receivers);
    let folder = tempfile::tempdir().expect("a folder");
    let content = ContentSink::default();
    let found = content.found();
    let options = TrainFileOptions::new(folder.path(), TrainDetector::Lpd, 7);
    let files = FileSink::new(TrainFiles::create(options).expect("files"));
    let in_files = files.counters();
    let mut sinks: [Box<dyn TrainSink>; 2] = [Box::new(content), Box::new(files)];
    let received = received(&settings, receivers, &mut sinks, |ports| send(ports, 0..5, &[]));
    let assembly = received.assembly();
    assert_eq!(
        (assembly.trains_good, assembly.packets_missing, received.counters.trains_worked_on),
        (10, 0, 10)
    );
    let found = found.lock().expect("nobody has panicked").clone();
    assert_eq!((found.counters.images_right, found.counters.images_received, found.wrong.len()), (20, 20, 0));
    let in_files = *in_files.lock().expect("nobody has panicked");
    assert_eq!((in_files.trains_committed, in_files.images_taken, in_files.files_finished), (10, 20, 2));
    for module in 0..2 {
        let path = folder.path().join(format!("r0007/RAW-R0007-LPD0{module}-S00000.h5"));
        assert!(path.exists(), "{}", path.display());
    }
    let profile = received.threads[0].profile.expect("a profile");
    assert!(profile.time(ReaderStep::Receiving) > Duration::ZERO && profile.batches > 0, "{profile:?}");
}

/// The sum of the 16-bit values of an image of the pattern.
fn sum_of(train: u64, image: u64) -> f64 {
    let mut bytes = vec![0; TrainDetector::Lpd.image_bytes()];
    CounterPattern::new(train, image).fill(0, &mut bytes);
    bytes.as_chunks().0.iter().map(|value| f64::from(u16::from_le_bytes(*value))).sum()
}

#[test]
fn images_that_steps_reject_are_in_no_file_and_the_others_are_added_up() {
    let _alone = crate::alone();
    let receivers = receivers(1);
    let settings = settings(&receivers);
    let folder = tempfile::tempdir().expect("a folder");
    // Images have pulses 0 and 1: one goes by its pulse, and one by its sum, which is in the middle of all.
    let limit = sum_of(1001, 1);
    let plan = ProcessingPlan {
        veto: vec![0],
        region: Some((0..256, 0..256, [f64::NEG_INFINITY, limit])),
        pulses: Some(2),
        ..ProcessingPlan::default()
    };
    let kept: Vec<u64> = (1000..1003).filter(|&train| sum_of(train, 1) <= limit).collect();
    let processing = ProcessingSink::new(plan, TrainDetector::Lpd).expect("steps");
    let processed = processing.processed();
    let options = TrainFileOptions::new(folder.path(), TrainDetector::Lpd, 1);
    let files = FileSink::new(TrainFiles::create(options).expect("files"));
    let in_files = files.counters();
    let mut sinks: [Box<dyn TrainSink>; 2] = [Box::new(processing), Box::new(files)];
    received(&settings, receivers, &mut sinks, |ports| send(ports, 0..3, &[]));
    let processed = processed.lock().expect("nobody has panicked").clone();
    let (counters, wanted) = (processed.counters, kept.len() as u64);
    assert_eq!(counters.imbalance(Law::Images), 0, "{counters:?}");
    assert_eq!((counters.images_in, counters.images_vetoed, counters.images_kept), (6, 3, wanted));
    assert_eq!(counters.images_above_limits, 3 - wanted);
    let in_files = *in_files.lock().expect("nobody has panicked");
    assert_eq!(
        (in_files.images_taken, in_files.images_rejected, in_files.trains_committed),
        (wanted, 6 - wanted, 3)
    );
    let path = folder.path().join("sums.h5");
    write_sums(&path, TrainDetector::Lpd, &processed.sums).expect("it is written");
    let file = hdf5_metno::File::open(&path).expect("a file");
    let sum: Vec<f64> = file.dataset("module00/sum").expect("a dataset").read_raw().expect("its values");
    let expected: f64 = kept.iter().map(|&train| sum_of(train, 1)).sum();
    assert_eq!((sum.len(), sum.iter().sum::<f64>()), (65_536, expected));
    let pulses: Vec<u64> =
        file.dataset("module00/pulse/images").expect("a dataset").read_raw().expect("its values");
    assert_eq!(pulses, [0, wanted]);
    assert!(write_sums(&path, TrainDetector::Lpd, &processed.sums).is_err(), "no file is written over");
}

#[test]
fn a_train_with_a_hole_is_reported_and_harms_no_other() {
    let _alone = crate::alone();
    let receivers = receivers(1);
    let settings = settings(&receivers);
    let content = ContentSink::default();
    let found = content.found();
    let mut sinks: [Box<dyn TrainSink>; 1] = [Box::new(content)];
    let received =
        received(&settings, receivers, &mut sinks, |ports| send(ports, 0..6, &[(2, 7), (2, 8), (4, 0)]));
    let assembly = received.assembly();
    assert_eq!((assembly.trains_good, assembly.trains_opened, assembly.packets_missing), (4, 6, 3));
    let irregular = &received.threads[0].irregular;
    let known: Vec<_> =
        irregular.iter().map(|report| (report.frame, report.missing, report.has_first)).collect();
    let source = source();
    let frame = |train| source.structure().frame(train);
    assert_eq!(known, [(frame(2), 2, true), (frame(4), 1, false)], "{irregular:?}");
    let is_incomplete = |cause| {
        matches!(cause, TrainOutcome::Incomplete(IncompleteCause::TimeOut | IncompleteCause::Superseded))
    };
    assert!(irregular.iter().all(|report| is_incomplete(report.outcome)), "{irregular:?}");
    assert_eq!(found.lock().expect("nobody has panicked").counters.images_right, 8);
}

#[test]
fn two_senders_at_one_port_are_told_apart_if_that_is_asked_for() {
    let _alone = crate::alone();
    let receivers = receivers(1);
    let settings = settings(&receivers);
    let assembly = settings.assembly.with_sources(2);
    let settings = NodeSettings { assembly, sources_by: SourcesBy::Sender, ..settings };
    let received = received(&settings, receivers, &mut [], |ports| {
        std::thread::scope(|scope| {
            scope.spawn(|| send(ports, 0..4, &[]));
            scope.spawn(|| send(ports, 0..4, &[]));
        });
    });
    let assembly = received.assembly();
    assert_eq!((assembly.trains_good, assembly.sources_known, assembly.packets_repeated), (8, 2, 0));
}

/// Takes its time for each train, or fails at one.
struct Slow {
    pause: Duration,
    fails_at: Option<u64>,
    taken: u64,
}

impl TrainSink for Slow {
    fn take(&mut self, _train: &mut NodeTrain) -> Result<(), SinkError> {
        std::thread::sleep(self.pause);
        if self.fails_at == Some(self.taken) {
            return Err(SinkError { sink: "a test", problem: "as asked".to_owned() });
        }
        self.taken += 1;
        Ok(())
    }
}

#[test]
fn a_sink_that_fails_ends_the_node_and_trains_behind_it_are_counted() {
    let _alone = crate::alone();
    let receivers = receivers(1);
    let settings = NodeSettings { limits: ends_after(), ..settings(&receivers) };
    let mut sinks: [Box<dyn TrainSink>; 1] =
        [Box::new(Slow { pause: Duration::from_millis(20), fails_at: Some(2), taken: 0 })];
    let received = received(&settings, receivers, &mut sinks, |ports| send(ports, 0..12, &[]));
    assert_eq!(received.failure.as_ref().map(|failure| failure.problem.as_str()), Some("as asked"));
    assert_eq!(received.counters.trains_worked_on, 2);
    assert!(received.counters.trains_not_taken >= 1, "{:?}", received.counters);
}

#[test]
fn where_the_worker_is_behind_trains_without_a_buffer_are_counted_and_memory_does_not_grow() {
    let _alone = crate::alone();
    let receivers = receivers(1);
    let settings = settings(&receivers);
    let settings =
        NodeSettings { assembly: AssemblySettings { buffers: 4, ..settings.assembly }, ..settings };
    let mut sinks: [Box<dyn TrainSink>; 1] =
        [Box::new(Slow { pause: Duration::from_millis(150), fails_at: None, taken: 0 })];
    let received = received(&settings, receivers, &mut sinks, |ports| send(ports, 0..30, &[]));
    let assembly = received.assembly();
    assert!(assembly.trains_without_buffer > 0 && assembly.packets_without_buffer > 0, "{assembly:?}");
    assert_eq!(received.counters.trains_worked_on, assembly.trains_good);
    assert_eq!(assembly.trains_good + assembly.trains_without_buffer, 30, "{assembly:?}");
}

#[test]
fn the_newest_train_is_summed_without_rejected_images_and_never_an_incomplete_one() {
    let receivers = receivers(1);
    let mut settings = settings(&receivers);
    settings.assembly.incomplete = IncompletePolicy::Mark;
    // The first image is of pulse 0.
    let plan = ProcessingPlan { veto: vec![0], ..ProcessingPlan::default() };
    let processing = ProcessingSink::new(plan, TrainDetector::Lpd).expect("steps");
    let newest = NewestSink::new(TrainDetector::Lpd, 0, 1);
    let seen = newest.newest();
    let elsewhere = NewestSink::new(TrainDetector::Lpd, 7, 2);
    let unseen = elsewhere.newest();
    let mut sinks: [Box<dyn TrainSink>; 3] = [Box::new(processing), Box::new(newest), Box::new(elsewhere)];
    received(&settings, receivers, &mut sinks, |ports| {
        send(ports, 0..1, &[]);
        // Time for another picture; of the last train a packet is missing.
        std::thread::sleep(Duration::from_millis(600));
        send(ports, 1..2, &[(1, 2)]);
    });
    let [summary] = &seen.take().collect::<Vec<_>>()[..] else { panic!("one module") };
    assert_eq!((summary.module(), summary.train()), (0, 1000));
    let mut bytes = vec![0; TrainDetector::Lpd.image_bytes()];
    CounterPattern::new(1000, 1).fill(0, &mut bytes);
    let values: Vec<u64> =
        bytes.as_chunks().0.iter().map(|value| u16::from_le_bytes(*value).into()).collect();
    assert_eq!(summary.sums(), values);
    let [pulse] = summary.pulses() else { panic!("one image is left") };
    assert_eq!((pulse.pulse, pulse.sum), (1, values.iter().sum()));
    assert!(summary.means().zip(&values).all(|(mean, value)| mean == *value as f64));
    assert_eq!(seen.take().count(), 0, "it was taken");
    let counters = seen.counters();
    assert_eq!((counters.trains_offered, counters.trains_summed, counters.trains_not_whole), (2, 1, 1));
    assert_eq!(counters.imbalance(Law::Outputs), 0);
    assert_eq!((unseen.counters().trains_of_no_panel, unseen.take().count()), (2, 0));
}
