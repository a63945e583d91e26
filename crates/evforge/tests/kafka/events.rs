//! What comes out of a topic is what is in the NeXus file of the same run, column for column and pulse for pulse: for every
//! shipped configuration and for recorded packets, in ev44 and in ev42, through a real broker.
#![allow(clippy::unwrap_used)]

use crate::common::kafka::{TopicMessage, read_topic};
use crate::common::{evforge, text, workspace};
use evforge_messages::{Message, decode};
use evforge_testkit::kafka_broker::shared;
use evforge_testkit::{shared_folder, skip};
use hdf5_metno::{File, Group};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

const TEST: &str = "topics_have_what_the_file_has";

/// Events in columns, with the pulses and the index of the first event of each.
#[derive(Debug, Default, PartialEq)]
struct Columns {
    pulses: Vec<i64>,
    first: Vec<i64>,
    offsets: Vec<i32>,
    pixels: Vec<i32>,
}

impl Columns {
    /// Begins a pulse, unless it is the one that was begun last: then it goes on.
    fn pulse(&mut self, time: i64) {
        if self.pulses.last() != Some(&time) {
            self.pulses.push(time);
            self.first.push(self.pixels.len() as i64);
        }
    }

    /// Those whose pixel is wanted; all pulses.
    fn only(&self, wanted: &HashSet<i32>) -> Self {
        let mut columns = Self { pulses: self.pulses.clone(), ..Self::default() };
        let mut index = 0;
        let ends = self.first.iter().skip(1).copied().chain([self.pixels.len() as i64]);
        for end in ends {
            columns.first.push(columns.pixels.len() as i64);
            while index < end as usize {
                if wanted.contains(&self.pixels[index]) {
                    columns.pixels.push(self.pixels[index]);
                    columns.offsets.push(self.offsets[index]);
                }
                index += 1;
            }
        }
        columns
    }
}

/// The events of a topic, in the order of their messages, whose numbers must be consecutive.
fn of_topic(messages: &[TopicMessage]) -> Columns {
    let mut columns = Columns::default();
    for (message, number) in messages.iter().zip(1..) {
        match decode(&message.payload).unwrap() {
            Message::Ev44(events) => {
                assert_eq!(events.message_id, number);
                for (time, range) in events.pulses() {
                    columns.pulse(time);
                    let range = |column: Vec<i32>| column[range.clone()].to_vec();
                    columns.offsets.extend(range(events.time_of_flight.to_vec()));
                    columns.pixels.extend(range(events.pixel_id.to_vec()));
                }
            }
            // Frames are announced, and numbered with their events.
            Message::Pu00(frame) => {
                assert_eq!(frame.message_id, number);
                columns.pulse(frame.reference_time);
            }
            Message::Ev42(events) => {
                assert_eq!(events.message_id, number as u64);
                columns.pulse(events.pulse_time as i64);
                columns.offsets.extend(events.time_of_flight.iter().map(|time| time as i32));
                columns.pixels.extend(events.detector_id.iter().map(|pixel| pixel as i32));
            }
            other => panic!("{other}"),
        }
    }
    columns
}

/// All groups of events of a file, but for those of late events.
fn event_groups(group: &Group, found: &mut Vec<Group>) {
    if group.link_exists("event_id") && !group.name().ends_with("/events_late") {
        found.push(group.clone());
    }
    for child in group.groups().unwrap() {
        event_groups(&child, found);
    }
}

fn read<T: hdf5_metno::H5Type>(group: &Group, name: &str) -> Vec<T> {
    group.dataset(name).unwrap().read_raw().unwrap()
}

/// The events of a group, then its late ones: where a clock has started over once, that is the order in which they came.
fn of_group(group: &Group) -> Columns {
    let mut columns = Columns::default();
    for group in [group.clone(), group.group("events_late").unwrap()] {
        let before = columns.pixels.len() as i64;
        let pulses: Vec<u64> = read(&group, "event_time_zero");
        columns.pulses.extend(pulses.into_iter().map(|time| time as i64));
        let first: Vec<u64> = read(&group, "event_index");
        columns.first.extend(first.into_iter().map(|index| index as i64 + before));
        columns.offsets.extend(read::<i32>(&group, "event_time_offset"));
        columns.pixels.extend(read::<i32>(&group, "event_id"));
    }
    columns
}

