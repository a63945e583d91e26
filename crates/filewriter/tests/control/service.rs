//! The service with a real broker: conversations of the ESS and of ISIS, several writers on one pool, restarts, brokers away.

use crate::control_common::kafka::*;
use crate::control_common::*;
use evforge_filewriter::control::ECHO;
use evforge_filewriter::control::service::{ServiceSettings, run};
use evforge_messages::{Pl72, S6s4t};
use evforge_testkit::kafka_broker::{Broker, is_possible};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn service(broker: &Broker, service_id: &str) -> ServiceSettings {
    ServiceSettings {
        pool_topic: Some(POOL.to_owned()),
        service_id: service_id.to_owned(),
        status_interval: Duration::from_millis(500),
        ..ServiceSettings::new(client(broker), OWN)
    }
}

fn ending_jobs() -> FakeJobs {
    let jobs = FakeJobs::default();
    jobs.with(|inner| inner.ends_by_itself = true);
    jobs
}

fn topics(broker: &Broker, names: &[&str]) {
    names.iter().for_each(|name| broker.create_topic(name, 1));
}

/// A run from now on.
fn start_now(id: &'static str, file: &'static str) -> Vec<u8> {
    pl72(&Pl72 { start_time: 0, job_id: Some(id), filename: Some(file), ..start_message() })
}

fn stop_now(id: &str) -> Vec<u8> {
    s6s4t(&S6s4t { job_id: Some(id), stop_time: 0, ..stop_message() })
}

