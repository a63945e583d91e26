//! Runs of ISIS: nobody wants answers.

use crate::control_common::kafka::*;
use crate::control_common::*;
use crate::files::support::*;
use evforge_filewriter::control::service::ServiceSettings;
use evforge_messages::{Encoder, Ev42, Pl72, S6s4t};
use evforge_stream::storage::text::read_text;
use evforge_testkit::kafka_broker::shared;
use evforge_testkit::patience::wait_until;
use hdf5_metno::File;
use serde_json::json;

const RUN_INFO: &str = "HRPD_runInfo";
const EVENTS: &str = "HRPD_events";

fn start(id: &str, file: &str, [run_info, events]: [&str; 2], start_ms: u64) -> Vec<u8> {
    let structure = json!({"children": [
        {"type": "group", "name": "raw_data_1", "attributes": [{"name": "NX_class", "values": "NXentry"}], "children": [
            {"type": "dataset", "name": "beamline", "values": "HRPD", "dataset": {"type": "string"}},
            {"type": "group", "name": "events", "attributes": [{"name": "NX_class", "values": "NXevent_data"}], "children": [
                {"type": "stream", "stream": {"topic": events, "source": "ISISICP", "writer_module": "ev42"}}]}]}]});
    let structure = structure.to_string();
    pl72(&Pl72 {
        start_time: start_ms,
        run_name: Some("12345"),
        instrument_name: Some("HRPD"),
        nexus_structure: Some(&structure),
        job_id: Some(id),
        broker: Some(""),
        service_id: Some(""),
        filename: Some(file),
        control_topic: Some(run_info),
        ..Pl72::default()
    })
}

fn stop(id: &str, stop_ms: u64, abort: bool) -> Vec<u8> {
    s6s4t(&S6s4t { job_id: Some(id), stop_time: stop_ms, command_id: Some(""), abort, ..S6s4t::default() })
}

fn pulse(number: u64, time_ns: i64, pixel: u32) -> Vec<u8> {
    let (offsets, pixels) = ([pixel * 10], [pixel]);
    let message = Ev42 {
        source_name: Some("ISISICP"),
        message_id: number,
        pulse_time: u64::try_from(time_ns).unwrap(),
        time_of_flight: (&offsets).into(),
        detector_id: (&pixels).into(),
        facility: None,
    };
    message.encode(&mut Encoder::new()).to_vec()
}

#[test]
fn runs_follow_one_another_and_one_is_aborted() {
    let Some(broker) = shared("runs_follow_one_another_and_one_is_aborted") else { return };
    let (site, folder) = (Site::Shared(broker), folder());
    let topics @ [run_info, of_events] = site.topics([RUN_INFO, EVENTS]);
    let here = site.client();
    let settings = ServiceSettings {
        pool_topic: None,
        command_topic: run_info.to_owned(),
        is_command_topic_quiet: true,
        ..site.service(SERVICE)
    };
    // Without templates the name of an instrument means nothing.
    let files = runner(&settings, folder.path());
    let files = evforge_filewriter::control::JobRunnerSettings { templates: None, ..files };
    let writer = writer(&settings, files);
    let mut number = 0;
    let mut pulses = |begin_ms: u64, pixels: &[u32]| {
        let payloads = (0..).zip(pixels).map(|(place, pixel)| {
            number += 1;
            pulse(number, ns(begin_ms) + place * 20 * MS, *pixel)
        });
        send_all(&here, of_events, payloads);
    };
    let path = |name: &str| in_files(folder.path(), name);
    let begin_1 = now_ms();
    send(&here, run_info, &start(JOB, "HRPD1.nxs", topics, begin_1));
    pulses(begin_1, &[1, 2, 3, 4, 5]);
    let stop_1 = begin_1 + 60;
    wait_until("a run", || path("HRPD1.nxs.writing").is_file());
    sleep_until(stop_1);
    send(&here, run_info, &stop(JOB, stop_1, false));
    // The next one begins while late messages of the first are waited for.
    let begin_2 = now_ms();
    send(&here, run_info, &start(JOB_2, "HRPD2.nxs", topics, begin_2));
    pulses(begin_2, &[11, 12, 13]);
    wait_until("the first file", || path("HRPD1.nxs.sha256").is_file() && path("HRPD1.nxs").is_file());
    wait_until("the second run", || path("HRPD2.nxs.writing").is_file());
    send(&here, run_info, &stop(JOB_2, begin_2 + 1000, false));
    wait_until("the second file", || path("HRPD2.nxs").is_file());
    let begin_3 = now_ms();
    send(&here, run_info, &start(JOB_3, "HRPD3.nxs", topics, begin_3));
    pulses(begin_3, &[21, 22]);
    wait_until("the third run", || path("HRPD3.nxs.writing").is_file());
    await_events(&path("HRPD3.nxs.writing"), "raw_data_1/events", 2);
    send(&here, run_info, &stop(JOB_3, 0, true));
    wait_until("what is left of it", || path("HRPD3.nxs.aborted-1").is_file());
    writer.await_said("the run was aborted");
    writer.end();

    let of = |name: &str| events(&File::open(path(name)).unwrap(), "raw_data_1/events");
    let at = |begin_ms: u64, place: i64| ns(begin_ms) + place * 20 * MS;
    let first: [(i64, &[i32]); 4] =
        [(at(begin_1, 0), &[1]), (at(begin_1, 1), &[2]), (at(begin_1, 2), &[3]), (at(begin_1, 3), &[4])];
    assert_eq!(of("HRPD1.nxs"), expected(&first));
    let second: [(i64, &[i32]); 3] =
        [(at(begin_2, 0), &[11]), (at(begin_2, 1), &[12]), (at(begin_2, 2), &[13])];
    let all = of("HRPD2.nxs");
    assert_eq!(all, expected(&second));
    let third: [(i64, &[i32]); 2] = [(at(begin_3, 0), &[21]), (at(begin_3, 1), &[22])];
    assert_eq!(of("HRPD3.nxs.aborted-1"), expected(&third));
    let file = File::open(path("HRPD3.nxs.aborted-1")).unwrap();
    let state = file.dataset("raw_data_1/evforge_writer/state").unwrap();
    assert_eq!(read_text(&state).unwrap(), "aborted");
    check_complete(&path("HRPD1.nxs"));
    check_complete(&path("HRPD2.nxs"));
    assert_eq!(left(&path("HRPD3.nxs")), ["HRPD3.nxs.aborted-1"]);
    let said = Listener::open(&here, run_info).rest();
    let schemas: Vec<&str> = said.iter().filter_map(|message| message["schema"].as_str()).collect();
    assert_eq!(schemas, ["pl72", "6s4t", "pl72", "6s4t", "pl72", "6s4t"]);
}
