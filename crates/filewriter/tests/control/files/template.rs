//! The static part of a file comes from the template of an instrument.

use crate::control_common::kafka::*;
use crate::control_common::*;
use crate::files::support::*;
use evforge_messages::Pl72;
use evforge_testkit::kafka_broker::shared;
use evforge_testkit::patience::wait_until;
use hdf5_metno::File;
use hdf5_metno::types::VarLenUnicode;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// In the oldest format that HDF5 writes: symbol tables, B-trees of version 1.
fn make_template(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = File::create(path).unwrap();
    let text = |text: &str| text.parse::<VarLenUnicode>().unwrap();
    file.new_attr::<VarLenUnicode>().create("instrument").unwrap().write_scalar(&text("freia")).unwrap();
    let entry = file.create_group("entry").unwrap();
    entry.new_attr::<VarLenUnicode>().create("NX_class").unwrap().write_scalar(&text("NXentry")).unwrap();
    let detector = entry.create_group("detector").unwrap();
    let numbers: Vec<i32> = (0..5000).collect();
    detector
        .new_dataset_builder()
        .with_data(&numbers)
        .chunk(100)
        .deflate(2)
        .create("detector_number")
        .unwrap();
    for number in 0..100 {
        detector.create_group(&format!("transformation_{number}")).unwrap();
    }
}

/// What another process sees that follows a file: pixels of events, and the sum of what came with the template.
fn follow(path: &Path) -> Option<(usize, i64)> {
    let interpreter = std::env::var_os("EVFORGE_PYTHON").map(PathBuf::from)?;
    let script = "import h5py, sys\nf = h5py.File(sys.argv[1], 'r', libver='latest', swmr=True)\n\
        print(f['entry/events/event_id'].shape[0], f['entry/detector/detector_number'][()].sum())";
    let output = Command::new(interpreter).args(["-c", script]).arg(path).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (events, sum) = said.trim().split_once(' ').unwrap();
    Some((events.parse().unwrap(), sum.parse().unwrap()))
}

#[test]
fn a_template_is_copied_and_the_file_can_be_followed() {
    let Some(broker) = shared("a_template_is_copied_and_the_file_can_be_followed") else { return };
    let (site, folder) = (Site::Shared(broker), folder());
    let [pool, _, control_topic, of_events] = site.topics([POOL, OWN, CONTROL, DATA]);
    let here = site.client();
    make_template(&folder.path().join("templates/freia/freia.hdf"));
    let settings = site.service(SERVICE);
    let writer = writer(&settings, runner(&settings, folder.path()));
    let mut control = Listener::open(&here, control_topic);
    // What is not in the template.
    let structure = json!({"template_version": "1", "dynamic_version": "2", "children": [
        {"type": "group", "name": "entry", "children": [
            {"module": "mdat", "config": {"items": ["start_time", "end_time"]}},
            {"type": "group", "name": "events", "children": [
                {"module": "ev44", "config": {"topic": of_events, "source": BANK}}]}]}]});
    let structure = structure.to_string();
    let begin_ms = now_ms();
    let message = Pl72 { start_time: begin_ms, control_topic: Some(control_topic), ..start_message() };
    let message = Pl72 { instrument_name: Some("freia"), ..message };
    send(&here, pool, &pl72(&Pl72 { nexus_structure: Some(&structure), ..message }));
    let answer = control.next("answ");
    assert_eq!(answer["status_code"], 201, "{answer}");
    let all: [(i64, &[i32]); 2] = [(ns(begin_ms), &[1, 2, 3]), (ns(begin_ms) + 1, &[4])];
    for (number, (time, pixels)) in (1..).zip(all) {
        send(&here, of_events, &ev44(BANK, number, time, pixels));
    }
    let path = in_files(folder.path(), "run_1.nxs");
    let writing = in_files(folder.path(), "run_1.nxs.writing");
    let sum = 4999 * 2500;
    match follow(&writing) {
        Some(_) => wait_until("it is followed", || follow(&writing) == Some((4, sum))),
        None => {
            evforge_testkit::skip("a_template_is_copied_and_the_file_can_be_followed", "no EVFORGE_PYTHON")
        }
    }
    send(&here, control_topic, &stop(JOB, now_ms()));
    let end = control.next("wrdn");
    assert_eq!(end["error_encountered"], false, "{end}");
    check_complete(&path);
    let file = File::open(&path).unwrap();
    assert_eq!(events(&file, "entry/events"), expected(&all));
    let numbers: Vec<i32> = file.dataset("entry/detector/detector_number").unwrap().read_raw().unwrap();
    assert_eq!(numbers, (0..5000).collect::<Vec<_>>());
    let attribute = |name: &str| file.attr(name).unwrap().read_scalar::<VarLenUnicode>().unwrap().to_string();
    assert_eq!((attribute("instrument"), attribute("template_version")), ("freia".into(), "1".into()));
    writer.end();
}