#[test]
fn an_ess_conversation_outlives_a_broker_that_is_away() {
    if !is_possible("an_ess_conversation_outlives_a_broker_that_is_away") {
        return;
    }
    let mut broker = Broker::start();
    topics(&broker, &[POOL, OWN, CONTROL]);
    let here = client(&broker);
    let running = Running::start(service(&broker, SERVICE), ending_jobs());
    let mut own = Listener::open(&here, OWN);
    assert_eq!(own.next_state("idle")["job_id"], "");
    let start = start_now(JOB, "run_1.nxs");
    send(&here, POOL, &start);
    let mut control = Listener::open(&here, CONTROL);
    let answer = control.next("answ");
    assert_eq!((&answer["status_code"], &answer["service_id"]), (&201.into(), &SERVICE.into()));
    assert_eq!(control.records[0].payload, start);
    assert_eq!(control.records[0].headers, [(ECHO.to_owned(), None)]);
    assert_eq!(control.next_state("writing")["job_id"], JOB);
    // Refused on the command topic, and said there and where the answer is waited for.
    send(&here, OWN, &start_now(JOB_2, "run_2.nxs"));
    assert_eq!(own.next("answ")["status_code"], 400);
    assert_eq!(control.next("answ")["job_id"], JOB_2);

    broker.kill();
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(running.jobs.running(), [JOB]);
    wait("it is said", || running.lines().iter().any(|line| line.contains("Kafka")));
    broker.restart();
    assert_eq!(control.next_state("writing")["job_id"], JOB);
    send(&here, CONTROL, &stop_now(JOB));
    let answer = control.next("answ");
    assert_eq!((&answer["status_code"], &answer["command_id"]), (&201.into(), &COMMAND.into()));
    let end = control.next("wrdn");
    assert_eq!((&end["job_id"], &end["error_encountered"]), (&JOB.into(), &false.into()));
    assert_eq!(end["metadata"], r#"{"events":5,"proposal":7}"#);
    assert_eq!(own.next_state("idle")["file_being_written"], "");
    // The same start again would be a new one: the pool gives each once.
    std::thread::sleep(Duration::from_secs(2));
    assert!(running.jobs.running().is_empty());
    running.end();
    let last = own.rest(Duration::from_secs(2)).pop().unwrap();
    assert_eq!(last["update_interval"], 0);
}

#[test]
fn isis_is_told_nothing() {
    if !is_possible("isis_is_told_nothing") {
        return;
    }
    const RUN_INFO: &str = "HRPD_runInfo";
    let mut broker = Broker::start();
    topics(&broker, &[RUN_INFO]);
    let here = client(&broker);
    let settings = ServiceSettings {
        pool_topic: None,
        command_topic: RUN_INFO.to_owned(),
        is_command_topic_quiet: true,
        ..service(&broker, SERVICE)
    };
    let isis = |id: &'static str, file: &'static str| {
        let (broker, service_id) = (Some(""), Some(""));
        let control_topic = Some(RUN_INFO);
        let ids = Pl72 { job_id: Some(id), filename: Some(file), control_topic, ..start_message() };
        pl72(&Pl72 { start_time: now_ms(), broker, service_id, metadata: None, ..ids })
    };
    let stop = |id: &'static str, abort| {
        s6s4t(&S6s4t {
            job_id: Some(id),
            stop_time: now_ms(),
            command_id: Some(""),
            abort,
            ..S6s4t::default()
        })
    };
    let running = Running::start(settings.clone(), ending_jobs());
    // From now on, not from the beginning: it must read before something is sent.
    std::thread::sleep(Duration::from_secs(2));
    for (id, file, abort) in [(JOB, "HRPDX1.nxs", false), (JOB_2, "HRPDX2.nxs", true)] {
        send(&here, RUN_INFO, &isis(id, file));
        wait("a run", || running.jobs.running() == [id]);
        send(&here, RUN_INFO, &stop(id, abort));
        wait("its end", || running.jobs.running().is_empty());
    }
    let calls = running.jobs.calls();
    assert!(calls[1].starts_with(&format!("stop {JOB} Some(")), "{calls:?}");
    assert_eq!(calls[4], format!("abort {JOB_2}"));
    // A stop that is sent while this program is not there.
    send(&here, RUN_INFO, &isis(JOB_3, "HRPDX3.nxs"));
    wait("a run", || running.jobs.running() == [JOB_3]);
    let jobs = running.jobs.clone();
    running.end();
    send(&here, RUN_INFO, &stop(JOB_3, false));
    // Nor are the brokers, at first.
    broker.kill();
    let running = Running::start(settings, jobs);
    wait("it is said", || running.lines().iter().any(|line| line.contains("nothing listens there")));
    broker.restart();
    wait("its end", || running.jobs.running().is_empty());
    running.end();
    let said = Listener::open(&here, RUN_INFO).rest(Duration::from_secs(2));
    let schemas: Vec<&str> = said.iter().filter_map(|message| message["schema"].as_str()).collect();
    assert_eq!(schemas, ["pl72", "6s4t", "pl72", "6s4t", "pl72", "6s4t"]);
}

