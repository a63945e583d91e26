//! Commands that are ISIS's, old, for others, or from before a restart.

use crate::control_common::*;
use evforge_filewriter::control::{Heard, Origin, Reply, Sent};
use evforge_messages::{Answ, Encoder, Pl72, S6s4t, X5f2, answ};
use serde_json::{Value, json};

fn kinds(stage: &mut Stage) -> Vec<(String, Sent)> {
    stage.take().into_iter().map(|said| (said.topic, said.kind)).collect()
}

fn on(topic: &str, kind: Sent) -> (String, Sent) {
    (topic.to_owned(), kind)
}

/// A start as ISIS's programs send it.
fn isis_start(topic: &'static str) -> Pl72<'static> {
    Pl72 {
        broker: Some(""),
        service_id: Some(""),
        instrument_name: None,
        metadata: None,
        control_topic: Some(topic),
        filename: Some("HRPDX00012345.nxs"),
        ..start_message()
    }
}

fn isis_stop() -> S6s4t<'static> {
    S6s4t { job_id: Some(JOB), command_id: Some(""), stop_time: NOW + 5000, ..S6s4t::default() }
}

#[test]
fn to_isis_nothing_is_said_wherever_its_topic_is() {
    // As the command topic.
    let mut stage = Stage::new(evforge_filewriter::control::ConversationSettings {
        pool_topic: None,
        command_topic: "HRPD_runInfo".to_owned(),
        is_command_topic_quiet: true,
        ..settings(2)
    });
    let here = Origin::Topic("HRPD_runInfo");
    stage.tick();
    stage.hear(here, &pl72(&isis_start("HRPD_runInfo")));
    assert_eq!(stage.jobs.running(), [JOB]);
    assert_eq!(stage.jobs.with(|inner| inner.states[0].request.control_topic.clone()), None);
    // Again, as when the topic is read again.
    stage.hear(here, &pl72(&isis_start("HRPD_runInfo")));
    // Refused, and nobody is told.
    stage.hear(here, &pl72(&Pl72 { job_id: Some("x"), ..isis_start("HRPD_runInfo") }));
    stage.stop("HRPD_runInfo", &S6s4t { job_id: Some(JOB_2), ..isis_stop() });
    stage.stop("HRPD_runInfo", &isis_stop());
    assert_eq!(stage.jobs.with(|inner| inner.states[0].request.stop_ms), Some(NOW + 5000));
    // The next run begins while the last messages of this one are waited for.
    stage.now += 6000;
    stage.tick();
    let second =
        Pl72 { job_id: Some(JOB_2), filename: Some("HRPDX00012346.nxs"), ..isis_start("HRPD_runInfo") };
    stage.hear(here, &pl72(&second));
    stage.jobs.end(JOB, None, "{}");
    stage.tick();
    assert_eq!(stage.jobs.running(), [JOB_2]);
    stage.stop("HRPD_runInfo", &S6s4t { job_id: Some(JOB_2), abort: true, ..isis_stop() });
    assert!(stage.jobs.calls().contains(&format!("abort {JOB_2}")));
    stage.tick();
    stage.farewell();
    assert_eq!(kinds(&mut stage), []);
    assert!(stage.jobs.running().is_empty());

    // As the pool, with a topic of our own for the state.
    let mut stage = Stage::new(settings(1));
    stage.hear(Origin::Pool, &pl72(&isis_start(POOL)));
    // The pool is followed as well, for the stop: what comes there twice is one start.
    assert_eq!(stage.followed, [format!("+{POOL}@{NOW}")]);
    stage.hear(Origin::Topic(POOL), &pl72(&isis_start(POOL)));
    stage.hear(Origin::Pool, &s6s4t(&isis_stop()));
    assert_eq!(stage.jobs.calls().len(), 1);
    stage.tick();
    assert_eq!(kinds(&mut stage), [on(OWN, Sent::Status)]);
    // A next run is for the pool, wherever else it is read.
    stage.hear(Origin::Topic(POOL), &pl72(&second));
    assert!(!stage.hear(Origin::Pool, &pl72(&second)));
    stage.stop(POOL, &isis_stop());
    assert_eq!(stage.jobs.with(|inner| inner.states[0].request.stop_ms), Some(NOW + 5000));
    stage.jobs.end(JOB, None, "{}");
    stage.tick();
    assert_eq!(kinds(&mut stage), [on(OWN, Sent::Status)]);
    // What is refused is said on the own topic only.
    stage.hear(Origin::Pool, &pl72(&Pl72 { job_id: Some("x"), ..isis_start(POOL) }));
    assert_eq!(kinds(&mut stage), [on(OWN, Sent::Answer)]);

    // As the command topic that was not known to be ISIS's: silence from the first start on.
    let mut stage = Stage::new(settings(1));
    stage.hear(Origin::Topic(OWN), &pl72(&isis_start(OWN)));
    stage.jobs.end(JOB, None, "{}");
    stage.tick();
    assert_eq!(kinds(&mut stage), []);
    // With a broker in it, it is another dialect, that of the ESS of before: answers are wanted.
    let mut stage = Stage::new(settings(1));
    stage.hear(Origin::Topic(OWN), &pl72(&Pl72 { control_topic: Some(OWN), ..start_message() }));
    assert_eq!(kinds(&mut stage), [on(OWN, Sent::Echo), on(OWN, Sent::Answer)]);
}

