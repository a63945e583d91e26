//! What people get wrong on the command line and in configurations: each mistake ends with the documented status
//! (docs/exit-status.md) and with a message that names what is wrong and what would be right. None of them changes a file.

use crate::common::{PROGRAM, text, workspace};
use std::collections::BTreeMap;
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::process::Command;

/// A mistake: what is typed behind `evforge`, the exit status, and parts of the message.
type Mistake = (&'static str, i32, &'static [&'static str]);

/// C stands for `--config configs/gdgem-srs.toml`.
const MISTAKES: &[Mistake] = &[
    // The command line itself.
    ("rum", 2, &["unrecognized subcommand 'rum'", "similar subcommand", "'run'"]),
    ("rnu", 2, &["unrecognized subcommand 'rnu'", "did you mean 'run'?"]),
    ("ctl start", 2, &["'start'", "tip: evforge ctl run start"]),
    ("ctl status", 2, &["'status'", "tip: evforge ctl state"]),
    ("kafka list", 2, &["'list'", "tip: evforge kafka topics"]),
    ("kafka browse", 2, &["'browse'", "There are topics, tail, "]),
    ("run C run.pcapng --kafka localhost:no/topic", 1, &["outputs.kafka: brokers: ", "`no` is no port"]),
    ("write --structure notes.txt", 2, &["'--structure'", "tip: evforge write structure.json"]),
    ("run C run.pcapng --nexsu run.nxs", 2, &["'--nexsu'", "similar argument exists: '--nexus'"]),
    ("run run.pcapng", 2, &["required", "--config <FILE>"]),
    ("inspect", 2, &["required", "INPUT"]),
    ("run C run.pcapng cut.pcapng", 2, &["unexpected value 'cut.pcapng'", "[INPUT]"]),
    ("run C run.pcapng --input cut.pcapng", 1, &["2 inputs", "run.pcapng, cut.pcapng", "once for each"]),
    ("run C run.pcapng --record copy.pcapng", 2, &["--record", "cannot be used with"]),
    ("run C run.pcapng --input-kafka raw", 2, &["--input-kafka", "cannot be used with"]),
    ("run C --input-kafka raw --record copy.pcapng", 2, &["--input-kafka", "cannot be used with"]),
    ("run C --input-kafka @localhost", 2, &["`@localhost` names no topic", "freia_samples@localhost:9092"]),
    ("run C --input-kafka raw@localhost:x", 2, &["`x` is no port", "1 to 65535"]),
    ("run C --input-kafka raw --from yesterday", 2, &["`yesterday`", "1200", "2026-11-23T08:00:00Z"]),
    ("run C --follow", 2, &["required", "--input-kafka"]),
    ("run C --input-kafka raw --set kafka.broker=a", 1, &["`broker`", "brokers"]),
    ("run C --input-kafka raw@127.0.0.1:1", 1, &["Kafka", "127.0.0.1:1", "nothing listens"]),
    ("run C --view localhost", 2, &["`localhost` has no port", "localhost:6006"]),
    ("run C --view 8080", 2, &["`8080` is a port without a host", "127.0.0.1:8080"]),
    ("run C --address localhost:6006", 2, &["has a port", "the address alone"]),
    ("replay run.pcapng --to localhost:http", 2, &["`http` is no port", "0 to 65535"]),
    (
        "replay run.pcapng --to no-such-host.invalid:1",
        2,
        &["`no-such-host.invalid` is not known here", "numbers"],
    ),
    ("replay run.pcapng --to 10.0.0.256:6006", 2, &["four numbers up to 255"]),
    ("replay run.pcapng --rate 10", 2, &["found `10`", "500pps", "800Mbit/s"]),
    ("replay run.pcapng --rate 10kpps --unpaced", 2, &["cannot be used with", "--unpaced"]),
    ("run C --for soon", 2, &["found `soon`", "60 (seconds)", "2h"]),
    ("run C --idle 5minutes", 2, &["found `5minutes`", "5min"]),
    ("windows C run.pcapng --silence 2", 2, &["found `2`", "with its unit", "500us"]),
    ("record --port 70000 --output new.pcapng", 2, &["70000", "0..=65535"]),
    ("record --output new.pcapng", 2, &["required", "--port <PORT>"]),
    ("record --port 9000 --output new.pcapng --rotate-size 5", 2, &["found `5`", "12MB"]),
    ("run C --receive dpdk", 2, &["possible values", "socket", "xdp"]),
    ("send --to localhost:9000", 2, &["required", "--rate <RATE>"]),
    ("simulate", 2, &["required", "DETECTOR", "--config <FILE>"]),
    ("simulate gdgem --output new.pcapng --to localhost:6006", 2, &["cannot be used with"]),
    ("score C --events events.csv", 2, &["required", "--truth <FILE>"]),
    ("simulate gdgem", 1, &["give a destination", "--output FILE", "--to HOST:PORT", "--form"]),
    ("run C run.pcapng --rotate-size 1GB", 1, &["--rotate-size", "--record"]),
    // Kafka.
    ("kafka tail", 2, &["required", "<TOPIC>"]),
    ("kafka replay events", 2, &["required", "--to <TOPIC>"]),
    ("kafka aggregate raw", 2, &["required", "--to <TOPIC>"]),
    ("kafka aggregate raw --to raw", 1, &["into itself", "another topic"]),
    ("kafka aggregate raw --to frames --tolerance 1s", 1, &["--tolerance", "1ms at most"]),
    ("kafka tail events --last 5 --offset 3", 2, &["--last", "cannot be used with", "--offset"]),
    ("kafka tail events --schema ev45", 2, &["no schema `ev45`", "ev44"]),
    ("kafka tail events --since soon", 2, &["found `soon`", "5min", "or a date"]),
    ("kafka topics --brokers localhost:http", 2, &["`http` is no port", "1 to 65535"]),
    ("kafka topics --brokers ssl://localhost:9093", 2, &["security.protocol", "localhost:9093"]),
    ("kafka topics --option acks", 2, &["KEY=VALUE", "security.protocol"]),
    ("kafka topics --option linger.mss=5", 1, &["no option `linger.mss`", "did you mean `linger.ms`?"]),
    ("kafka topics --kafka-config notes.txt", 1, &["notes.txt", "KafkaParms"]),
    ("kafka topics --password-file none.txt", 1, &["password_file", "none.txt", "No such file"]),
    ("kafka topics --option ssl.ca.location=none.pem", 1, &["ssl.ca.location", "none.pem", "No such file"]),
    ("kafka topics --brokers no-such-host.invalid", 1, &["no-such-host.invalid:9092", "not known here"]),
    ("kafka topics --brokers 127.0.0.1:1", 1, &["127.0.0.1:1", "nothing listens there", "9092"]),
    ("kafka topics --brokers 127.0.0.1:TCP", 1, &["127.0.0.1:TCP", "nothing is answered", "right port"]),
    ("kafka tail my/topic", 1, &["`my/topic` cannot be the name of a topic", "letters"]),
    ("kafka replay none.nxs --to events", 1, &["none.nxs", "No such file"]),
    ("kafka replay events --to events", 1, &["into itself", "another topic"]),
    ("kafka replay events --to others --speed 0", 2, &["number above 0"]),
    ("kafka replay events --to others --speed 2 --unpaced", 2, &["--speed", "cannot be used with"]),
    ("kafka replay events --to others --source freia", 1, &["--source", "keep their sources"]),
    ("kafka forward none.txt --to logs", 1, &["none.txt", "No such file"]),
    ("kafka test-image --to events --size 64", 2, &["64x64"]),
    ("kafka test-image --to events --size 4x4", 1, &["at least 9 x 11"]),
    // Names.
    ("simulate gdgm --output new.pcapng", 1, &["no detector `gdgm`", "did you mean `gdgem`?"]),
    ("simulate jungfrau --output new.pcapng", 1, &["no detector `jungfrau`", "Known are gdgem, "]),
    ("demo --detector fria --output new", 1, &["no detector `fria`", "did you mean `freia`?"]),
    ("accuracy --instruments FREYA", 1, &["no instrument `FREYA`", "did you mean `FREIA`?"]),
    (
        "simulate --instrument SKADY --output new.pcapng",
        1,
        &["no instrument `SKADY`", "did you mean `SKADI`?"],
    ),
    (
        "run C --interface no-such-if --receive xdp",
        1,
        &["no network interface \"no-such-if\"", "ip -brief link"],
    ),
    ("--user nobody-of-this-name run C run.pcapng", 1, &["there is no user \"nobody-of-this-name\""]),
    // Configurations.
    ("run --config none.toml run.pcapng", 1, &["none.toml cannot be read", "configs/"]),
    ("run --config typo.toml --check", 1, &["typo.toml:", "`sortin`", "did you mean `sorting`?"]),
    ("run --config unit.toml --check", 1, &["unit.toml:", "found `500`", "with its unit"]),
    ("run --config toml.toml --check", 1, &["toml.toml:"]),
    ("run --config nothing.toml --check", 1, &["nothing.toml", "[gdgem]", "[sonde]"]),
    ("run --config run.pcapng --check", 1, &["run.pcapng", "configs/"]),
    ("run C --set gdgem.sorting.window --check", 1, &["expected key=value", "sorting.window=1ms"]),
    ("run C --set gdgem.sortin.window=1ms --check", 1, &["--set gdgem.sortin", "did you mean `sorting`?"]),
    ("run C --set gdgem.sorting.window=500 --check", 1, &["found `500`", "with its unit"]),
    ("run C --set gdgem.geometry.nx=-4 --check", 1, &["nx=-4", "a whole number from 0 to 4294967295"]),
    ("run --config negative.toml --check", 1, &["negative.toml:", "`-4`", "from 0 to 4294967295"]),
    ("run C --set gdgem.readout=vmm3b --check", 1, &["`vmm3b`", "did you mean `vmm3"]),
    ("run C --set input.threads=3 --check", 1, &["input.threads", "must be 1 or 2"]),
    ("run C --set receive.address=localhost --check", 1, &["`localhost` has no port", "localhost:6006"]),
    ("run C --set outputs.nexuss.file=new.nxs --check", 1, &["`nexuss`", "did you mean `nexus`?"]),
    ("run C --set outputs.csv.fil=new.csv --check", 1, &["`fil`", "did you mean `file`?"]),
    // Inputs.
    ("run C none.pcapng", 1, &["none.pcapng", "No such file"]),
    ("run C configs", 1, &["configs is a directory", "Name a file in it"]),
    ("run C notes.txt", 1, &["notes.txt", "pcapng"]),
    ("run C cut.pcapng", 3, &["INPUT FAILED", "truncated"]),
    ("inspect empty.pcapng", 4, &["no packets"]),
    (
        "run --config configs/freia.toml run.pcapng",
        4,
        &["does not belong to the configuration freia", "configs/gdgem-srs.toml"],
    ),
    ("run C run.pcapng --port 7", 4, &["port 6006"]),
    ("write --recover notes.txt", 1, &["notes.txt"]),
    ("view notes.txt", 1, &["notes.txt is not an HDF5 file"]),
    ("score C --truth truth.csv --events run.pcapng", 1, &["run.pcapng"]),
    // Outputs.
    ("run C run.pcapng --events notes.txt", 1, &["notes.txt exists", "--overwrite"]),
    (
        "run C run.pcapng --events run.pcapng --overwrite",
        1,
        &["is the file that INPUT reads", "another name"],
    ),
    ("run C run.pcapng --events new.csv --report new.csv", 1, &["--events writes, too", "another name"]),
    ("run C run.pcapng --events no-such-folder/new.csv", 1, &["no-such-folder", "does the folder exist"]),
    ("run C run.pcapng --nexus no-such-folder/new.nxs", 1, &["no-such-folder", "does the folder exist"]),
    ("run C run.pcapng --nexus -", 1, &["not a plain file", "run.nxs"]),
    ("record --port 0 --output -", 1, &["cannot go to standard output", "name a file"]),
    ("record --port 0 --output new.pkts", 1, &["written as pcapng", "run.pcapng"]),
    ("dump --config configs/multiblade.toml run.pcapng --output -", 1, &["cannot go to standard output"]),
    // This host.
    ("run C --address 203.0.113.1 --port 0 --for 1", 1, &["203.0.113.1", "ip -brief address"]),
    ("run C --port 0 --view 127.0.0.1:TCP --for 1", 1, &["127.0.0.1:TCP", "another program", "ss -ltnp"]),
    ("run C --address 127.0.0.1 --port UDP --for 1", 1, &["another program", "ss -ulpn"]),
];

/// The files that the mistakes are made with.
fn prepare(folder: &Path) {
    let put = |name: &str, content: &[u8]| std::fs::write(folder.join(name), content).expect("a file");
    std::os::unix::fs::symlink(
        workspace().join("configs").canonicalize().expect("configs"),
        folder.join("configs"),
    )
    .expect("a link");
    let simulate = "simulate gdgem --pulses 3 --start fixed --output run.pcapng --truth truth.csv";
    assert!(evforge(folder, simulate).0 == Some(0), "the capture cannot be simulated");
    let capture = std::fs::read(folder.join("run.pcapng")).expect("a capture");
    put("cut.pcapng", &capture[..capture.len() - 1000]);
    // A section header and nothing else.
    let header: [u32; 7] = [0x0A0D_0D0A, 28, 0x1A2B_3C4D, 1, u32::MAX, u32::MAX, 28];
    put("empty.pcapng", &header.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>());
    put("notes.txt", b"what I wanted to measure tonight\n");
    let config =
        std::fs::read_to_string(workspace().join("configs/gdgem-srs.toml")).expect("a configuration");
    let changed = |from: &str, to: &str| {
        assert!(config.contains(from), "the shipped configuration has no {from}");
        config.replacen(from, to, 1)
    };
    put("typo.toml", changed("[gdgem.sorting]", "[gdgem.sortin]").as_bytes());
    put("unit.toml", changed("\"500us\"", "\"500\"").as_bytes());
    put("toml.toml", changed("[gdgem.sorting]", "[gdgem.sorting").as_bytes());
    put("negative.toml", changed("nx = 128", "nx = -4").as_bytes());
    put("nothing.toml", b"name = \"nothing\"\n");
}

fn evforge(folder: &Path, typed: &str) -> (Option<i32>, String) {
    let typed = typed.replace(" C ", " --config configs/gdgem-srs.toml ");
    let output = Command::new(PROGRAM)
        .args(typed.split(' '))
        .current_dir(folder)
        .output()
        .expect("the program starts");
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

/// Names and contents of all files.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry"));
    let files = entries.filter(|entry| entry.path().is_file());
    files
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, std::fs::read(entry.path()).expect("a file"))
        })
        .collect()
}

