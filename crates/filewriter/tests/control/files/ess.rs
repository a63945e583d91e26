//! A conversation of the ESS, and every row of its file.

use crate::control_common::kafka::*;
use crate::control_common::*;
use crate::files::support::*;
use evforge_filewriter::control::JobRunnerSettings;
use evforge_messages::al00::Severity;
use evforge_messages::ep01::Connection;
use evforge_messages::{Al00, Encoder, Ep01};
use evforge_stream::storage::text::read_text;
use evforge_testkit::kafka_broker::shared;
use evforge_testkit::patience::wait_until;
use hdf5_metno::File;
use serde_json::Value;
use std::time::Duration;

/// How long late messages are waited for: real time, in which they and a command must be sent.
const LEEWAY: Duration = Duration::from_secs(5);

fn alarm(time: i64, severity: Severity, text: &str) -> Vec<u8> {
    Al00 { source_name: Some(MOTOR), timestamp: time, severity, message: Some(text) }
        .encode(&mut Encoder::new())
        .to_vec()
}

fn connection(time: i64, status: Connection) -> Vec<u8> {
    Ep01 { timestamp: time, status, source_name: MOTOR, service_id: None }
        .encode(&mut Encoder::new())
        .to_vec()
}

#[test]
fn a_conversation_leaves_a_file_with_every_row_of_its_run() {
    let Some(broker) = shared("a_conversation_leaves_a_file_with_every_row_of_its_run") else { return };
    let (site, folder) = (Site::Shared(broker), folder());
    let [pool, own_topic, control_topic, of_events, of_logs] = site.topics([POOL, OWN, CONTROL, DATA, LOGS]);
    let here = site.client();
    let data = |number: i64, time: i64, pixels: &[i32]| {
        send(&here, of_events, &ev44(BANK, number, time, pixels));
    };
    let log = |time: i64, value: f64| send(&here, of_logs, &f144(MOTOR, time, value));
    let settings = site.service(SERVICE);
    let files = JobRunnerSettings { leeway_after: LEEWAY, ..runner(&settings, folder.path()) };
    let writer = writer(&settings, files);
    let begin_ms = now_ms();
    let begin = ns(begin_ms);
    // Before the start is known, some of it from after the start.
    log(begin - 2000 * MS, 1.0);
    log(begin - 1000 * MS, 2.0);
    send(&here, of_logs, &alarm(begin - 1000 * MS, Severity::Ok, "all well"));
    data(0, begin - 1, &[100]);
    data(1, begin, &[1, 2]);
    log(begin + 50 * MS, 3.0);
    send(&here, pool, &start(JOB, "run_1.nxs", &structure_of(of_events, of_logs), control_topic, begin_ms));
    let mut control = Listener::open(&here, control_topic);
    let answer = control.next("answ");
    assert_eq!((&answer["status_code"], &answer["command_id"]), (&201.into(), &JOB.into()), "{answer}");
    let path = in_files(folder.path(), "run_1.nxs");
    let writing = format!("{}.writing", path.display());
    assert_eq!(control.next_state("writing")["file_being_written"], writing.as_str());
    let names = ["run_1.nxs.job", "run_1.nxs.lock", "run_1.nxs.writing"];
    wait_until("a first commit, with which the job is safe", || left(&path) == names);

    let second = ev44(BANK, 2, begin + 100 * MS, &[3]);
    send(&here, of_events, &second);
    send(&here, of_events, &second);
    send(&here, of_events, &ev44("another", 1, begin + 100 * MS, &[99]));
    data(3, begin + 300 * MS, &[4]);
    data(4, begin + 200 * MS, &[5]);
    log(begin + 50 * MS, 3.5);
    log(begin + 40 * MS, 4.0);
    log(begin - 500 * MS, 5.0);
    send(&here, of_logs, &connection(begin + 5 * MS, Connection::Connected));
    send(&here, of_logs, &alarm(begin + 60 * MS, Severity::Major, "limit"));
    let stop_ms = now_ms() + 300;
    send(&here, control_topic, &stop(JOB, stop_ms));
    let answer = control.next("answ");
    assert_eq!((&answer["status_code"], &answer["stop_time"]), (&201.into(), &stop_ms.into()), "{answer}");
    sleep_until(stop_ms + 1);
    // It comes late, and the one behind it is too late.
    data(5, ns(stop_ms), &[6]);
    data(6, ns(stop_ms) + 1, &[101]);
    log(ns(stop_ms) + 1, 9.0);
    // The end has passed.
    send(&here, control_topic, &stop(JOB, stop_ms + 60_000));
    let answer = control.next("answ");
    assert_eq!(answer["status_code"], 500, "{answer}");
    assert!(answer["message"].as_str().unwrap().contains("has ended at"), "{answer}");

    let end = control.next("wrdn");
    assert!(u128::from(now_ms()) >= u128::from(stop_ms) + LEEWAY.as_millis(), "late messages are waited for");
    assert_eq!((&end["job_id"], &end["error_encountered"]), (&JOB.into(), &false.into()), "{end}");
    assert_eq!(end["file_name"], path.to_str().unwrap());
    let metadata: Value = serde_json::from_str(end["metadata"].as_str().unwrap()).unwrap();
    assert_eq!((&metadata["proposal"], &metadata["events"]), (&7.into(), &6.into()), "{metadata}");
    // 5 of events, 3 of the motor, 2 alarms, 1 connection.
    assert_eq!((&metadata["messages"], &metadata["is_whole"]), (&11.into(), &true.into()), "{metadata}");
    let report = &metadata["evforge_report"];
    assert_eq!((&report["unaccounted"], &report["counters"]["messages_duplicated"]), (&0.into(), &1.into()));
    let mut own = Listener::open(&here, own_topic);
    assert_eq!(own.next_state("idle")["file_being_written"], "");

    check_complete(&path);
    let file = File::open(&path).unwrap();
    let in_order: [(i64, &[i32]); 4] =
        [(begin, &[1, 2]), (begin + 100 * MS, &[3]), (begin + 300 * MS, &[4]), (ns(stop_ms), &[6])];
    for group in ["entry/events", "entry/same_events"] {
        assert_eq!(events(&file, group), expected(&in_order));
        assert_eq!(events(&file, &format!("{group}/events_late")), expected(&[(begin + 200 * MS, &[5])]));
    }
    assert_eq!(report["counters"]["events_late"], 1, "{report}");
    let motor = file.group("entry/motor").unwrap();
    assert_eq!(motor.dataset("value").unwrap().read_raw::<f64>().unwrap(), [2.0, 3.0, 4.0]);
    let times: Vec<i64> = motor.dataset("time").unwrap().read_raw().unwrap();
    assert_eq!(times, [begin - 1000 * MS, begin + 50 * MS, begin + 40 * MS]);
    let times: Vec<i64> = motor.dataset("alarm_time").unwrap().read_raw().unwrap();
    assert_eq!(times, [begin - 1000 * MS, begin + 60 * MS]);
    assert_eq!(motor.dataset("alarm_severity").unwrap().read_raw::<i16>().unwrap(), [0, 2]);
    let times: Vec<i64> = motor.dataset("connection_status_time").unwrap().read_raw().unwrap();
    assert_eq!(times, [begin + 5 * MS]);
    let entry = file.group("entry").unwrap();
    let text = |name: &str| read_text(&entry.dataset(name).unwrap()).unwrap();
    let ms = |name: &str| text(name).parse::<jiff_ms::Ms>().unwrap().0;
    assert_eq!((ms("start_time"), ms("end_time")), (begin_ms, stop_ms));
    assert_eq!(text("evforge_writer/state"), "complete");
    writer.end();
}

/// Times of a file as milliseconds since 1970.
mod jiff_ms {
    pub(super) struct Ms(pub(super) u64);

    impl std::str::FromStr for Ms {
        type Err = String;

        fn from_str(text: &str) -> Result<Self, String> {
            let time: jiff::Timestamp = text.parse().map_err(|error| format!("{text}: {error}"))?;
            u64::try_from(time.as_millisecond()).map(Self).map_err(|error| error.to_string())
        }
    }
}
