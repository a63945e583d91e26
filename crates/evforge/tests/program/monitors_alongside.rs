//! AMOR: a detector and its beam monitors on one port are one run, one report and one NeXus file.
#![allow(clippy::unwrap_used)]

use crate::common::{evforge, python, text, workspace};
use evforge_core::packet::{Packet, PacketOrigin, PacketSlab};
use evforge_net::capture::{CaptureReader, Fill, PktsWriter};
use evforge_wire::ess::beam_monitor::MonitorKind;
use evforge_wire::ess::{EssHeader, EssPacket, HeaderRules, MonitorFields, detector_type};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Neutrons of the monitor in each pulse.
const NEUTRONS: u32 = 3;

/// What h5py finds: events of the detector and of the monitor, and the histogram of the monitor.
const READ: &str = "\
import h5py, json, sys
f = h5py.File(sys.argv[1])
e = f['entry']
d = e['instrument/detector']
m = e['monitor_1']
events = [g for g in d.values() if g.attrs.get('NX_class') == 'NXevent_data'][0]
own = e['monitor_1_events']
print(json.dumps({
    'classes': [d.attrs['NX_class'], m.attrs['NX_class']],
    'detector': [len(events['event_id']), int(events['event_id'][:].min()), int(events['event_id'][:].max())],
    'monitor': [len(own['event_id']), int(own['event_id'][:].min()), int(own['event_id'][:].max())],
    'histogram': int(m['data'][:].sum()) + int(m['above_range'][()]),
    'pulses': len(events['event_time_zero']) == len(own['event_time_zero']),
}))
";

/// After each packet of the detector that begins a pulse, one of the monitor.
fn add_monitor(from: &Path, to: &Path) -> u64 {
    let rules = HeaderRules::strict(detector_type::FREIA, u64::MAX);
    let mut reader = CaptureReader::open(from).unwrap();
    let mut writer = PktsWriter::create(to).unwrap();
    let mut slab = PacketSlab::new(256, 4 << 20);
    let (mut pulses, mut latest) = (0, None);
    loop {
        slab.clear();
        let fill = reader.fill(&mut slab).unwrap();
        for packet in slab.batch().iter() {
            writer.write(&packet).unwrap();
            let EssPacket { pulse, previous_pulse, .. } = EssPacket::parse(packet.bytes, &rules).unwrap();
            if latest.replace(pulse) == Some(pulse) {
                continue;
            }
            let header = EssHeader {
                version: 1,
                detector_type: detector_type::CBM,
                pulse,
                previous_pulse,
                sequence: pulses,
                ..EssHeader::default()
            };
            let record = |neutron: u32| {
                let mut time = pulse;
                time.ticks = (time.ticks + 1000 * neutron).min(88_052_499);
                let kind = MonitorKind::Event0D.to_byte();
                MonitorFields { fibre: 22, time, kind, ..MonitorFields::default() }.encode()
            };
            let records: Vec<[u8; 20]> = (0..NEUTRONS).map(record).collect();
            let mut bytes = Vec::new();
            header.write_packet(records.as_flattened(), &mut bytes);
            let original_length = bytes.len() as u32;
            writer
                .write(&Packet { bytes: &bytes, original_length, origin: PacketOrigin::default() })
                .unwrap();
            pulses += 1;
        }
        if fill == Fill::End {
            writer.finish().unwrap();
            return u64::from(pulses);
        }
    }
}

#[test]
fn a_detector_and_its_monitors_are_one_run_one_report_and_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let config = workspace().join("configs/amor-ess.toml");
    let (alone, both, nexus) = (place("alone.pkts"), place("both.pkts"), place("both.nxs"));
    let argument = |path: &Path| path.to_str().unwrap().to_owned();
    let config = argument(&config);
    evforge(&["simulate", "--config", &config, "--pulses", "20", "--output", &argument(&alone)]);
    let pulses = add_monitor(&alone, &both);
    assert!(pulses >= 20);

    let run = |input: &Path, more: &[&str]| -> (Value, String) {
        let report = place("report.json");
        let (input, file) = (argument(input), argument(&report));
        let arguments = ["run", "--config", &config, "--input", &input, "--report", &file];
        let output = evforge(&[&arguments[..], more].concat());
        let report: Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
        (report["streams"][0].clone(), text(&output.stderr) + &text(&output.stdout))
    };
    let (without, _) = run(&alone, &[]);
    let (stream, said) = run(&both, &["--nexus", &argument(&nexus)]);
    let neutrons = pulses * u64::from(NEUTRONS);
    let number = |stream: &Value, key: &str| stream[key].as_u64().unwrap();
    assert_eq!(number(&stream, "events"), number(&without, "events") + neutrons);
    assert_eq!(
        (number(&stream, "unaccounted"), &stream["time_source"]["healthy"]),
        (0, &Value::Bool(true)),
        "{said}"
    );
    assert_eq!(stream["beam_monitors"][0]["total"], neutrons);
    assert!(!said.contains("ALARM"), "{said}");
    assert!(said.contains("output queue 0, beam monitors") || said.contains("output queue 0"), "{said}");

    let Some(python) = python("a_detector_and_its_monitors_are_one_run_one_report_and_one_file") else {
        return;
    };
    let output = Command::new(python).args(["-c", READ]).arg(&nexus).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let pixels = 64 * 448;
    assert_eq!(found["classes"], serde_json::json!(["NXdetector", "NXmonitor"]));
    assert_eq!(found["detector"][0], without["events"]);
    assert!(found["detector"][2].as_u64().unwrap() <= pixels);
    assert_eq!(found["monitor"], serde_json::json!([neutrons, pixels + 1, pixels + 1]));
    assert_eq!((&found["histogram"], &found["pulses"]), (&serde_json::json!(neutrons), &Value::Bool(true)));
}