#[test]
fn a_run_of_isis_that_begins_while_another_is_finished_waits_for_it() {
    let mut stage = Stage::new(evforge_filewriter::control::ConversationSettings {
        pool_topic: None,
        is_command_topic_quiet: true,
        ..settings(1)
    });
    let start = |job, file, start_time| {
        pl72(&Pl72 { job_id: Some(job), filename: Some(file), start_time, ..isis_start(OWN) })
    };
    let stop = |job| s6s4t(&S6s4t { job_id: Some(job), stop_time: 0, ..isis_stop() });
    stage.hear(Origin::Topic(OWN), &start(JOB, "1.nxs", NOW));
    for (job, file) in [(JOB_2, "2.nxs"), (JOB_3, "3.nxs")] {
        stage.now += 1000;
        stage.hear(Origin::Topic(OWN), &start(job, file, 0));
        stage.hear(Origin::Topic(OWN), &start(job, file, 0));
        stage.now += 1000;
        stage.hear(Origin::Topic(OWN), &stop(job));
        stage.tick();
    }
    assert_eq!(stage.jobs.running(), [JOB]);
    // Longer than commands may be old.
    stage.now += 200_000;
    stage.jobs.calls();
    stage.jobs.end(JOB, None, "{}");
    stage.tick();
    let request = |stage: &Stage| stage.jobs.with(|inner| inner.states[0].request.clone());
    let second = request(&stage);
    assert_eq!((second.id.as_str(), second.start_ms, second.stop_ms), (JOB_2, NOW + 1000, Some(NOW + 2000)));
    stage.farewell();
    assert!(stage.lines.last().unwrap().contains(JOB_3), "{:?}", stage.lines);
    stage.jobs.end(JOB_2, None, "{}");
    stage.tick();
    let third = request(&stage);
    assert_eq!((third.id.as_str(), third.start_ms, third.stop_ms), (JOB_3, NOW + 3000, Some(NOW + 4000)));
    stage.jobs.end(JOB_3, None, "{}");
    stage.tick();
    assert!(stage.jobs.running().is_empty() && stage.take().is_empty());
    // There is an end to what may wait.
    for number in 0..40 {
        let job = format!("{number:08}-2222-4333-8444-555555555555");
        let message = Pl72 { job_id: Some(&job), filename: Some(&job), ..isis_start(OWN) };
        stage.hear(Origin::Topic(OWN), &pl72(&message));
    }
    assert!(stage.lines.last().unwrap().contains(Reply::AtLimit.sentence()), "{:?}", stage.lines);
}