/// The capture of a configuration: simulated, or a recording of the reference data.
fn captures(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let configs = workspace().join("configs");
    let mut captures = Vec::new();
    let mut names: Vec<_> = std::fs::read_dir(&configs).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    names.sort();
    assert_eq!(names.len(), 27, "a configuration came or went: does this test run it?");
    for config in names {
        let capture = folder.join(config.file_name().unwrap()).with_extension("pcapng");
        let (config_text, output) = (config.to_str().unwrap(), capture.to_str().unwrap());
        evforge(&["simulate", "--config", config_text, "--pulses", "6", "--output", output]);
        captures.push((config, capture));
    }
    for (config, capture) in [
        ("gdgem-srs", "captures/gdgem/vmm3a_srs.pcapng"),
        ("multiblade", "captures/multiblade/recorded_2018.pkts"),
        ("multigrid", "captures/multigrid/recorded_ws1to4.pkts"),
        ("sonde-module", "captures/sonde/generated_255.pkts"),
    ] {
        let capture = shared_folder().join(capture);
        if capture.exists() {
            captures.push((configs.join(config).with_extension("toml"), capture));
        } else {
            skip(TEST, &format!("{} is not there", capture.display()));
        }
    }
    captures
}

#[test]
fn topics_have_what_the_file_has() {
    let Some(broker) = shared(TEST) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut with_events = 0;
    for (number, (config, capture)) in captures(folder.path()).into_iter().enumerate() {
        let name = config.file_stem().unwrap().to_str().unwrap();
        // Each its own: HDF5's lock on a file that was open here stays with the processes that other tests have started since.
        let file = folder.path().join(format!("{name}_{number}.nxs"));
        let topics = ["ev44", "ev42"].map(|schema| broker.name(&format!("{name}_{number}_{schema}")));
        let keys = [
            format!("outputs.kafka.topic={}", topics[0]),
            "outputs.kafka.source=test".to_owned(),
            "outputs.kafka.message_events=1000".to_owned(),
            "outputs.old.kind=kafka".to_owned(),
            "outputs.old.schema=ev42".to_owned(),
            format!("outputs.old.topic={}", topics[1]),
        ];
        let both = ["kafka", "old"].map(|id| {
            [
                "brokers=".to_owned() + broker.address(),
                "empty_pulses=true".into(),
                "create_topics=true".into(),
            ]
            .map(|key| format!("outputs.{id}.{key}"))
        });
        let mut arguments = vec!["run", "--config", config.to_str().unwrap(), capture.to_str().unwrap()];
        arguments.extend(["--nexus", file.to_str().unwrap()]);
        for key in keys.iter().chain(both.as_flattened()) {
            arguments.extend(["--set", key]);
        }
        let output = evforge(&arguments);
        let file = File::open(&file).unwrap();
        let mut groups = Vec::new();
        event_groups(&file, &mut groups);
        assert!(!groups.is_empty(), "{name}: {}", text(&output.stdout));
        for topic in &topics {
            let messages = read_topic(broker.address(), topic);
            let columns = of_topic(&messages);
            let mut events = 0;
            for group in &groups {
                let expected = of_group(group);
                events += expected.pixels.len();
                let found = match groups.len() {
                    1 => columns.only(&columns.pixels.iter().copied().collect()),
                    // Each group has the pixels of one panel or monitor.
                    _ => columns.only(&expected.pixels.iter().copied().collect()),
                };
                assert!(found == expected, "{topic}: {} is not what the topic has", group.name());
            }
            assert_eq!(events, columns.pixels.len(), "{topic}: the topic has events that the file has not");
            with_events += usize::from(events > 0);
        }
    }
    assert!(with_events >= 2 * 19, "{with_events} topics had events");
}
