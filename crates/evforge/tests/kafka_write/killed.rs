//! A writer that is killed, at any moment, and started again: the file has what the topics have, each message once.

use super::support::{kafka, path, run, shipped, simulate};
use crate::common::{PROGRAM, text};
use evforge_testkit::kafka_broker::shared;
use evforge_testkit::random::{Random, moments};
use hdf5_metno::{File, Group};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What is compared: all events, and the pulses with the first event of each.
#[derive(Debug, PartialEq)]
pub(crate) struct Content {
    pub(crate) pixels: Vec<i32>,
    offsets: Vec<i32>,
    pulses: Vec<u64>,
    first: Vec<i64>,
}

pub(crate) fn content(path: &Path) -> Content {
    let file = File::open(path).unwrap();
    let instrument = file.group("entry/instrument").unwrap();
    let below = |group: Group| group.groups().unwrap();
    let has_events = |group: &Group| group.link_exists("event_id");
    let events = instrument.groups().unwrap().into_iter().flat_map(below).find(has_events).unwrap();
    // In the root where no group says that it is the entry.
    let own =
        ["entry/evforge_writer", "evforge_writer"].iter().find_map(|path| file.group(path).ok()).unwrap();
    assert!(!own.link_exists("journal"), "a complete file has no journal");
    Content {
        pixels: events.dataset("event_id").unwrap().read_raw().unwrap(),
        offsets: events.dataset("event_time_offset").unwrap().read_raw().unwrap(),
        pulses: events.dataset("event_time_zero").unwrap().read_raw().unwrap(),
        first: events.dataset("event_index").unwrap().read_raw().unwrap(),
    }
}

#[test]
fn a_writer_that_is_killed_loses_nothing_and_doubles_nothing() {
    let test = "a_writer_that_is_killed_loses_nothing_and_doubles_nothing";
    let Some(broker) = shared(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    let config = shipped("freia");
    let (capture, _) = path(folder.path(), "freia.pcapng");
    simulate(&config, 60, &capture);
    let mut keys = kafka(&broker, "killed", "freia");
    // Small messages, so that there are many moments between them.
    keys.push("outputs.kafka.message_events=20".to_owned());
    run(&config, &capture, &keys, &[]);
    let write = |file: &str| {
        let mut command = Command::new(PROGRAM);
        command.args(["write", "--config", &config, "--all", "--output", file]);
        command.args(["--flush-interval", "1ms", "--no-sync"]);
        for key in &keys {
            command.args(["--set", key]);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let (whole, whole_text) = path(folder.path(), "whole.nxs");
    let begun = Instant::now();
    let output = write(&whole_text).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mut lasts = begun.elapsed().max(Duration::from_millis(50));
    let expected = content(&whole);
    assert!(expected.pixels.len() > 1000 && expected.pulses.len() >= 60);

    let (mut random, moments) = (Random::of_environment_or(1), moments(6));
    let (mut killed, mut round) = (0, 0);
    // The first run may have been slow, and all later ones over before their moment.
    while round < moments || killed == 0 {
        let (file, file_text) = path(folder.path(), &format!("killed-{round}.nxs"));
        // Longer with each kill: a host that has become slower than it was has time for a whole file in the end.
        let mut at_most = lasts.mul_f64(1.1);
        // Killed after its file had its name, there is nothing left to do.
        while !file.exists() || folder.path().join(format!("killed-{round}.nxs.job")).exists() {
            let share = random.fraction();
            let moment = at_most.mul_f64(share);
            let mut child = write(&file_text).spawn().unwrap();
            // A moment of real time, wherever the writer is then.
            thread::sleep(moment);
            at_most = at_most.mul_f64(1.1);
            match child.try_wait().unwrap() {
                Some(status) => {
                    let said = child.wait_with_output().unwrap();
                    let said = format!("{}{}", text(&said.stdout), text(&said.stderr));
                    assert!(status.success(), "{round}: {status} {said}");
                    lasts = lasts.min(moment);
                }
                None => {
                    child.kill().unwrap();
                    child.wait().unwrap();
                    killed += 1;
                }
            }
        }
        assert_eq!(content(&file), expected, "after round {round}");
        let left: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with(&format!("killed-{round}.nxs.")))
            .collect();
        assert_eq!(left, [format!("killed-{round}.nxs.sha256")], "what is left next to the file");
        round += 1;
    }
    println!("killed {killed} times in {round} rounds, {} events each", expected.pixels.len());
}