#[test]
fn old_commands_are_only_logged() {
    let heard = |payload: &[u8], origin, age: u64, read_until_age: u64, stage: &mut Stage| {
        let (time_ms, read_until_ms) = (Some(stage.now - age), stage.now - read_until_age);
        stage.hear_as(&Heard { origin, payload, time_ms, read_until_ms, is_echo: false })
    };
    for origin in [Origin::Pool, Origin::Topic(OWN)] {
        let mut stage = Stage::new(settings(1));
        assert!(heard(&pl72(&start_message()), origin, 120_001, 0, &mut stage));
        assert!(stage.take().is_empty() && stage.jobs.calls().is_empty());
        assert!(stage.lines[0].contains("120 s old"), "{:?}", stage.lines);
        assert!(heard(&pl72(&start_message()), origin, 120_000, 0, &mut stage));
        assert_eq!(stage.jobs.running(), [JOB]);
    }
    let mut stage = Stage::new(settings(1));
    stage.pool(&start_message());
    stage.take();
    stage.jobs.calls();
    stage.now += 1_000_000;
    let place = Origin::Topic(CONTROL);
    heard(&s6s4t(&stop_message()), place, 120_001, 0, &mut stage);
    assert!(stage.take().is_empty() && stage.jobs.calls().is_empty());
    assert!(stage.lines.last().unwrap().contains("120 s old"), "{:?}", stage.lines);
    heard(&s6s4t(&stop_message()), place, 120_000, 0, &mut stage);
    assert_eq!(stage.take().len(), 1);
    // While brokers were away it could not be read: it counts, and "now" was then.
    heard(&s6s4t(&S6s4t { stop_time: 0, ..stop_message() }), place, 500_000, 400_000, &mut stage);
    assert_eq!(stage.jobs.calls().last().unwrap(), &format!("stop {JOB} Some({})", stage.now - 500_000));
    // What others have of the future is not old.
    let soon = Heard {
        origin: place,
        payload: &s6s4t(&stop_message()),
        time_ms: Some(stage.now + 1_000_000),
        read_until_ms: stage.now,
        is_echo: false,
    };
    stage.take();
    stage.hear_as(&soon);
    stage.hear_as(&Heard { time_ms: None, ..soon });
    assert_eq!(stage.take().len(), 2);
}

