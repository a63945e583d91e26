//! Faults on the network: what a simulated detector does wrong on purpose, over real UDP, is what a live run reports.

use crate::common::{LiveProgram, PROGRAM, text, workspace};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// In the middle of the run, so that no source begins or ends with a fault: what is lost there cannot be seen.
const PULSES: &str = "pulses=4+5+6+7+8+9+10+11+12+13+14+15";
const FAULTS: [&str; 6] = [
    "lose:probability=0.04",
    "repeat:probability=0.04,times=2",
    "reorder:probability=0.04,behind=2",
    "delay:probability=0.02,by=5ms",
    "burst:probability=0.01,count=10",
    "pause:probability=0.01,by=10ms",
];

fn simulate(detector: &str, neutrons: &str, further: &[&str]) {
    let mut command = Command::new(PROGRAM);
    command.args([
        "simulate",
        detector,
        "--pulses",
        "20",
        "--neutrons",
        neutrons,
        "--seed",
        "8",
        "--start",
        "fixed",
    ]);
    for fault in FAULTS {
        command.args(["--fault", &format!("{fault},{PULSES}")]);
    }
    let output = command.args(further).output().expect("the program starts");
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

/// For each source: packets lost, copies, and packets that later ones have passed.
fn injected(log: &Path) -> BTreeMap<String, [u64; 3]> {
    let log = std::fs::read_to_string(log).expect("a log of faults");
    let mut lines = log.lines();
    let header = "kind,pulse,source,packet,packet_of_source,number,bytes,bit,count,time_ps,passed_by";
    assert_eq!(lines.next(), Some(header));
    let mut sources = BTreeMap::<String, [u64; 3]>::new();
    for line in lines {
        let [kind_and_pulse, source, cells] =
            line.splitn(3, '"').collect::<Vec<_>>().try_into().expect("a name in quotes");
        let cells: Vec<&str> = cells.split(',').skip(1).collect();
        let number = |column: usize| cells[column].parse::<u64>().unwrap_or(0);
        let [lost, copies, passed] = sources.entry(source.to_owned()).or_default();
        match kind_and_pulse.split(',').next().expect("a kind") {
            "lose" => *lost += 1,
            "repeat" => *copies += number(5),
            "reorder" | "delay" => *passed += u64::from(number(7) > 0),
            _ => {}
        }
    }
    sources
}

#[test]
fn faults_over_udp_are_reported_as_exactly_those() {
    for (detector, configuration, neutrons) in
        [("freia", "freia", "30kHz"), ("gdgem", "gdgem-srs", "20kHz"), ("trex", "trex", "300kHz")]
    {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let config = workspace().join(format!("configs/{configuration}.toml"));
        let live = LiveProgram::start(&config, folder.path(), &["--set", "input.threads=2"]);
        simulate(detector, neutrons, &["--to", &live.address, "--fault-log", &file("faults.csv")]);
        let (stream, events) = live.finish();

        let expected = injected(&folder.path().join("faults.csv"));
        let all: u64 = expected.values().flatten().sum();
        assert!(all > 15, "{detector}: {expected:?}");
        let count = |packets: &Value, name: &str| packets[name].as_u64().expect("a number");
        for source in stream["sources"].as_array().expect("sources") {
            let (name, packets) = (source["name"].as_str().expect("a name"), &source["packets"]);
            let found = ["lost", "duplicated", "reordered"].map(|figure| count(packets, figure));
            assert_eq!(found, expected.get(name).copied().unwrap_or_default(), "{detector}, {name}");
            assert_eq!(count(packets, "restarts"), 0, "{detector}, {name}");
        }
        // Nothing was lost on this host: the sender has not sent them.
        let lost: u64 = expected.values().map(|[lost, ..]| lost).sum();
        assert_eq!(stream["packets"]["unlocated"].as_u64(), Some(lost), "{detector}: {stream:#}");
        assert_eq!(stream["unaccounted"].as_u64(), Some(0), "{detector}");

        // The same packets as a capture give the same events.
        simulate(detector, neutrons, &["--output", &file("faulty.pcapng")]);
        let config = config.to_str().unwrap();
        let output = Command::new(PROGRAM)
            .args(["run", "--quiet", "--config", config, "--input", &file("faulty.pcapng")])
            .args(["--events", &file("capture.csv")])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(events == std::fs::read_to_string(file("capture.csv")).unwrap(), "{detector}: other events");
        assert!(events.lines().count() > 10_000, "{detector}");
    }
}
