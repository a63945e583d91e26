//! Whatever comes, in whatever order: no panic, no job twice, never more than may be, and every message sent can be read.

use crate::control_common::*;
use evforge_filewriter::control::{ConversationSettings, Heard, Origin, Sent};
use evforge_messages::{Pl72, S6s4t};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

/// What happens next.
#[derive(Clone, Debug)]
enum Event {
    Message { origin: u8, payload: Vec<u8>, age: u64, read_age: u64, is_echo: bool },
    End(u8, bool),
    Wait(u64),
    Restart,
    Vanish,
}

// Most are right, so that some messages are right in everything.
const JOBS: [&str; 8] = [JOB, JOB_2, JOB_3, JOB, JOB_2, JOB_3, "", "no uuid"];
const TOPICS: [&str; 5] = [POOL, OWN, CONTROL, "other", "a b"];

fn pick<T: Copy + std::fmt::Debug>(of: &'static [T]) -> impl Strategy<Value = Option<T>> {
    proptest::option::weighted(0.97, (0..of.len()).prop_map(|place| of[place]))
}

fn time() -> impl Strategy<Value = u64> {
    prop_oneof![
        12 => Just(0_u64),
        3 => NOW - 200_000..NOW + 200_000,
        1 => 0_u64..9_223_372_036_855,
        1 => any::<u64>()
    ]
}

fn start() -> impl Strategy<Value = Vec<u8>> {
    let files = &[
        "run_1.nxs",
        "./run_1.nxs",
        "a/run_2.nxs",
        "a/run_2.nxs",
        "run_3.nxs",
        "run_3.nxs",
        "../x",
        "/x",
        "",
    ];
    let names = (
        pick(&JOBS),
        pick(&[CONTROL, CONTROL, OWN, OWN, POOL, "other", "a b"]),
        pick(files),
        pick(&["{}", "{}", "{}", "{}", "{}", "{}", "{", ""]),
    );
    let others = (
        pick(&["", SERVICE, "other"]),
        pick(&["", "b"]),
        pick(&["", "", "", "freia", ".."]),
        pick(&["{}", "["]),
    );
    (names, others, time(), time()).prop_map(|((job, topic, file, structure), other, start, stop)| {
        pl72(&Pl72 {
            start_time: start,
            stop_time: stop,
            job_id: job,
            control_topic: topic,
            filename: file,
            nexus_structure: structure,
            service_id: other.0,
            broker: other.1,
            instrument_name: other.2,
            metadata: other.3,
            ..Pl72::default()
        })
    })
}

fn stop() -> impl Strategy<Value = Vec<u8>> {
    (pick(&JOBS), pick(&["", COMMAND, "x"]), pick(&["", SERVICE]), time(), any::<bool>()).prop_map(
        |(job_id, command_id, service_id, stop_time, abort)| {
            s6s4t(&S6s4t { stop_time, job_id, command_id, service_id, abort, run_name: None })
        },
    )
}

fn event() -> impl Strategy<Value = Event> {
    let damaged =
        (start(), any::<prop::sample::Index>(), any::<u8>()).prop_map(|(mut bytes, place, value)| {
            let place = place.index(bytes.len());
            bytes[place] = value;
            bytes
        });
    let payload = prop_oneof![6 => start(), 3 => stop(), 1 => vec(any::<u8>(), 0..64), 2 => damaged];
    let age = || prop_oneof![4 => Just(0_u64), 1 => 0_u64..300_000];
    let message = (0_u8..5, payload, age(), age(), proptest::bool::weighted(0.1)).prop_map(
        |(origin, payload, age, read_age, is_echo)| Event::Message {
            origin,
            payload,
            age,
            read_age,
            is_echo,
        },
    );
    prop_oneof![
        12 => message,
        2 => (0_u8..3, any::<bool>()).prop_map(|(job, is_bad)| Event::End(job, is_bad)),
        3 => (0_u64..10_000).prop_map(Event::Wait),
        1 => Just(Event::Restart),
        1 => Just(Event::Vanish),
    ]
}

fn check_said(stage: &mut Stage) {
    for said in stage.take() {
        assert_ne!(said.json, Value::Null, "a message of ours cannot be read");
        assert_ne!(said.topic, POOL, "something was said in the pool");
        assert!(["a b", ""].iter().all(|topic| *topic != said.topic));
        if said.kind == Sent::Answer {
            assert!([201, 400, 500].contains(&said.json["status_code"].as_i64().unwrap_or(0)));
        }
    }
}

fn play(events: &[Event], settings: &ConversationSettings) {
    let mut stage = Stage::new(settings.clone());
    stage.resume();
    for event in events {
        let before = stage.jobs.running().len();
        match event {
            Event::Message { origin, payload, age, read_age, is_echo } => {
                let origin = match origin {
                    0 => Origin::Pool,
                    topic => Origin::Topic(TOPICS[usize::from(*topic) % TOPICS.len()]),
                };
                let had_room = stage.conversation.has_room();
                let (time_ms, read_until_ms) = (Some(stage.now - age), stage.now - read_age);
                let heard = Heard { origin, payload, time_ms, read_until_ms, is_echo: *is_echo };
                let is_taken = stage.hear_as(&heard);
                assert!(is_taken || !had_room && origin == Origin::Pool, "a start was left");
            }
            Event::End(job, is_bad) => {
                stage.jobs.end(JOBS[usize::from(*job)], is_bad.then_some("bad"), "{}");
            }
            Event::Wait(ms) => stage.now += ms,
            Event::Restart => {
                let (jobs, now) = (stage.jobs.clone(), stage.now);
                stage = Stage { jobs, now, ..Stage::new(settings.clone()) };
                stage.resume();
            }
            Event::Vanish => stage.jobs.with(|inner| drop(inner.states.pop())),
        }
        // The fake jobs refuse two of one id with a panic.
        let running = stage.jobs.running().len();
        assert!(running <= settings.jobs_at_most.max(before), "{running} jobs run");
        stage.tick();
        check_said(&mut stage);
        assert!(stage.jobs.with(|inner| inner.states.len()) <= settings.jobs_at_most);
        assert_eq!(stage.jobs.running().len() < settings.jobs_at_most, stage.conversation.has_room());
        let files = stage.jobs.with(|inner| {
            inner
                .states
                .iter()
                .map(|state| state.request.file.clone())
                .collect::<std::collections::BTreeSet<_>>()
        });
        assert_eq!(files.len(), stage.jobs.running().len(), "two jobs write one file");
    }
    stage.farewell();
    check_said(&mut stage);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_order_of_messages_breaks_the_conversation(
        events in vec(event(), 0..60), jobs_at_most in 1_usize..4, is_quiet: bool, has_pool: bool,
    ) {
        let settings = ConversationSettings {
            is_command_topic_quiet: is_quiet,
            pool_topic: has_pool.then(|| POOL.to_owned()),
            ..settings(jobs_at_most)
        };
        if has_pool {
            play(&events, &settings);
        } else {
            let no_pool = |event: &Event| !matches!(event, Event::Message { origin: 0, .. });
            let events: Vec<Event> = events.into_iter().filter(no_pool).collect();
            // What would be the pool is a topic as any other.
            let mut stage = Stage::new(settings);
            for event in events {
                if let Event::Message { payload, .. } = event {
                    stage.hear(Origin::Topic(OWN), &payload);
                    stage.tick();
                }
            }
        }
    }
}