#[test]
fn jobs_of_other_writers_are_left_to_them() {
    let mut stage = Stage::new(settings(1));
    stage.pool(&start_message());
    stage.take();
    let mut encoder = Encoder::new();
    let answ = Answ {
        service_id: "writer-2",
        job_id: JOB_2,
        action: answ::Action::StartJob,
        outcome: answ::Outcome::Success,
        status_code: 201,
        stop_time: 0,
        message: None,
        command_id: None,
    };
    stage.hear(Origin::Topic(CONTROL), answ.encode(&mut encoder));
    let state = format!(r#"{{"job_id": "{JOB_3}"}}"#);
    let x5f2 = X5f2 { service_id: Some("writer-3"), status_json: Some(&state), ..X5f2::default() };
    stage.hear(Origin::Topic(CONTROL), x5f2.encode(&mut encoder));
    for job in [JOB_2, JOB_3] {
        stage.stop(CONTROL, &S6s4t { job_id: Some(job), ..stop_message() });
    }
    let unknown = "44444444-2222-4333-8444-555555555555";
    stage.stop(CONTROL, &S6s4t { job_id: Some(unknown), service_id: Some("writer-4"), ..stop_message() });
    assert!(stage.take().is_empty());
    // Another writer's echo on the command topic is no start.
    let (start, now) = (pl72(&Pl72 { job_id: Some(JOB_2), ..start_message() }), stage.now);
    let mut stage = Stage::new(settings(1));
    for origin in [Origin::Topic(OWN), Origin::Pool] {
        let heard = Heard { origin, payload: &start, time_ms: Some(now), read_until_ms: now, is_echo: true };
        assert!(stage.hear_as(&heard));
    }
    assert!(stage.take().is_empty() && stage.jobs.calls().is_empty());
}

#[test]
fn stops_from_before_a_start_was_taken_are_those_of_others() {
    let mut stage = Stage::new(settings(1));
    let sent = stage.now;
    // The start has waited in the pool.
    stage.now += 60_000;
    let start = pl72(&start_message());
    let heard = Heard {
        origin: Origin::Pool,
        payload: &start,
        time_ms: Some(sent),
        read_until_ms: stage.now,
        is_echo: false,
    };
    stage.hear_as(&heard);
    assert_eq!(stage.followed, [format!("+{CONTROL}@{sent}")]);
    stage.take();
    for (job, after, answers) in [(JOB_2, 1, 0), (JOB, 1, 1), (JOB_2, 59_999, 0), (JOB_2, 60_000, 1)] {
        let stop = s6s4t(&S6s4t { job_id: Some(job), ..stop_message() });
        let (origin, time_ms) = (Origin::Topic(CONTROL), Some(sent + after));
        stage.hear_as(&Heard { origin, payload: &stop, time_ms, ..heard });
        assert_eq!(stage.take().len(), answers, "{job} {after}");
    }
}

#[test]
fn after_a_restart_the_conversation_goes_on() {
    let mut stage = Stage::new(settings(3));
    let begun = NOW - 600_000;
    stage.jobs.with(|inner| {
        inner.states.push(found(JOB, Some(CONTROL), begun, None));
        inner.states.push(found(JOB_2, Some("other"), begun + 1, Some(NOW - 300_000)));
        inner.states.push(found(JOB_3, None, begun + 2, None));
    });
    stage.resume();
    let followed = [
        format!("+{CONTROL}@{begun}"),
        format!("+other@{}", begun + 1),
        format!("+{POOL}@{}", begun + 2),
        format!("+{OWN}@{}", begun + 2),
    ];
    assert_eq!(stage.followed, followed);
    assert!(!stage.conversation.has_room());
    assert_eq!(stage.lines.len(), 3);
    let at = |stage: &mut Stage, topic: &str, message: &S6s4t<'_>, sent: u64| {
        let (payload, origin) = (s6s4t(message), Origin::Topic(topic));
        let heard =
            Heard { origin, payload: &payload, time_ms: Some(sent), read_until_ms: begun, is_echo: false };
        stage.hear_as(&heard);
    };
    // A stop that came while nobody listened.
    at(&mut stage, CONTROL, &S6s4t { stop_time: 0, ..stop_message() }, NOW - 400_000);
    assert_eq!(stage.jobs.calls(), [format!("stop {JOB} Some({})", NOW - 400_000)]);
    // One that was followed before is answered, perhaps again, and not followed again.
    let stop = S6s4t { job_id: Some(JOB_2), stop_time: NOW - 300_000, ..stop_message() };
    at(&mut stage, "other", &stop, NOW - 310_000);
    at(&mut stage, "other", &S6s4t { stop_time: 0, ..stop }, NOW - 300_100);
    assert_eq!(stage.jobs.calls(), [""; 0]);
    // One of a job that has ended long ago is none for this program.
    at(
        &mut stage,
        OWN,
        &S6s4t { job_id: Some("44444444-2222-4333-8444-555555555555"), ..stop },
        NOW - 300_000,
    );
    let codes: Vec<Value> = stage.take().iter().map(|said| said.json["status_code"].clone()).collect();
    assert_eq!(codes, [201, 201, 201]);
    // ISIS's, of which nobody is told.
    at(&mut stage, POOL, &S6s4t { job_id: Some(JOB_3), ..isis_stop() }, NOW - 1000);
    assert_eq!(stage.jobs.calls(), [format!("stop {JOB_3} Some({})", NOW + 5000)]);
    assert!(stage.take().is_empty());
    // The pool does not know yet that a job was begun.
    let file = format!("{JOB}.nxs");
    assert!(stage.pool(&Pl72 { filename: Some(&file), ..start_message() }));
    let said = stage.take();
    assert_eq!((said.len(), &said[0].json["status_code"]), (1, &json!(201)));
    assert!(said[0].json["message"].as_str().unwrap().starts_with(Reply::Started.sentence()));
    // Ends are said, and a restarted writer is idle after the last.
    for job in [JOB, JOB_2, JOB_3] {
        stage.jobs.end(job, None, "{}");
    }
    stage.tick();
    let said = kinds(&mut stage);
    assert_eq!(said, [on(CONTROL, Sent::End), on("other", Sent::End), on(OWN, Sent::Status)]);
}
