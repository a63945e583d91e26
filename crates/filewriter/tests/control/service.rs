//! The service with a real broker: conversations of the ESS and of ISIS, several writers on one pool, restarts, brokers away.

use crate::control_common::kafka::*;
use crate::control_common::*;
use evforge_filewriter::control::ECHO;
use evforge_filewriter::control::service::{ServiceSettings, run};
use evforge_messages::{Pl72, S6s4t};
use evforge_testkit::kafka_broker::{Broker, is_possible, shared};
use evforge_testkit::patience::{patience, wait_until};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use std::sync::atomic::AtomicBool;

const JOB_4: &str = "44444444-2222-4333-8444-555555555555";

fn ending_jobs() -> FakeJobs {
    let jobs = FakeJobs::default();
    jobs.with(|inner| inner.ends_by_itself = true);
    jobs
}

/// A service with these jobs.
fn start(settings: ServiceSettings, jobs: &FakeJobs) -> Running {
    let jobs = jobs.clone();
    Running::start(settings, move |_| jobs)
}

/// A run from now on.
fn start_now(id: &'static str, file: &'static str, control: &'static str) -> Vec<u8> {
    let message = Pl72 { start_time: 0, control_topic: Some(control), ..start_message() };
    pl72(&Pl72 { job_id: Some(id), filename: Some(file), ..message })
}

fn stop_now(id: &str) -> Vec<u8> {
    s6s4t(&S6s4t { job_id: Some(id), stop_time: 0, ..stop_message() })
}

