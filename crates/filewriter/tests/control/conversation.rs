//! Conversations from beginning to end, without Kafka.

use crate::control_common::*;
use evforge_filewriter::control::{Heard, Origin, Sent};
use evforge_messages::Pl72;
use evforge_testkit::shared_file;
use serde_json::{Value, json};

fn status(said: &Said) -> Value {
    assert_eq!((&said.json["schema"], said.kind), (&json!("x5f2"), Sent::Status));
    serde_json::from_str(said.json["status_json"].as_str().expect("a text")).expect("JSON")
}

#[test]
fn the_conversation_of_the_ess_from_the_pool_to_the_end() {
    let mut stage = Stage::new(settings(1));
    stage.tick();
    let idle = stage.take();
    assert_eq!((idle.len(), idle[0].topic.as_str()), (1, OWN));
    // Exactly these keys, in this order.
    let text = r#"{"file_being_written":"","job_id":"","start_time":0,"stop_time":0,"state":"idle"}"#;
    assert_eq!(idle[0].json["status_json"], text);
    let who = json!({"schema": "x5f2", "software_name": "evforge", "software_version": env!("CARGO_PKG_VERSION"),
        "service_id": SERVICE, "host_name": "host", "process_id": 42, "update_interval": 2000, "status_json": text});
    assert_eq!(idle[0].json, who);

    stage.now += 500;
    let start = pl72(&start_message());
    assert!(stage.hear(Origin::Pool, &start));
    assert_eq!(stage.followed, [format!("+{CONTROL}@{}", NOW + 500)]);
    let said = stage.take();
    assert_eq!((said[0].topic.as_str(), said[0].kind), (CONTROL, Sent::Echo));
    assert_eq!(said[0].payload, start);
    assert_eq!((said[1].topic.as_str(), said[1].kind, said.len()), (CONTROL, Sent::Answer, 2));
    assert_eq!(said[1].json["status_code"], 201);
    let request = stage.jobs.with(|inner| inner.states[0].request.clone());
    assert_eq!((request.start_ms, request.stop_ms), (NOW, None));
    assert_eq!((request.instrument, request.run_name.as_str()), (None, "r"));
    assert_eq!(
        (&*request.structure, request.control_topic.as_deref()),
        (r#"{"children": []}"#, Some(CONTROL))
    );

    // The state every two seconds, there alone.
    let mut times = Vec::new();
    for _ in 0..100 {
        stage.now += 100;
        stage.tick();
        for said in stage.take() {
            assert_eq!(said.topic, CONTROL);
            let state = json!({"file_being_written": "/data/run_1.nxs", "job_id": JOB, "start_time": NOW,
                "stop_time": 9_223_372_036_854_u64, "state": "writing"});
            assert_eq!(status(&said), state);
            times.push(stage.now);
        }
    }
    assert_eq!((times.len(), times[0]), (6, NOW + 600));
    assert!(times.windows(2).skip(1).all(|pair| pair[1] - pair[0] == 2000), "{times:?}");

    // Its own echo, its own answers and those of nobody are no commands.
    stage.hear_as(&Heard {
        origin: Origin::Topic(CONTROL),
        payload: &start,
        time_ms: Some(stage.now),
        read_until_ms: stage.now,
        is_echo: true,
    });
    stage.hear(Origin::Topic(CONTROL), &start);
    for said in [&said[1], &idle[0]] {
        stage.hear(Origin::Topic(CONTROL), &said.payload);
    }
    assert!(stage.take().is_empty());

    stage.stop(CONTROL, &stop_message());
    let said = stage.take();
    assert_eq!((said.len(), &said[0].json["status_code"]), (1, &json!(201)));
    assert_eq!(stage.jobs.with(|inner| inner.states[0].request.stop_ms), Some(NOW + 60_000));
    stage.now += 2000;
    stage.tick();
    assert_eq!(status(&stage.take()[0])["stop_time"], NOW + 60_000);

    stage.jobs.end(JOB, None, r#"{"events": 5, "hdf5": [1]}"#);
    stage.tick();
    let said = stage.take();
    // What the file says holds.
    let metadata = r#"{"events":5,"hdf5":[1],"proposal":7}"#;
    let end = json!({"schema": "wrdn", "service_id": SERVICE, "job_id": JOB, "error_encountered": false,
        "file_name": "/data/run_1.nxs", "metadata": metadata, "message": ""});
    assert_eq!((said[0].topic.as_str(), said[0].kind, &said[0].json), (CONTROL, Sent::End, &end));
    assert_eq!(said[1].topic, OWN);
    assert_eq!(status(&said[1])["state"], "idle");
    assert_eq!(stage.followed.last().unwrap(), &format!("-{CONTROL}"));
    assert!(stage.jobs.calls().contains(&format!("forget {JOB}")));
    stage.stop(CONTROL, &stop_message());
    assert_eq!(stage.take()[0].json["status_code"], 400);
    stage.farewell();
    let last = stage.take();
    assert_eq!((last[0].json["update_interval"].as_u64(), last.len()), (Some(0), 1));
}

#[test]
fn an_end_with_an_error_says_so() {
    let mut stage = Stage::new(settings(1));
    stage.pool(&Pl72 { metadata: Some("no JSON"), ..start_message() });
    stage.take();
    stage.jobs.end(JOB, Some("the disk is full"), "nor this");
    stage.tick();
    let end = &stage.take()[0].json;
    assert_eq!((&end["error_encountered"], &end["message"]), (&json!(true), &json!("the disk is full")));
    assert_eq!((&end["metadata"], &end["file_name"]), (&json!("{}"), &json!("/data/run_1.nxs")));
    // A job that is not known any more has ended as well.
    let mut stage = Stage::new(settings(1));
    stage.pool(&start_message());
    stage.take();
    stage.jobs.with(|inner| inner.states.clear());
    stage.tick();
    assert_eq!(stage.take()[0].json["error_encountered"], true);
    assert!(stage.conversation.has_room());
}

#[test]
fn two_jobs_on_one_control_topic_have_a_state_each() {
    let mut stage = Stage::new(settings(2));
    stage.pool(&start_message());
    stage.pool(&Pl72 { job_id: Some(JOB_2), filename: Some("run_2.nxs"), ..start_message() });
    stage.take();
    stage.tick();
    let jobs: Vec<Value> = stage.take().iter().map(|said| status(said)["job_id"].clone()).collect();
    assert_eq!(jobs, [JOB, JOB_2]);
    stage.jobs.end(JOB, None, "{}");
    stage.tick();
    assert!(!stage.followed.contains(&format!("-{CONTROL}")));
    stage.jobs.end(JOB_2, None, "{}");
    stage.tick();
    assert!(stage.followed.contains(&format!("-{CONTROL}")));
}

#[test]
fn golden_messages_of_the_python_library_are_followed() {
    let test = "golden_messages_of_the_python_library_are_followed";
    let load = |name: &str| shared_file(test, &format!("vectors/kafka/{name}.bin"));
    let (Some(start), Some(stop)) = (load("pl72"), load("6s4t")) else { return };
    let mut stage = Stage::new(settings(1));
    stage.now = 1_580_460_273_200;
    stage.hear(Origin::Pool, &start);
    let said = stage.take();
    assert_eq!((said[0].payload == start, said[0].topic.as_str()), (true, "freia_filewriter"));
    assert_eq!(said[1].json["status_code"], 201);
    let request = stage.jobs.with(|inner| inner.states[0].request.clone());
    assert_eq!((request.start_ms, request.instrument.as_deref()), (1_580_460_273_162, Some("freia")));
    stage.hear(Origin::Topic("freia_filewriter"), &stop);
    let answer = &stage.take()[0].json;
    assert_eq!((&answer["status_code"], &answer["stop_time"]), (&json!(201), &json!(1_580_460_279_999_u64)));
    assert_eq!(answer["command_id"], COMMAND);
    for name in ["answ", "wrdn", "x5f2", "ev44_two_pulses"] {
        let Some(other) = load(name) else { return };
        stage.hear(Origin::Topic("freia_filewriter"), &other);
    }
    assert!(stage.take().is_empty());
    // What cannot be read is counted, and said once.
    let lines = stage.lines.len();
    for _ in 0..3 {
        stage.hear(Origin::Topic(OWN), b"garbage that is long enough");
        stage.hear(Origin::Pool, &start[..start.len() / 2]);
        stage.hear(Origin::Pool, &pl72(&Pl72 { start_time: u64::MAX, ..start_message() }));
    }
    assert_eq!((stage.conversation.refused().total(), stage.lines.len() - lines), (9, 3));
    assert!(stage.take().is_empty());
}
