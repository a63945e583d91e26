//! Sampled channels: the reference's packets, faults, batches and losses (EFU formats of 2018, section 5).

use evforge_core::detector::{Detector, form, form_rest};
use evforge_core::event::{Event, EventBatch};
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_detect::adc_readout::settings::{AveragingSettings, TimeLocation};
use evforge_detect::adc_readout::{AdcReadout, AdcReadoutSettings, MeanValue, SampleSink};
use evforge_detect::settings::SortingSettings;
use evforge_testkit::shared_file;
use evforge_wire::adc_readout::{AdcEncoder, Header, RawTime};

const REFERENCE: AdcReadoutSettings = AdcReadoutSettings {
    channels: 4,
    ignore_oversampling: true,
    averaging: Some(AveragingSettings { samples: 10, location: TimeLocation::Middle }),
    pulse_channel: None,
    sorting: SortingSettings::PULSED,
};

#[derive(Debug, Default)]
struct Keep(Vec<MeanValue>);

impl SampleSink for Keep {
    fn take(&mut self, value: MeanValue) {
        self.0.push(value);
    }
}

/// Events of packets with batches of `batch_events`, and the detector afterwards.
fn run(
    settings: &AdcReadoutSettings,
    packets: &[Vec<u8>],
    batch_events: usize,
) -> (Vec<Event>, AdcReadout<Keep>) {
    let mut detector = AdcReadout::with_sink(settings, Keep::default()).expect("sound settings");
    let mut slab = PacketSlab::new(packets.len(), packets.iter().map(Vec::len).sum());
    for packet in packets {
        assert!(slab.push(packet, packet.len(), PacketOrigin::default()));
    }
    detector.set_monitoring(true);
    let mut batch = EventBatch::new(batch_events);
    let mut events = Vec::new();
    let mut keep = |batch: &mut EventBatch| {
        events.extend(batch.iter());
        batch.clear();
    };
    form(&mut detector, &slab.batch(), &mut batch, &mut keep);
    form_rest(&mut detector, &mut batch, &mut keep);
    assert_eq!(detector.ledger().unaccounted(), 0);
    (events, detector)
}

fn value(detector: &AdcReadout<Keep>, name: &str) -> u64 {
    detector.ledger().counters.value(name).unwrap_or_else(|| panic!("no counter {name}"))
}

/// Section 5: seconds and fraction, and so many samples later, as the reference computes it.
fn nanoseconds(seconds: u64, fraction: u64) -> u64 {
    let (seconds, fraction) = (seconds + fraction / 44_026_250, fraction % 44_026_250);
    seconds * 1_000_000_000 + (fraction as f64 / 44_026_250.0 * 1e9).round() as u64
}

#[test]
fn section_5_the_reference_s_packets() {
    let test = "section_5_the_reference_s_packets";
    let read = |name: &str| shared_file(test, &format!("vectors/adc_readout/{name}.bin"));
    let (Some(second), Some(idle), Some(template)) =
        (read("test_packet_2"), read("test_packet_idle"), read("integration_template"))
    else {
        return;
    };
    let (events, detector) = run(&REFERENCE, &[second.clone(), idle.clone(), template.clone()], 2);
    // The samples of the second packet count up from 0, so the last of its 4576 is the peak.
    let first = Event { time_ns: nanoseconds(0x8000_0000, 19 + 4575), pixel_id: 2 };
    assert_eq!((events[0], events.len()), (first, 2));
    let samples: Vec<u16> =
        template[26..26 + 2 * 4468].chunks(2).map(|two| u16::from_be_bytes([two[0], two[1]])).collect();
    let largest = *samples.iter().max().expect("samples");
    let place = samples.iter().position(|&sample| sample == largest).expect("the largest");
    let seconds = u64::from(u32::from_be_bytes([template[18], template[19], template[20], template[21]]));
    let fraction = u64::from(u32::from_be_bytes([template[22], template[23], template[24], template[25]]));
    assert_eq!(events[1], Event { time_ns: nanoseconds(seconds, fraction + place as u64), pixel_id: 1 });
    let counts = ["readouts", "samples", "heartbeats", "averages"].map(|name| value(&detector, name));
    assert_eq!(counts, [2, 4576 + 4468, 1, 457 + 446]);
    // Ten samples, each a sum of four: 0 + 1 + ... + 9 = 45, divided by 40; from three ticks before the time of
    // the run, half of 39 ticks later.
    let mean = MeanValue { channel: 1, time_ns: nanoseconds(0x8000_0000, 19 - 3 + 20), value: 1 };
    assert_eq!(detector.sink().0[0], mean);
    assert_eq!(detector.monitor().map(|monitor| monitor.readouts().to_vec()), Some(vec![1, 1, 0, 0]));
    // With the oversampling of 4 counted, the peak lies later.
    let (events, _) = run(&AdcReadoutSettings { ignore_oversampling: false, ..REFERENCE }, &[second], 1);
    assert_eq!(events[0].time_ns, nanoseconds(0x8000_0000, 19 + 4 * 4575));
}