#[test]
fn an_ess_conversation_outlives_a_broker_that_is_away() {
    if !is_possible("an_ess_conversation_outlives_a_broker_that_is_away") {
        return;
    }
    let mut site = Site::Own(Broker::start());
    let (here, jobs) = (site.client(), ending_jobs());
    site.topics([POOL, OWN, CONTROL]);
    let running = start(site.service(SERVICE), &jobs);
    let mut own = Listener::open(&here, OWN);
    assert_eq!(own.next_state("idle")["job_id"], "");
    let start = start_now(JOB, "run_1.nxs", CONTROL);
    send(&here, POOL, &start);
    let mut control = Listener::open(&here, CONTROL);
    let answer = control.next("answ");
    assert_eq!((&answer["status_code"], &answer["service_id"]), (&201.into(), &SERVICE.into()));
    assert_eq!(control.records[0].payload, start);
    assert_eq!(control.records[0].headers, [(ECHO.into(), None)]);
    assert_eq!(control.next_state("writing")["job_id"], JOB);
    // Refused on the command topic, and said there and where the answer is waited for.
    send(&here, OWN, &start_now(JOB_2, "run_2.nxs", CONTROL));
    assert_eq!(own.next("answ")["status_code"], 400);
    assert_eq!(control.next("answ")["job_id"], JOB_2);

    site.own().kill();
    running.await_said("Kafka");
    assert_eq!(jobs.running(), [JOB]);
    site.own().restart();
    assert_eq!(control.next_state("writing")["job_id"], JOB);
    send(&here, CONTROL, &stop_now(JOB));
    let answer = control.next("answ");
    assert_eq!((&answer["status_code"], &answer["command_id"]), (&201.into(), &COMMAND.into()));
    let end = control.next("wrdn");
    assert_eq!((&end["job_id"], &end["error_encountered"]), (&JOB.into(), &false.into()));
    assert_eq!(end["metadata"], r#"{"events":5,"proposal":7}"#);
    assert_eq!(own.next_state("idle")["file_being_written"], "");
    // The same start again would be a new one: the pool gives each once, and then the next.
    send(&here, POOL, &start_now(JOB_3, "run_3.nxs", CONTROL));
    assert_eq!(control.next("answ")["job_id"], JOB_3);
    assert_eq!(jobs.running(), [JOB_3]);
    send(&here, CONTROL, &stop_now(JOB_3));
    control.next("wrdn");
    own.next_state("idle");
    running.end();
    let last = own.rest().pop().unwrap();
    assert_eq!(last["update_interval"], 0);
}

#[test]
fn isis_is_told_nothing() {
    if !is_possible("isis_is_told_nothing") {
        return;
    }
    const RUN_INFO: &str = "HRPD_runInfo";
    let mut site = Site::Own(Broker::start());
    let (here, jobs) = (site.client(), ending_jobs());
    site.topics([RUN_INFO]);
    let settings = ServiceSettings {
        pool_topic: None,
        command_topic: RUN_INFO.to_owned(),
        is_command_topic_quiet: true,
        ..site.service(SERVICE)
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
    let running = start(settings.clone(), &jobs);
    for (id, file, abort) in [(JOB, "HRPDX1.nxs", false), (JOB_2, "HRPDX2.nxs", true)] {
        send(&here, RUN_INFO, &isis(id, file));
        wait_until("a run", || jobs.running() == [id]);
        send(&here, RUN_INFO, &stop(id, abort));
        wait_until("its end", || jobs.running().is_empty());
    }
    let calls = jobs.calls();
    assert!(calls[1].starts_with(&format!("stop {JOB} Some(")), "{calls:?}");
    assert_eq!(calls[4], format!("abort {JOB_2}"));
    // A stop that is sent while this program is not there.
    send(&here, RUN_INFO, &isis(JOB_3, "HRPDX3.nxs"));
    wait_until("a run", || jobs.running() == [JOB_3]);
    running.end();
    send(&here, RUN_INFO, &stop(JOB_3, false));
    // Nor are the brokers, at first.
    site.own().kill();
    let running = start(settings, &jobs);
    running.await_said("nothing listens there");
    site.own().restart();
    wait_until("its end", || jobs.running().is_empty());
    running.end();
    let said = Listener::open(&here, RUN_INFO).rest();
    let schemas: Vec<&str> = said.iter().filter_map(|message| message["schema"].as_str()).collect();
    assert_eq!(schemas, ["pl72", "6s4t", "pl72", "6s4t", "pl72", "6s4t"]);
}

#[test]
fn two_writers_share_a_pool_and_each_start_has_one_file() {
    let Some(broker) = shared("two_writers_share_a_pool_and_each_start_has_one_file") else { return };
    let (here, site) = (broker.address().to_owned(), Site::Shared(broker));
    let [pool, own_1, own_2, control_topic] = site.topics([POOL, "own_1", "own_2", CONTROL]);
    let jobs = [ending_jobs(), ending_jobs()];
    let settings = |command_topic: &str, service_id| ServiceSettings {
        command_topic: command_topic.to_owned(),
        ..site.service(service_id)
    };
    let group = settings(own_1, "writer-1").pool_group;
    let both = [start(settings(own_1, "writer-1"), &jobs[0]), start(settings(own_2, "writer-2"), &jobs[1])];
    let members = |number: usize| {
        let consumer: BaseConsumer =
            ClientConfig::new().set("bootstrap.servers", &here).create().expect("a consumer");
        wait_until(format_args!("{number} writers wait for a start"), || {
            let groups = consumer.fetch_group_list(Some(&group), patience());
            groups.is_ok_and(|list| {
                list.groups().iter().map(|group| group.members().len()).sum::<usize>() == number
            })
        });
    };
    let here = site.client();
    let starts = [(JOB, "run_1.nxs"), (JOB_2, "run_2.nxs"), (JOB_3, "run_3.nxs"), (JOB_4, "run_4.nxs")];
    for (id, file) in &starts[..3] {
        send(&here, pool, &start_now(id, file, control_topic));
    }
    let running = || jobs.iter().flat_map(FakeJobs::running).collect::<Vec<_>>();
    wait_until("two jobs", || running().len() == 2);
    let mut control = Listener::open(&here, control_topic);
    assert_eq!(
        [control.next("answ")["status_code"].clone(), control.next("answ")["status_code"].clone()],
        [201, 201]
    );
    // The third one waits: neither takes anything now.
    members(0);
    let first = running();
    assert!(jobs.iter().all(|jobs| jobs.running().len() == 1), "{first:?}");
    // One stop has one answer, though both read it.
    send(&here, control_topic, &stop_now(&first[0]));
    let answer = control.next("answ");
    assert_eq!((&answer["status_code"], &answer["job_id"]), (&201.into(), &first[0].as_str().into()));
    let third = starts.iter().find(|(id, _)| !first.iter().any(|one| one == id)).unwrap().0;
    wait_until("the third job", || running().iter().any(|id| id == third));
    let answer = control.next("answ");
    assert_eq!((&answer["status_code"], &answer["job_id"]), (&201.into(), &third.into()));
    for id in running() {
        send(&here, control_topic, &stop_now(&id));
        assert_eq!(control.next("answ")["status_code"], 201);
    }
    wait_until("all ends", || running().is_empty());
    // Nothing comes twice: both take starts again, and the next one is a new one.
    members(2);
    let (id, file) = starts[3];
    send(&here, pool, &start_now(id, file, control_topic));
    let answer = control.next("answ");
    assert_eq!((&answer["status_code"], &answer["job_id"]), (&201.into(), &id.into()));
    both.into_iter().for_each(Running::end);
    let mut begun: Vec<String> = jobs.iter().flat_map(FakeJobs::calls).collect();
    begun.retain(|call| call.starts_with("start"));
    begun.sort_unstable();
    assert_eq!(begun, starts.map(|(id, file)| format!("start {id} {file}")));
    assert!(jobs.iter().all(|jobs| jobs.with(|inner| inner.most) == 1));
}

#[test]
fn a_stop_that_comes_during_a_restart_or_a_slow_start_is_followed() {
    let Some(broker) = shared("a_stop_that_comes_during_a_restart_or_a_slow_start_is_followed") else {
        return;
    };
    let site = Site::Shared(broker);
    let (here, jobs) = (site.client(), ending_jobs());
    let [pool, _, control_topic] = site.topics([POOL, OWN, CONTROL]);
    jobs.with(|inner| inner.is_start_held = true);
    let running = start(site.service(SERVICE), &jobs);
    let mut control = Listener::open(&here, control_topic);
    send(&here, pool, &start_now(JOB, "run_1.nxs", control_topic));
    // The echo is there while the structure is made.
    control.next("pl72");
    send(&here, control_topic, &stop_now(JOB));
    jobs.with(|inner| inner.is_start_held = false);
    assert_eq!(control.next("answ")["action"], "StartJob");
    let answer = control.next("answ");
    assert_eq!((&answer["action"], &answer["status_code"]), (&"SetStopTime".into(), &201.into()));
    control.next("wrdn");

    send(&here, pool, &start_now(JOB_2, "run_2.nxs", control_topic));
    assert_eq!(control.next("answ")["job_id"], JOB_2);
    running.end();
    send(&here, control_topic, &stop_now(JOB_2));
    let running = start(site.service(SERVICE), &jobs);
    let answer = control.next_of("answ", |answer| answer["action"] == "SetStopTime");
    assert_eq!((&answer["job_id"], &answer["status_code"]), (&JOB_2.into(), &201.into()));
    assert_eq!(control.next("wrdn")["job_id"], JOB_2);
    running.end();
    assert!(control.rest().iter().all(|json| json["schema"] == "x5f2"));
}

#[test]
fn settings_that_cannot_work_are_refused_at_once() {
    let Some(broker) = shared("settings_that_cannot_work_are_refused_at_once") else { return };
    let site = Site::Shared(broker);
    site.topics([OWN]);
    let pool = site.name(POOL).to_owned();
    for (settings, says) in [
        (site.service(SERVICE), "pool"),
        (ServiceSettings { command_topic: pool, ..site.service(SERVICE) }, "read twice"),
        (ServiceSettings { command_topic: "a b".to_owned(), ..site.service(SERVICE) }, "a b"),
    ] {
        let said = run(&settings, &mut FakeJobs::default(), &AtomicBool::new(false), &mut |_| {});
        let error = said.unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}