#[test]
fn two_writers_share_a_pool_and_each_start_has_one_file() {
    if !is_possible("two_writers_share_a_pool_and_each_start_has_one_file") {
        return;
    }
    let broker = Broker::start();
    topics(&broker, &[POOL, "own_1", "own_2", CONTROL]);
    let here = client(&broker);
    let writer = |number: u8| {
        let command_topic = format!("own_{number}");
        let settings = ServiceSettings { command_topic, ..service(&broker, &format!("writer-{number}")) };
        Running::start(settings, ending_jobs())
    };
    let both = [writer(1), writer(2)];
    let starts = [(JOB, "run_1.nxs"), (JOB_2, "run_2.nxs"), (JOB_3, "run_3.nxs")];
    for (id, file) in starts {
        send(&here, POOL, &start_now(id, file));
    }
    let running = || both.iter().flat_map(|writer| writer.jobs.running()).collect::<Vec<_>>();
    wait("two jobs", || running().len() == 2);
    let mut control = Listener::open(&here, CONTROL);
    assert_eq!(
        [control.next("answ")["status_code"].clone(), control.next("answ")["status_code"].clone()],
        [201, 201]
    );
    // The third one waits.
    std::thread::sleep(Duration::from_secs(5));
    let first = running();
    assert!(both.iter().all(|writer| writer.jobs.running().len() == 1), "{first:?}");
    // One stop has one answer, though both read it.
    send(&here, CONTROL, &stop_now(&first[0]));
    let answer = control.next("answ");
    assert_eq!((&answer["status_code"], &answer["job_id"]), (&201.into(), &first[0].as_str().into()));
    let third = starts.iter().find(|(id, _)| !first.iter().any(|one| one == id)).unwrap().0;
    wait("the third job", || running().iter().any(|id| id == third));
    let answer = control.next("answ");
    assert_eq!((&answer["status_code"], &answer["job_id"]), (&201.into(), &third.into()));
    for id in running() {
        send(&here, CONTROL, &stop_now(&id));
        assert_eq!(control.next("answ")["status_code"], 201);
    }
    wait("all ends", || running().is_empty());
    // Nothing comes twice.
    std::thread::sleep(Duration::from_secs(8));
    let mut begun: Vec<String> = both.iter().flat_map(|writer| writer.jobs.calls()).collect();
    begun.retain(|call| call.starts_with("start"));
    begun.sort_unstable();
    assert_eq!(begun, starts.map(|(id, file)| format!("start {id} {file}")));
    assert!(both.iter().all(|writer| writer.jobs.with(|inner| inner.most) == 1));
    both.into_iter().for_each(Running::end);
}

#[test]
fn a_stop_that_comes_during_a_restart_or_a_slow_start_is_followed() {
    if !is_possible("a_stop_that_comes_during_a_restart_or_a_slow_start_is_followed") {
        return;
    }
    let broker = Broker::start();
    topics(&broker, &[POOL, OWN, CONTROL]);
    let here = client(&broker);
    let jobs = ending_jobs();
    jobs.with(|inner| inner.start_takes_ms = 3000);
    let running = Running::start(service(&broker, SERVICE), jobs);
    let mut control = Listener::open(&here, CONTROL);
    send(&here, POOL, &start_now(JOB, "run_1.nxs"));
    // The echo is there while the structure is made.
    control.next("pl72");
    send(&here, CONTROL, &stop_now(JOB));
    assert_eq!(control.next("answ")["action"], "StartJob");
    let answer = control.next("answ");
    assert_eq!((&answer["action"], &answer["status_code"]), (&"SetStopTime".into(), &201.into()));
    control.next("wrdn");

    send(&here, POOL, &start_now(JOB_2, "run_2.nxs"));
    assert_eq!(control.next("answ")["job_id"], JOB_2);
    let jobs = running.jobs.clone();
    running.end();
    send(&here, CONTROL, &stop_now(JOB_2));
    let running = Running::start(service(&broker, SERVICE), jobs);
    let answer = control.next_of("answ", |answer| answer["action"] == "SetStopTime");
    assert_eq!((&answer["job_id"], &answer["status_code"]), (&JOB_2.into(), &201.into()));
    assert_eq!(control.next("wrdn")["job_id"], JOB_2);
    running.end();
    assert!(control.rest(Duration::from_secs(1)).iter().all(|json| json["schema"] == "x5f2"));
}

#[test]
fn settings_that_cannot_work_are_refused_at_once() {
    if !is_possible("settings_that_cannot_work_are_refused_at_once") {
        return;
    }
    let broker = Broker::start();
    topics(&broker, &[OWN]);
    for (settings, says) in [
        (service(&broker, SERVICE), "pool"),
        (ServiceSettings { command_topic: POOL.to_owned(), ..service(&broker, SERVICE) }, "read twice"),
        (ServiceSettings { command_topic: "a b".to_owned(), ..service(&broker, SERVICE) }, "a b"),
    ] {
        let said = run(&settings, &mut FakeJobs::default(), &AtomicBool::new(false), &mut |_| {});
        let error = said.unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}
