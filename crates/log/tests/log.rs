//! A log of its own for each test: switched while it runs, and given whatever somebody might say.

use evforge_log::{Compression, GelfSettings, Level, Log, LogSettings, group};
use evforge_testkit::patience::patience;
use serde_json::Value;
use std::collections::HashMap;
use std::net::UdpSocket;
use std::path::Path;
use std::sync::LazyLock;
use tracing_subscriber::layer::SubscriberExt;

/// Without a subscriber for all threads, `tracing` asks that of the present thread alone whether somebody listens, unless it knows of
/// several: a program has one for all threads, and these tests have several.
static ANOTHER: LazyLock<tracing::Dispatch> =
    LazyLock::new(|| tracing::Dispatch::new(tracing_subscriber::registry()));

/// What `say` says, as lines of the log's file.
fn said(log: &Log, settings: LogSettings, say: impl FnOnce()) -> Vec<Value> {
    LazyLock::force(&ANOTHER);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("log.jsonl");
    log.set_up(&LogSettings { file: Some(file.clone()), ..settings }, "loki", true).expect("a log");
    tracing::subscriber::with_default(tracing_subscriber::registry().with(log.layer()), say);
    log.end();
    lines(&file)
}

fn lines(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).expect("a file of UTF-8");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

fn messages(lines: &[Value]) -> Vec<&str> {
    lines.iter().filter_map(|line| line["message"].as_str()).collect()
}

#[test]
fn groups_appear_and_disappear_when_they_are_switched() {
    let log = Log::default();
    let control = log.control();
    let say = |what: &str| {
        tracing::debug!(target: group::PARSE, "parse {what}");
        tracing::debug!(target: group::KAFKA, "kafka {what}");
        tracing::info!(target: group::KAFKA, "kafka, always {what}");
    };
    let lines = said(&log, LogSettings::default(), || {
        say("before");
        control.set("parse", "debug").expect("known");
        // The same places of the source, which have been asked before.
        say("on");
        // And from another thread.
        let other = control.clone();
        std::thread::spawn(move || other.set("parse", "info").expect("known")).join().expect("no panic");
        say("off");
        control.set("all", "error").expect("known");
        say("silent");
    });
    assert_eq!(
        messages(&lines),
        ["kafka, always before", "parse on", "kafka, always on", "kafka, always off"]
    );
    assert!(control.groups().contains(&("parse", Level::Error)));
}

#[test]
fn whatever_is_said_is_a_line_and_bounded() {
    let log = Log::default();
    let huge = "\u{1b}[2J\n".repeat(200_000);
    let bytes: &[u8] = &[b'a', 0xff, 0xfe, b'\n', 0];
    let lines = said(&log, LogSettings::default(), || {
        tracing::error!(target: group::RUN, "{huge}");
        tracing::warn!(
            target: group::INPUT,
            bytes,
            huge = huge.as_str(),
            path = ?std::ffi::OsStr::new("\u{1b}"),
            nothing = f64::NAN,
            "two\nlines\r\u{0}"
        );
        tracing::warn!(target: "some_library::of::others", "from outside");
    });
    assert_eq!(lines.len(), 3);
    let message = lines[0]["message"].as_str().expect("text");
    assert!(message.len() < 300 << 10 && message.ends_with("bytes more)"), "{}", message.len());
    let fields = &lines[1]["fields"];
    assert_eq!(lines[1]["message"], "two\nlines\r\u{0}");
    assert_eq!((&fields["bytes"], &fields["nothing"]), (&"a\u{fffd}\u{fffd}\n\u{0}".into(), &"NaN".into()));
    assert!(fields["huge"].as_str().is_some_and(|text| text.len() < 9 << 10));
    assert_eq!(lines[2]["group"], "other");
    assert_eq!((log.counters().texts_shortened, log.counters().warnings), (2, 2));
}

#[test]
fn a_flood_from_many_threads_is_said_in_short_and_counted_to_the_last() {
    let log = Log::default();
    let flood = 5 * 1000_u64;
    let lines = said(&log, LogSettings::default(), || {
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        std::thread::scope(|scope| {
            for thread in 0..5_u64 {
                let dispatch = dispatch.clone();
                scope.spawn(move || {
                    tracing::dispatcher::with_default(&dispatch, || {
                        for number in 0..flood / 5 {
                            tracing::warn!(target: group::PARSE, number, "packet {thread}.{number} is bad");
                        }
                    });
                });
            }
        });
        tracing::warn!(target: group::PARSE, "something else");
    });
    let held: u64 = lines.iter().filter_map(|line| line["fields"]["held_back"].as_u64()).sum();
    let counters = log.counters();
    assert_eq!((held, counters.repeats_held_back), (flood - 5, flood - 5), "{lines:?}");
    assert_eq!(counters.warnings, flood + 1);
    assert_eq!(messages(&lines).iter().filter(|text| text.starts_with("packet")).count(), 5);
    assert!(messages(&lines).iter().any(|text| text.starts_with("… 4 995 more in ")), "{lines:?}");
}

/// Puts together what comes until a message is whole.
fn gelf_message(listener: &UdpSocket) -> (Value, usize) {
    let mut chunks: HashMap<Vec<u8>, Vec<(u8, Vec<u8>)>> = HashMap::new();
    let mut bytes = vec![0; 70_000];
    loop {
        let length = listener.recv(&mut bytes).expect("a datagram");
        let datagram = &bytes[..length];
        if datagram[..2] != [0x1e, 0x0f] {
            return (serde_json::from_slice(datagram).expect("JSON"), 1);
        }
        let (number, count) = (datagram[10], datagram[11]);
        assert!(number < count && count <= 128, "{number} of {count}");
        let parts = chunks.entry(datagram[2..10].to_vec()).or_default();
        parts.push((number, datagram[12..].to_vec()));
        if parts.len() == usize::from(count) {
            parts.sort();
            let whole: Vec<u8> = parts.iter().flat_map(|(_, part)| part.clone()).collect();
            return (serde_json::from_slice(&whole).expect("JSON"), parts.len());
        }
    }
}

#[test]
fn what_is_too_large_for_graylog_is_shortened_and_counted() {
    let listener = UdpSocket::bind("127.0.0.1:0").expect("a port");
    listener.set_read_timeout(Some(patience())).expect("a time-out");
    let address = format!("udp://{}", listener.local_addr().expect("an address"));
    let gelf = GelfSettings {
        compression: Compression::None,
        ..GelfSettings::new(address.parse().map_err(|_| ()).expect("an address"))
    };
    let log = Log::default();
    // With all that JSON has to write in six characters.
    let text = "first\n".to_owned() + &"\u{1}".repeat(250_000);
    let (told, heard) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || (0..2).for_each(|_| drop(told.send(gelf_message(&listener)))));
    said(&log, LogSettings { gelf: Some(gelf), ..LogSettings::default() }, || {
        tracing::error!(target: group::RUN, "{text}");
        tracing::error!(target: group::RUN, "small");
    });
    reader.join().expect("both are heard");
    let (shortened, chunks) = heard.recv().expect("the first");
    assert!(chunks > 64, "{chunks}");
    assert_eq!((&shortened["short_message"], &shortened["_shortened"]), (&"first".into(), &"true".into()));
    assert!(shortened["full_message"].as_str().is_some_and(|whole| text.starts_with(whole)));
    assert_eq!((heard.recv().expect("the second").1, log.counters().gelf_shortened), (1, 1));
    assert_eq!(log.counters().gelf_sent, 2);
}