#[test]
fn every_mistake_has_its_status_and_names_the_remedy() {
    assert!(MISTAKES.len() >= 40);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    prepare(folder);
    let before = files(folder);
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (tcp, udp_port) =
        (tcp.local_addr().map(|at| (at.port().to_string(), tcp)).unwrap(), udp.local_addr().unwrap());
    let fill = |text: &str| text.replace("TCP", &tcp.0).replace("UDP", &udp_port.port().to_string());
    let mut wrong = Vec::new();
    for (typed, status, parts) in MISTAKES {
        let typed = if typed.contains("--port UDP") || typed.contains("TCP") {
            fill(typed)
        } else {
            (*typed).to_owned()
        };
        let (found, said) = evforge(folder, &typed);
        let missing: Vec<String> =
            parts.iter().map(|part| fill(part)).filter(|part| !said.contains(part)).collect();
        let is_short = said.lines().count() < 40;
        if found != Some(*status) || !missing.is_empty() || said.contains("panicked") || !is_short {
            wrong.push(format!(
                "evforge {typed}: status {found:?} for {status}, without {missing:?}:\n{said}"
            ));
        }
        let after = files(folder);
        let changed = after.keys().filter(|name| after.get(*name) != before.get(*name)).collect::<Vec<_>>();
        assert!(changed.is_empty(), "evforge {typed} has left {changed:?}");
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), MISTAKES.len(), wrong.join("\n"));
}
