//! Every answer of the file writer, one by one: written from the facts of the reference, and of what goes beyond it.

use crate::control_common::*;
use evforge_filewriter::control::{Origin, Reply, Sent};
use evforge_messages::{Pl72, S6s4t};
use std::collections::BTreeSet;

/// What a start is like, and what is answered.
struct Case {
    what: &'static str,
    message: Pl72<'static>,
    reply: Reply,
    /// Part of the sentence.
    says: &'static str,
}

fn with(change: impl FnOnce(&mut Pl72<'static>)) -> Pl72<'static> {
    let mut message = start_message();
    change(&mut message);
    message
}

fn cases() -> Vec<Case> {
    use Reply::*;
    let mut all = Vec::new();
    let mut case = |what, reply: Reply, says, change: fn(&mut Pl72<'static>)| {
        all.push(Case { what, message: with(change), reply, says });
    };
    case("as it is", Started, "start time 2026-11-23T00:00:00Z, stop time not known yet", |_| {});
    case("a stop", Started, "stop time 2026-11-23T00:00:01Z", |m| m.stop_time = NOW + 1000);
    case("the start is the stop", Started, "", |m| m.stop_time = NOW);
    case("the stop that means none", Started, "not known yet", |m| m.stop_time = 9_223_372_036_854);
    case("now", Started, "start time 2026-11-23T00:00:00Z", |m| m.start_time = 0);
    case("yesterday", Started, "start time 2026-11-22", |m| m.start_time = NOW - 86_400_000);
    case("1999", Started, "", |m| m.start_time = 1_000_000_000_000);
    case("metadata that are none", Started, "no JSON object", |m| m.metadata = Some("[1]"));
    case("no metadata", Started, "", |m| m.metadata = None);
    case("a folder", Started, "", |m| m.filename = Some("a/b/run.nxs"));
    case("a detour of one point", Started, "", |m| m.filename = Some("./a/./run.nxs"));
    case("points in a name", Started, "", |m| m.filename = Some("..run...nxs"));
    case("an instrument", Started, "", |m| m.instrument_name = Some("freia"));
    case("for another one", Started, "", |m| m.service_id = Some("writer-7"));
    case("a UUID without hyphens", Started, "", |m| m.job_id = Some("11111111222243338444555555555555"));
    case("no job id", Incomplete, "job_id missing", |m| m.job_id = None);
    case("an empty job id", Incomplete, "job_id missing", |m| m.job_id = Some(""));
    case("no structure", Incomplete, "nexus_structure missing", |m| m.nexus_structure = None);
    case("an empty structure", Incomplete, "nexus_structure", |m| m.nexus_structure = Some(""));
    case("no file name", Incomplete, "filename missing", |m| m.filename = None);
    case("an empty file name", Incomplete, "filename missing", |m| m.filename = Some(""));
    case("nothing", Incomplete, "job_id, nexus_structure, filename", |m| *m = Pl72::default());
    case("another job id", JobIdInvalid, "`run 7` is no UUID", |m| m.job_id = Some("run 7"));
    case("nil", JobIdInvalid, "", |m| m.job_id = Some("00000000-0000-0000-0000-000000000000"));
    case("Microsoft's", JobIdInvalid, "", |m| m.job_id = Some("11111111-2222-4333-c444-555555555555"));
    case("NCS's", JobIdInvalid, "", |m| m.job_id = Some("11111111-2222-4333-1444-555555555555"));
    case("id before topic", JobIdInvalid, "", |m| (m.job_id, m.control_topic) = (Some("x"), None));
    case("no control topic", NoControlTopic, "", |m| m.control_topic = None);
    case("an empty control topic", NoControlTopic, "", |m| m.control_topic = Some(""));
    case("topic before file", NoControlTopic, "", |m| (m.control_topic, m.filename) = (None, Some("/x")));
    case("no name of a topic", ControlTopicInvalid, "`a b`", |m| m.control_topic = Some("a b"));
    case("points", ControlTopicInvalid, "", |m| m.control_topic = Some(".."));
    case("from the root", FileInvalid, "relative", |m| m.filename = Some("/etc/run.nxs"));
    case("up", FileInvalid, "`..`", |m| m.filename = Some("../run.nxs"));
    case("down and up", FileInvalid, "`..`", |m| m.filename = Some("a/../../run.nxs"));
    case("a folder alone", FileInvalid, "folder", |m| m.filename = Some("a/"));
    case("the folder itself", FileInvalid, "folder", |m| m.filename = Some("."));
    case("a zero", FileInvalid, "zero", |m| m.filename = Some("a\0b"));
    case("a path of a template", InstrumentInvalid, "", |m| m.instrument_name = Some("a/b"));
    case("templates above", InstrumentInvalid, "", |m| m.instrument_name = Some(".."));
    case("2100", TimesInvalid, "start_time 4102444800000", |m| m.start_time = 4_102_444_800_000);
    case("stop in 2100", TimesInvalid, "stop_time 4102444800000", |m| m.stop_time = 4_102_444_800_000);
    case("2255", TimesInvalid, "before 2100", |m| m.start_time = 9_000_000_000_000);
    case("the stop first", TimesInvalid, "before the start", |m| m.stop_time = NOW - 1);
    case("no JSON", StartFailed, "the structure is no JSON", |m| m.nexus_structure = Some("{"));
    all
}

#[test]
fn starts_of_the_pool_are_answered_each_with_its_code() {
    let mut seen = BTreeSet::new();
    for Case { what, message, reply, says } in cases() {
        let mut stage = Stage::new(settings(3));
        assert!(stage.pool(&message), "{what}: it was left");
        let answers: Vec<_> = stage.take().into_iter().filter(|said| said.kind == Sent::Answer).collect();
        let is_begun = [Reply::Started, Reply::StartFailed].contains(&reply);
        let mut topics: Vec<&str> = answers.iter().map(|said| said.topic.as_str()).collect();
        topics.sort_unstable();
        let control = message.control_topic.filter(|topic| !["", "a b", ".."].contains(topic));
        let expected: Vec<&str> = match is_begun {
            true => vec![CONTROL],
            false => control.into_iter().chain([OWN]).collect(),
        };
        assert_eq!(topics, expected, "{what}");
        for answer in &answers {
            let json = &answer.json;
            let id = message.job_id.unwrap_or_default();
            assert_eq!(json["schema"], "answ", "{what}");
            assert_eq!((&json["service_id"], &json["job_id"]), (&SERVICE.into(), &id.into()), "{what}");
            // The command of a start is the job.
            assert_eq!(json["command_id"], id, "{what}");
            assert_eq!(json["action"], "StartJob", "{what}");
            let is_done = reply == Reply::Started;
            assert_eq!(json["outcome"], if is_done { "Success" } else { "Failure" }, "{what}");
            assert_eq!(json["status_code"], reply.code(), "{what}: {json}");
            let sentence = json["message"].as_str().unwrap();
            assert!(sentence.starts_with(reply.sentence()) && sentence.contains(says), "{what}: {sentence}");
            let stop = match message.stop_time {
                _ if !is_done => 0,
                0 => 9_223_372_036_854,
                stop => stop,
            };
            assert_eq!(json["stop_time"], stop, "{what}");
        }
        assert_eq!(stage.jobs.running().len(), usize::from(reply == Reply::Started), "{what}");
        assert_eq!(stage.jobs.calls().len(), usize::from(is_begun), "{what}");
        // Nothing is followed for what does not run.
        let net: i32 = stage.followed.iter().map(|one| if one.starts_with('+') { 1 } else { -1 }).sum();
        assert_eq!(net, i32::from(reply == Reply::Started), "{what}: {:?}", stage.followed);
        assert!(!stage.lines.is_empty(), "{what}");
        seen.insert(reply);
    }
    // The others need jobs that run.
    let others = [Reply::AtLimit, Reply::JobRuns, Reply::FileInUse];
    let starts = Reply::ALL.iter().filter(|reply| reply.action() == Reply::Started.action());
    let missing: Vec<_> = starts.filter(|reply| !seen.contains(reply)).collect();
    assert_eq!(missing, others.iter().collect::<Vec<_>>());
}

#[test]
fn codes_are_those_of_the_reference() {
    for reply in Reply::ALL {
        let code = match reply {
            Reply::Started | Reply::StopsNow | Reply::StopSet | Reply::Aborted => 201,
            Reply::StartFailed | Reply::StopFailed => 500,
            _ => 400,
        };
        assert_eq!(reply.code(), code, "{reply:?}");
    }
}

/// A stage on which a job runs.
fn with_a_job(jobs_at_most: usize, message: &Pl72<'_>) -> Stage {
    let mut stage = Stage::new(settings(jobs_at_most));
    assert!(stage.pool(message));
    stage.take();
    stage.jobs.calls();
    stage
}

/// The codes that were answered, each topic once.
fn codes(stage: &mut Stage) -> Vec<(String, i64)> {
    let answers = stage.take().into_iter().filter(|said| said.kind == Sent::Answer);
    answers.map(|said| (said.topic, said.json["status_code"].as_i64().expect("a code"))).collect()
}

#[test]
fn a_second_job_is_refused_where_it_would_be_in_the_way() {
    let mut stage = with_a_job(2, &start_message());
    let both = |code| vec![(OWN.to_owned(), code), (CONTROL.to_owned(), code)];
    stage.pool(&start_message());
    assert_eq!(codes(&mut stage), both(400));
    assert!(stage.lines.last().unwrap().contains(Reply::JobRuns.sentence()), "{:?}", stage.lines);
    stage.pool(&with(|m| (m.job_id, m.filename) = (Some(JOB_2), Some("./run_1.nxs"))));
    assert_eq!(codes(&mut stage), both(400));
    assert!(stage.lines.last().unwrap().contains(Reply::FileInUse.sentence()), "{:?}", stage.lines);
    assert!(stage.lines.last().unwrap().contains(JOB), "{:?}", stage.lines);
    let second = with(|m| (m.job_id, m.filename) = (Some(JOB_2), Some("run_2.nxs")));
    stage.pool(&second);
    assert_eq!(codes(&mut stage), [(CONTROL.to_owned(), 201)]);
    // At the limit starts stay in the pool, and on the command topic they are refused.
    let third = with(|m| (m.job_id, m.filename) = (Some(JOB_3), Some("run_3.nxs")));
    assert!(!stage.conversation.has_room());
    assert!(!stage.pool(&third));
    assert!(stage.take().is_empty());
    stage.hear(Origin::Topic(OWN), &pl72(&third));
    assert_eq!(codes(&mut stage), both(400));
    assert!(stage.lines.last().unwrap().contains(Reply::AtLimit.sentence()), "{:?}", stage.lines);
    // What is missing is said before that.
    stage.hear(Origin::Topic(OWN), &pl72(&with(|m| m.filename = None)));
    assert!(stage.lines.last().unwrap().contains(Reply::Incomplete.sentence()), "{:?}", stage.lines);
    // When one has ended there is room again.
    stage.jobs.end(JOB, None, "{}");
    stage.tick();
    assert!(stage.conversation.has_room() && stage.pool(&third));
    assert_eq!(stage.jobs.running(), [JOB_2, JOB_3]);
}

#[test]
fn the_command_topic_takes_starts_for_this_writer_or_for_any() {
    for (service, is_taken) in [(None, true), (Some(""), true), (Some(SERVICE), true), (Some("other"), false)]
    {
        let mut stage = Stage::new(settings(1));
        stage.hear(Origin::Topic(OWN), &pl72(&with(|m| m.service_id = service)));
        assert_eq!(stage.jobs.running().len(), usize::from(is_taken), "{service:?}");
        assert_eq!(codes(&mut stage).len(), usize::from(is_taken), "{service:?}");
    }
    // On another topic a start is none.
    let mut stage = Stage::new(settings(1));
    stage.hear(Origin::Topic(CONTROL), &pl72(&start_message()));
    assert!(stage.jobs.calls().is_empty() && stage.take().is_empty());
}

fn stop_with(change: impl FnOnce(&mut S6s4t<'static>)) -> S6s4t<'static> {
    let mut message = stop_message();
    change(&mut message);
    message
}

#[test]
fn stops_are_answered_each_with_its_code() {
    use Reply::*;
    let mut seen = BTreeSet::new();
    let mut case = |what: &str, reply: Reply, says: &str, calls: &[&str], message: S6s4t<'_>| {
        let ended = start_message();
        let run_name = Some(if reply == StopFailed { "has ended" } else { "r" });
        let mut stage = match reply {
            NothingRuns => Stage::new(settings(2)),
            _ => with_a_job(2, &Pl72 { run_name, ..ended }),
        };
        stage.stop(CONTROL, &message);
        let said = stage.take();
        assert_eq!(said.len(), 1, "{what}: {said:?}");
        let json = &said[0].json;
        assert_eq!((said[0].topic.as_str(), said[0].kind), (CONTROL, Sent::Answer), "{what}");
        assert_eq!(json["action"], "SetStopTime", "{what}");
        assert_eq!(json["status_code"], reply.code(), "{what}: {json}");
        assert_eq!(json["outcome"], if reply.code() == 201 { "Success" } else { "Failure" }, "{what}");
        assert_eq!(json["job_id"], message.job_id.unwrap_or_default(), "{what}");
        let sentence = json["message"].as_str().unwrap();
        assert!(sentence.starts_with(reply.sentence()) && sentence.contains(says), "{what}: {sentence}");
        match message.command_id {
            Some(id) if !id.is_empty() => assert_eq!(json["command_id"], id, "{what}"),
            _ if reply.code() == 400 => assert_eq!(json["command_id"], "", "{what}"),
            _ => assert_eq!(json["command_id"].as_str().map(str::len), Some(36), "{what}"),
        }
        let stop = match reply {
            StopSet => message.stop_time,
            StopsNow | Aborted => NOW,
            _ => 0,
        };
        assert_eq!(json["stop_time"], stop, "{what}");
        assert_eq!(stage.jobs.calls(), calls, "{what}");
        assert!(stage.lines.last().unwrap().contains(reply.sentence()), "{what}: {:?}", stage.lines);
        seen.insert(reply);
    };
    let set = format!("stop {JOB} Some({})", NOW + 60_000);
    let now = format!("stop {JOB} None");
    let abort = format!("abort {JOB}");
    case("a time", StopSet, "2026-11-23T00:01:00Z", &[&set], stop_message());
    case("now", StopsNow, "", &[&now], stop_with(|m| m.stop_time = 0));
    case("abort", Aborted, "", &[&abort], stop_with(|m| m.abort = true));
    case("empty command", StopSet, "was given one", &[&set], stop_with(|m| m.command_id = Some("")));
    case("no command", StopSet, "was given one", &[&set], stop_with(|m| m.command_id = None));
    case("another service", StopSet, "", &[&set], stop_with(|m| m.service_id = Some("writer-7")));
    case("no job", NoJobId, "", &[], stop_with(|m| m.job_id = None));
    case("an empty job", NoJobId, "", &[], stop_with(|m| m.job_id = Some("")));
    case("job before command", NoJobId, "", &[], stop_with(|m| (m.job_id, m.command_id) = (None, Some("x"))));
    case("idle", NothingRuns, "", &[], stop_message());
    case("idle first", NothingRuns, "", &[], stop_with(|m| m.command_id = Some("x")));
    case("another job", OtherJobRuns, JOB_2, &[], stop_with(|m| m.job_id = Some(JOB_2)));
    case(
        "other first",
        OtherJobRuns,
        "",
        &[],
        stop_with(|m| (m.job_id, m.command_id) = (Some(JOB_2), Some("x"))),
    );
    case("no UUID", CommandIdInvalid, "`x`", &[], stop_with(|m| m.command_id = Some("x")));
    case("2100", StopTimeInvalid, "2100", &[], stop_with(|m| m.stop_time = 4_102_444_800_000));
    case("before", StopTimeInvalid, "before the start", &[], stop_with(|m| m.stop_time = NOW - 1));
    case("too late", StopFailed, "has passed", &[&set], stop_message());
    let stops = Reply::ALL.iter().filter(|reply| reply.action() == StopSet.action());
    assert_eq!(stops.filter(|reply| !seen.contains(reply)).count(), 0);
}

/// Code and sentence of each row in the tables of a document.
fn rows(document: &str) -> Vec<(i32, String)> {
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    let rows = document.lines().filter(|line| line.starts_with("| ")).map(cells);
    let row = |cells: Vec<String>| Some((cells.first()?.parse().ok()?, cells.get(1)?.clone()));
    // Steps of a conversation are numbered as well.
    rows.filter_map(row).filter(|(code, _)| *code >= 100).collect()
}

#[test]
fn the_document_has_every_answer() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/file-writer-control.md");
    let document = std::fs::read_to_string(path).expect("a document");
    let expected: Vec<_> =
        Reply::ALL.iter().map(|reply| (reply.code(), reply.sentence().to_owned())).collect();
    assert_eq!(rows(&document), expected);
    for text in ["\"state\":\"writing\"", "`evforge-echo`", "9223372036854", "120 s"] {
        assert!(document.contains(text), "{text}");
    }
}