/// A packet with runs of these channels, numbered.
fn packet(global_count: u16, channels: &[u16]) -> Vec<u8> {
    let mut encoder = AdcEncoder::default();
    encoder.begin(&Header { global_count, ..Header::default() });
    for &channel in channels {
        let time = RawTime { seconds: 1, fraction: u32::from(global_count) };
        assert!(encoder.push_module(channel, 1, time, &[1, 5, 2]));
    }
    encoder.finish(3);
    encoder.packet().to_vec()
}

#[test]
fn faults_are_counted_by_reason_and_cost_no_more_than_they_must() {
    let mut trailer = packet(1, &[0, 1, 2]);
    trailer[10 + 26 + 22] = 0;
    let mut magic = packet(2, &[0, 1, 2]);
    magic[10 + 26] = 0;
    let mut end = packet(3, &[0, 1, 7]);
    let last = end.len() - 1;
    end[last] = 0;
    let mut header = packet(4, &[0]);
    header[2] = 0;
    let mut encoder = AdcEncoder::default();
    encoder.begin(&Header { global_count: 5, ..Header::default() });
    assert!(encoder.push_module(0, 1, RawTime::default(), &[]));
    encoder.finish(0);
    let (events, detector) = run(&REFERENCE, &[trailer, magic, end, header, encoder.packet().to_vec()], 1);
    assert_eq!(events.iter().map(|event| event.pixel_id).collect::<Vec<_>>(), [1, 3, 1, 1, 2]);
    for (name, count) in [
        ("wrong_run_trailer", 1),
        ("no_run", 1),
        ("packets_wrong_trailer", 1),
        ("packets_unknown_type", 1),
        ("unknown_channel", 1),
        ("empty_run", 1),
        ("packets_formed_from", 4),
        ("readouts", 9),
    ] {
        assert_eq!(value(&detector, name), count, "{name}");
    }
}

#[test]
fn lost_packets_are_told_by_the_global_count_through_its_wrap() {
    let packets: Vec<_> = [65_533, 65_534, 1, 2, 2].map(|number| packet(number, &[0])).into();
    let (events, detector) = run(&REFERENCE, &packets, 10);
    let packets = detector.ledger().packets();
    assert_eq!((packets.sent, packets.lost, packets.duplicated, events.len()), (Some(6), 2, 1, 4));
}

#[test]
fn events_and_means_do_not_depend_on_the_batches() {
    let packets: Vec<_> = (0..40).map(|number| packet(number, &[0, 1, 2, 3])).collect();
    let (events, detector) = run(&REFERENCE, &packets, 1000);
    assert_eq!((events.len(), detector.sink().0.len()), (160, 48));
    for batch_events in [1, 3, 160] {
        let (again, other) = run(&REFERENCE, &packets, batch_events);
        assert!(again == events && other.sink().0 == detector.sink().0, "batches of {batch_events}");
    }
}

#[test]
fn impossible_settings_are_refused() {
    let refused = |settings| AdcReadout::new(&settings).map_err(|error| error.key).err();
    assert_eq!(refused(AdcReadoutSettings { channels: 0, ..REFERENCE }).as_deref(), Some("channels"));
    let averaging = Some(AveragingSettings { samples: 0, location: TimeLocation::End });
    assert_eq!(refused(AdcReadoutSettings { averaging, ..REFERENCE }).as_deref(), Some("averaging.samples"));
}
