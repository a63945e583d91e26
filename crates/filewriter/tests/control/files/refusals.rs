//! Starts that cannot be followed for what there is in folders and on brokers.

use crate::control_common::kafka::*;
use crate::control_common::*;
use crate::files::support::*;
use evforge_filewriter::control::{Action, Conversation, Heard, JobRunner, Origin};
use evforge_messages::{Pl72, decode};
use evforge_testkit::kafka_broker::shared;
use serde_json::{Value, json};

/// File, instrument, structure; code of the answer, and what it says.
type Case<'a> = (&'a str, Option<&'a str>, Value, u64, &'a [&'a str]);

#[test]
fn a_start_that_cannot_be_followed_says_why_and_leaves_nothing() {
    let Some(broker) = shared("a_start_that_cannot_be_followed_says_why_and_leaves_nothing") else { return };
    let (site, folder) = (Site::Shared(broker), folder());
    let [pool, _, control_topic, of_events, of_logs] = site.topics([POOL, OWN, CONTROL, DATA, LOGS]);
    let (here, good) = (site.client(), structure_of(of_events, of_logs));
    let files = folder.path().join("files");
    let write = |name: &str| std::fs::write(files.join(name), "x").unwrap();
    write("there.nxs");
    write("begun.nxs.job");
    write("torn.nxs.writing");
    write("no_folder");
    std::os::unix::fs::symlink("nowhere", files.join("link.nxs")).unwrap();
    std::fs::create_dir_all(folder.path().join("templates/empty")).unwrap();
    std::fs::create_dir_all(folder.path().join("templates/torn")).unwrap();
    std::fs::write(folder.path().join("templates/torn/torn.hdf"), "no HDF5").unwrap();
    let before = names(&files);
    let settings = site.service(SERVICE);
    let writer = writer(&settings, runner(&settings, folder.path()));
    let mut control = Listener::open(&here, control_topic);

    let with = |pointer: &str, value: Value| {
        let mut structure = good.clone();
        *structure.pointer_mut(pointer).unwrap() = value;
        structure
    };
    let module = "/children/0/children/2/children/0";
    let cases: [Case<'_>; 14] = [
        ("there.nxs", None, good.clone(), 500, &["there.nxs exists already"]),
        ("link.nxs", None, good.clone(), 500, &["link.nxs exists already"]),
        ("begun.nxs", None, good.clone(), 500, &["begun.nxs.job exists"]),
        ("torn.nxs", None, good.clone(), 500, &["torn.nxs.writing exists"]),
        ("a/b.nxs", None, good.clone(), 500, &["there is no folder", "files/a:"]),
        ("no_folder/b.nxs", None, good.clone(), 500, &["there is no folder", "no_folder:"]),
        ("a.nxs.job", None, good.clone(), 500, &["a.nxs.job is the name of a file that may lie next to one"]),
        ("../b.nxs", None, good.clone(), 400, &["`..`"]),
        ("b.nxs", Some("none"), good.clone(), 500, &["template of instrument none", "none/none.hdf"]),
        ("b.nxs", Some("empty"), good.clone(), 500, &["empty/empty.hdf"]),
        ("b.nxs", Some("torn"), good.clone(), 500, &["open the template", "torn/torn.hdf"]),
        (
            "b.nxs",
            None,
            with(module, json!({"module": "ev99", "config": {"topic": of_events, "source": BANK}})),
            500,
            &["/entry/events", "ev99"],
        ),
        (
            "b.nxs",
            None,
            with(module, json!({"module": "ev44", "config": {"topic": "nobody_has_it", "source": BANK}})),
            500,
            &["nobody_has_it"],
        ),
        ("b.nxs", None, json!({"children": []}), 500, &["asks for no topic"]),
    ];
    for (file, instrument, structure, code, says) in cases {
        let structure = structure.to_string();
        let message = Pl72 { start_time: 0, control_topic: Some(control_topic), ..start_message() };
        let message = Pl72 { filename: Some(file), instrument_name: instrument, ..message };
        send(&here, pool, &pl72(&Pl72 { nexus_structure: Some(&structure), ..message }));
        let answer = control.next("answ");
        assert_eq!(answer["status_code"], code, "{file}: {answer}");
        let sentence = answer["message"].as_str().unwrap();
        for part in says {
            assert!(sentence.contains(part), "{file}: {part}: {sentence}");
        }
        assert!(!sentence.contains("--"), "no options of commands: {sentence}");
        assert_eq!(names(&files), before, "{file}");
    }
    // It is as good as new.
    send(&here, pool, &start(JOB, "b.nxs", &good, control_topic, 0));
    assert_eq!(control.next("answ")["status_code"], 201);
    send(&here, control_topic, &stop(JOB, now_ms() + 100));
    let end = control.next("wrdn");
    assert_eq!(end["error_encountered"], false, "{end}");
    check_complete(&files.join("b.nxs"));
    writer.end();
}

/// A group for each module.
fn groups(count: usize, module: &str, config: &Value) -> Value {
    let group = |number| {
        let node = json!({"module": module, "config": config});
        json!({"type": "group", "name": format!("g{number}"), "children": [node]})
    };
    json!({"children": (0..count).map(group).collect::<Vec<_>>()})
}

/// Each of these was begun, and ended the process with all its jobs, or took minutes. Nothing is asked of brokers for them.
#[test]
fn a_start_that_asks_for_more_than_a_job_may_take_is_refused_with_the_sum() {
    let (settings, folder) = (service_at("127.0.0.1:1"), folder());
    let of_files = runner(&settings, folder.path());
    let mut jobs = JobRunner::open(of_files, &mut |line| panic!("{line}")).unwrap();
    let mut answer = |structure: &Value| {
        let structure = structure.to_string();
        let payload = pl72(&Pl72 { nexus_structure: Some(&structure), ..start_message() });
        let heard = Heard {
            origin: Origin::Pool,
            payload: &payload,
            time_ms: Some(NOW),
            read_until_ms: NOW,
            is_echo: false,
        };
        let mut answers = Vec::new();
        let mut act = |action| match action {
            Action::Send { payload, .. } => answers.push(decode(&payload).unwrap().to_json()),
            Action::Follow { .. } | Action::Unfollow { .. } | Action::Say(_) => {}
        };
        Conversation::new(settings.conversation()).hear(&heard, NOW, &mut jobs, &mut act);
        answers.retain(|json| json["schema"] == "answ");
        assert_eq!(answers[0]["status_code"], 500, "{answers:?}");
        (payload.len(), answers[0]["message"].as_str().unwrap().to_owned())
    };
    let log = json!({"topic": "t", "source": "s", "chunk_size": 67_108_864, "enable_alarm_info": false,
        "enable_epics_con_info": false});
    let (bytes, message) = answer(&groups(40, "f144", &log));
    assert!(bytes < 10_000, "{bytes}");
    // 40 GiB of chunks, and some for 280 datasets.
    for part in
        ["asks for 4096", "MiB of memory and of the disk in 40 modules", "take 2048 MiB", "chunk_size"]
    {
        assert!(message.contains(part), "{part}: {message}");
    }

    let (_, message) = answer(&groups(20_000, "ep01", &json!({"topic": "t", "source": "s"})));
    assert!(message.contains("asks for 20000 modules, where a job may take 10000"), "{message}");

    let sources: Vec<String> = (0..10_000).map(|number| number.to_string()).collect();
    let steps = json!({"name": "x", "data": {"first": 0, "last": 1, "size": 1 << 24}});
    let array = json!({"name": "a", "data_type": "int8", "shape": [1 << 28]});
    let texts: Vec<&str> = vec![""; 60_000];
    let texts = json!({"module": "dataset", "config": {"name": "t", "dtype": "string", "values": texts}});
    let mut with_texts = groups(40, "ep01", &json!({"topic": "t", "source": "s"}));
    for group in with_texts["children"].as_array_mut().unwrap() {
        let mut texts = texts.clone();
        texts["config"]["values"][0] = "x".repeat(1000).into();
        group["children"].as_array_mut().unwrap().push(texts);
    }
    let others = [
        // 64 KiB of what a commit keeps for each source.
        groups(1, "ev44", &json!({"topic": "t", "source": sources})),
        groups(20, "da00", &json!({"topic": "t", "source": "s", "constants": [steps]})),
        groups(9, "da00", &json!({"topic": "t", "source": "s", "variables": [array]})),
        groups(
            9,
            "ad00",
            &json!({"topic": "t", "source": "s", "dtype": "int8", "array_size": [1 << 14, 1 << 14]}),
        ),
        groups(300, "hs01", &json!({"topic": "t", "source": "s", "shape": [1 << 20]})),
        // Each text has the room of the longest.
        with_texts,
    ];
    for structure in &others {
        let (bytes, message) = answer(structure);
        assert!(bytes < 10_000_000 && message.contains("where a job may take 2048 MiB"), "{message}");
    }
    assert_eq!(names(&folder.path().join("files")), [""; 0]);
}

fn names(folder: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
