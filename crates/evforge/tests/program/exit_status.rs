//! The values of the exit status, and files that exist, for all commands that have to do with them (docs/exit-status.md).

use crate::common::{LiveProgram, PROGRAM, text, workspace};
use crate::inspect::made::{ess, freia, pkts};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().expect("the program starts")
}

/// The exit status, and all that is said.
fn outcome(arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(arguments);
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

fn config(name: &str) -> String {
    in_text(&workspace().join(format!("configs/{name}.toml"))).to_owned()
}

fn in_text(path: &Path) -> &str {
    path.to_str().expect("a path that is text")
}

/// Packets of FREIA with readouts, and heartbeats.
fn packets(count: u32) -> Vec<Vec<u8>> {
    (0..count).map(|n| ess(0x48, 0, n, n, &freia(n, 20))).collect()
}

fn heartbeats(count: u32) -> Vec<Vec<u8>> {
    (0..count).map(|n| ess(0x48, 0, n, n, &[])).collect()
}

#[test]
fn what_an_input_is_worth_is_the_status_of_every_command_that_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let whole = pkts(folder.path(), "whole", &packets(40));
    let empty = folder.path().join("empty.pcapng");
    // A section header and nothing else.
    let header: [u32; 7] = [0x0A0D_0D0A, 28, 0x1A2B_3C4D, 1, u32::MAX, u32::MAX, 28];
    std::fs::write(&empty, header.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
    let bytes = std::fs::read(&whole).unwrap();
    let cut = folder.path().join("cut.pkts");
    std::fs::write(&cut, &bytes[..bytes.len() - 7]).unwrap();
    let foreign = pkts(folder.path(), "foreign", &[b"nothing that anybody reads".to_vec()]);

    let freia = config("freia");
    let of_run = |input: &Path| outcome(&["run", "--config", &freia, "--input", in_text(input)]);
    for (input, status, said) in [
        (&whole, 0, "unaccounted   0"),
        (&cut, 3, "INPUT FAILED"),
        (&empty, 4, "the input holds no packets"),
        (&foreign, 4, "none of the 1 packets could be used"),
    ] {
        let (found, text) = of_run(input);
        let is_said =
            text.contains(said) || status == 4 && text.contains("does not belong to the configuration");
        assert!(found == Some(status) && is_said, "{}: {found:?}\n{text}", input.display());
    }
    for (input, status) in [(&whole, 0), (&cut, 3), (&empty, 4)] {
        let (found, said) = outcome(&["inspect", in_text(input)]);
        assert_eq!(found, Some(status), "inspect {}: {said}", input.display());
    }
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = receiver.local_addr().unwrap().to_string();
    for (input, status) in [(&whole, 0), (&empty, 4)] {
        let (found, said) = outcome(&["replay", in_text(input), "--to", &to, "--unpaced"]);
        assert_eq!(found, Some(status), "replay {}: {said}", input.display());
    }
    // The report says it as well.
    let report = folder.path().join("report.json");
    run(&["run", "--quiet", "--config", &freia, "--input", in_text(&empty), "--report", in_text(&report)]);
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
    assert_eq!((&report["verdict"], &report["state"]), (&"input of no use".into(), &"ended".into()));
    assert_eq!(report["streams"][0]["packets"]["lost"], serde_json::Value::Null, "nobody can know it");
}

/// Nothing but the background of a night is no fault of a live run; nothing at all is of no use.
#[test]
fn a_live_run_may_be_without_events_but_not_without_packets() {
    let folder = tempfile::tempdir().unwrap();
    let live = LiveProgram::start(Path::new(&config("freia")), folder.path(), &[]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for packet in heartbeats(30) {
        socket.send_to(&packet, &live.address).unwrap();
    }
    let (succeeded, stream, _) = live.outcome();
    assert!(succeeded && stream["packets"]["handed_over"] == 30 && stream["events"] == 0, "{stream:#}");

    let nothing =
        ["run", "--config", &config("freia"), "--address", "127.0.0.1", "--port", "0", "--for", "300ms"];
    let (status, said) = outcome(&nothing);
    assert!(
        status == Some(4) && said.contains("no packet came in") && said.contains("evforge doctor"),
        "{said}"
    );
    let recording = folder.path().join("nothing.pcapng");
    let arguments = ["record", "--address", "127.0.0.1", "--port", "0", "--for", "300ms", "--output"];
    let (status, said) = outcome(&[&arguments[..], &[in_text(&recording)]].concat());
    assert_eq!(status, Some(4), "{said}");
}

#[test]
fn every_command_tells_its_status_in_its_help() {
    for command in ["run", "record", "receive", "replay", "inspect", "simulate", "score", "dump", "masks"] {
        let said = text(&run(&[command, "--help"]).stdout);
        assert!(
            said.contains("Exit status:") && said.contains("the input is of no use"),
            "{command}: {said}"
        );
    }
    assert!(text(&run(&["--help"]).stdout).contains("Exit status:"));
    assert_eq!(run(&["run", "--no-such-option"]).status.code(), Some(2));
}

/// All commands that write: what is there is as it was, unless it is to be replaced.
#[test]
fn a_file_that_exists_is_refused_by_every_command_and_replaced_if_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("run.pcapng");
    let gdgem = config("gdgem-srs");
    let simulate = ["simulate", "--config", &gdgem, "--pulses", "6", "--neutrons", "2kHz", "--output"];
    assert!(run(&[&simulate[..], &[in_text(&capture)]].concat()).status.success());
    let capture = in_text(&capture).to_owned();
    let (truth, events) = (folder.path().join("truth.csv"), folder.path().join("events.csv"));
    let (truth, events) = (in_text(&truth).to_owned(), in_text(&events).to_owned());
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = receiver.local_addr().unwrap().to_string();
    let simulated = ["simulate", "--config", &gdgem, "--pulses", "6", "--neutrons", "2kHz"];
    let of = |first: &[&str], more: &[&str]| -> Vec<String> {
        first.iter().chain(more).map(|&argument| argument.to_owned()).collect()
    };
    let form = ["run", "--config", &gdgem, "--input", &capture];
    let score = ["score", "--config", &gdgem, "--truth", &truth, "--events", &events];
    let record = ["record", "--address", "127.0.0.1", "--port", "0", "--for", "200ms"];
    // The command, the option of the file, and the statuses that are good for it.
    let commands: Vec<(Vec<String>, &str, &[i32])> = vec![
        (of(&simulated, &["--output", "other.pcapng"]), "--truth", &[0]),
        (of(&simulated, &[]), "--output", &[0]),
        (of(&form, &[]), "--events", &[0]),
        (of(&form, &[]), "--report", &[0]),
        (of(&form, &[]), "--image", &[0]),
        (of(&form, &[]), "--monitor", &[0]),
        (of(&form, &[]), "--nexus", &[0]),
        (of(&["replay", &capture, "--to", &to, "--unpaced"], &[]), "--report", &[0]),
        (of(&["send", "--to", &to, "--unpaced", "--packets", "10"], &[]), "--report", &[0]),
        (of(&["dump", "--config", &gdgem, "--input", &capture], &[]), "--output", &[0]),
        (
            of(&["overlay", "--config", &gdgem, "--input", &capture, "--truth", "t.csv"], &[]),
            "--output",
            &[0],
        ),
        (of(&score, &[]), "--json", &[0]),
        (of(&["inspect", &capture], &[]), "--config-skeleton", &[0]),
        (of(&record, &[]), "--output", &[4]),
        (of(&record, &["--output", "other-recording.pcapng"]), "--report", &[4]),
    ];
    assert!(
        run(&[&simulated[..], &["--output", in_text(&folder.path().join("x.pcapng")), "--truth", &truth]]
            .concat())
        .status
        .success()
    );
    assert!(run(&[&form[..], &["--events", &events]].concat()).status.success());
    for (number, (command, option, good)) in commands.iter().enumerate() {
        let ending = if *option == "--nexus" { "nxs" } else { "pcapng" };
        let file = folder.path().join(format!("there-{number}.{ending}"));
        std::fs::write(&file, "of somebody").unwrap();
        let here = |further: &[&str]| {
            let mut program = Command::new(PROGRAM);
            program.current_dir(folder.path()).args(command).arg(option).arg(&file).args(further);
            let output = program.output().expect("the program starts");
            (output.status.code(), text(&output.stdout) + &text(&output.stderr))
        };
        let (status, said) = here(&[]);
        let what = format!("{} {option}: {said}", command.join(" "));
        assert!(status == Some(1) && said.contains("exists") && said.contains("--overwrite"), "{what}");
        assert_eq!(std::fs::read(&file).unwrap(), b"of somebody", "{what}");
        // What the command writes besides is there by now, or is not.
        let (status, said) = here(&["--overwrite"]);
        assert!(status.is_some_and(|status| good.contains(&status)), "{status:?}: {what}\n{said}");
        assert_ne!(std::fs::read(&file).unwrap(), b"of somebody", "{what}");
    }
}
