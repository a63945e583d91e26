//! Everything that keeps a client from a topic, made to happen with a real broker or what is taken for one: each is named within
//! seconds, with what fixes it.

use crate::common::certificates::Authority;
use evforge_kafka::client::{
    Admin, Cause, ClientError, ClientSettings, Deadline, Witness, check, first_since, partition_ends,
};
use evforge_kafka::tools::Sender;
use evforge_kafka::topic::{Begin, TopicReader, Until};
use evforge_testkit::kafka_broker::{Broker, BrokerOptions, Listener, Topic, is_possible};
use evforge_testkit::patience::patience;
use rdkafka::consumer::BaseConsumer;
use rdkafka::mocking::MockCluster;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// After this time nobody has answered: longer than librdkafka waits for a first answer, which is real time.
const SILENCE: Duration = Duration::from_secs(5);

fn settings(text: &str) -> ClientSettings {
    toml::from_str(text).expect("settings")
}

/// Settings with `security.protocol` and further options.
fn secured(broker: &str, protocol: &str, options: &[(&str, &str)]) -> ClientSettings {
    let mut text = format!("brokers = '{broker}'\n[options]\n'security.protocol' = '{protocol}'\n");
    for (key, value) in options {
        text.push_str(&format!("'{key}' = '{value}'\n"));
    }
    settings(&text)
}

#[track_caller]
fn refused(settings: &ClientSettings, cause: Cause, words: &[&str]) -> ClientError {
    let within = if cause == Cause::Silent { SILENCE } else { patience() };
    let begin = Instant::now();
    let error = check(settings, &[], within).expect_err("it cannot be reached");
    // All but silence is known before the time is over.
    assert!(cause == Cause::Silent || begin.elapsed() < within, "{error}");
    assert_eq!(error.cause, cause, "{error}");
    for word in words {
        assert!(error.message.contains(word), "without `{word}`: {error}");
    }
    error
}

/// A server that does this with each connection.
fn server(answer: impl Fn(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || listener.incoming().flatten().for_each(&answer));
    address
}

/// A server that takes connections, and never answers.
fn silent_server() -> String {
    server(std::mem::forget)
}

#[test]
fn hosts_and_ports_that_are_wrong_are_named() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let at = |address: &str| settings(&format!("brokers = '{address}'"));
    refused(&at(&free.to_string()), Cause::NothingListens, &[&free.to_string(), "nothing listens"]);
    refused(
        &at("no-such-host.invalid"),
        Cause::HostNotFound,
        &["no-such-host.invalid:9092", "not known here"],
    );
    // Of several the one that says most is named.
    refused(&at(&format!("no-such-host.invalid,{free}")), Cause::HostNotFound, &["no-such-host.invalid"]);
    let web = server(|mut stream| {
        let mut request = [0; 10];
        let _ = stream.read(&mut request);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    });
    refused(&at(&web), Cause::NotKafka, &[&web, "something else than a Kafka broker"]);
    let shell = server(|mut stream| {
        let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n");
        std::mem::forget(stream);
    });
    refused(&at(&shell), Cause::NotKafka, &["something else"]);
    // As brokers before 0.10 do it.
    let old = server(|mut stream| {
        let mut request = [0; 10];
        let _ = stream.read(&mut request);
    });
    refused(&at(&old), Cause::BrokerTooOld, &[&old, "older than the protocol"]);
    let silent = silent_server();
    refused(&at(&silent), Cause::Silent, &[&silent, "nothing is answered"]);
}

#[test]
fn a_broker_that_answers_late_is_waited_for() {
    let late = MockCluster::new(1).unwrap();
    late.create_topic("events", 1, 1).unwrap();
    late.broker_round_trip_time(1, Duration::from_millis(700)).unwrap();
    let here = settings(&format!("brokers = '{}'", late.bootstrap_servers()));
    let checked = check(&here, &["events"], patience()).unwrap();
    assert_eq!(checked.topics[0].partitions, [(0, Some(1))]);
}

#[test]
fn who_is_asked_to_end_waits_for_no_broker() {
    let silent = silent_server();
    let here = settings(&format!("brokers = '{silent}'"));
    let stop = Arc::new(AtomicBool::new(false));
    let whole_minute = || Deadline::from(Duration::from_secs(60)).or_when(&stop);
    std::thread::scope(|scope| {
        let checking = scope.spawn(|| check(&here, &[], whole_minute()).unwrap_err());
        let asking = scope.spawn(|| {
            let admin = Admin::new(&here, whole_minute()).unwrap();
            admin.largest_message("events").unwrap_err()
        });
        let reading = scope.spawn(|| {
            let (begin, until) = (Begin::Oldest, Until::Present);
            TopicReader::open(&here, "events", begin, until, &whole_minute()).err().unwrap()
        });
        let sending = scope.spawn(|| Sender::open(&here, "events", &whole_minute()).err().unwrap());
        // All wait by then, most likely: that cannot be seen.
        std::thread::sleep(Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
        for waiting in [checking, asking, reading, sending] {
            assert_eq!(waiting.join().unwrap().cause, Cause::AskedToEnd);
        }
    });
}

#[test]
fn what_partitions_have_is_waited_for_as_long_as_it_is_wanted() {
    let cluster = MockCluster::new(1).unwrap();
    cluster.create_topic("events", 3, 1).unwrap();
    let here = settings(&format!("brokers = '{}'", cluster.bootstrap_servers()));
    let config = here.config(&[("group.id", "test")]).unwrap();
    let consumer: BaseConsumer<Witness> = config.create_with_context(Witness::default()).unwrap();
    let all = [("events", 0), ("events", 2)];
    for late in [0, 700] {
        cluster.broker_round_trip_time(1, Duration::from_millis(late)).unwrap();
        let deadline = Deadline::of_opening();
        assert_eq!(partition_ends(&consumer, all[1], &deadline).unwrap(), (0, 0));
        assert_eq!(first_since(&consumer, &all, 5, &deadline).unwrap(), [None, None]);
    }
    // Connected, and silent from now on.
    cluster.broker_round_trip_time(1, Duration::from_secs(3600)).unwrap();
    let (stop, begun) = (Arc::new(AtomicBool::new(false)), Instant::now());
    let silence = partition_ends(&consumer, all[0], &Deadline::from(Duration::from_secs(1))).unwrap_err();
    assert!(
        silence.cause != Cause::AskedToEnd && silence.message.contains("partition 0 of events"),
        "{silence}"
    );
    let wanted = Deadline::from(Duration::from_secs(600)).or_when(&stop);
    std::thread::scope(|scope| {
        let ends = scope.spawn(|| partition_ends(&consumer, all[0], &wanted).unwrap_err());
        let times = scope.spawn(|| first_since(&consumer, &all, 5, &wanted).unwrap_err());
        // Both wait by then, most likely.
        std::thread::sleep(Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
        assert_eq!(ends.join().unwrap().cause, Cause::AskedToEnd);
        assert_eq!(times.join().unwrap().cause, Cause::AskedToEnd);
    });
    assert!(begun.elapsed() < Duration::from_secs(600), "they waited for the broker");
}

#[test]
fn topics_are_found_or_named_as_missing() {
    const NAME: &str = "topics_are_found_or_named_as_missing";
    if !is_possible(NAME) {
        return;
    }
    let mut broker =
        Broker::with(BrokerOptions { message_max_bytes: Some(3_000_000), ..BrokerOptions::default() });
    broker.create_topic("freia_events", 3);
    let settings_of = |broker: &Broker| settings(&format!("brokers = '{}'", broker.address()));
    let here = settings_of(&broker);
    let checked = check(&here, &["freia_events"], patience()).unwrap();
    assert_eq!(checked.brokers.len(), 1);
    assert_eq!(checked.topics[0].partitions, [(0, Some(1)), (1, Some(1)), (2, Some(1))]);
    let error = check(&here, &["freia_event"], patience()).unwrap_err();
    assert_eq!(error.cause, Cause::UnknownTopic);
    assert!(error.message.contains("did you mean `freia_events`?"), "{error}");
    let error = check(&here, &["freia events"], patience()).unwrap_err();
    assert_eq!(error.cause, Cause::Settings);

    let admin = Admin::new(&here, patience()).unwrap();
    assert_eq!(admin.largest_message("freia_events").unwrap(), 3_000_000);
    assert_eq!(admin.largest_message_of_broker(1).unwrap(), 3_000_000);
    assert!(!admin.creates_topics(1).unwrap());
    broker.create(&Topic {
        settings: vec![("max.message.bytes".to_owned(), "50000".to_owned())],
        ..Topic::new("small")
    });
    assert_eq!(admin.largest_message("small").unwrap(), 50_000);
    let error = admin.largest_message("none").unwrap_err();
    assert!(error.message.contains("topic none") && error.message.contains("no such topic"), "{error}");

    // It stands still: connections are taken by the system, and nobody answers.
    broker.freeze();
    refused(&here, Cause::Silent, &["nothing is answered"]);
    broker.thaw();
    check(&here, &["freia_events"], patience()).unwrap();
    // Gone, and back.
    broker.kill();
    refused(&here, Cause::NothingListens, &["nothing listens"]);
    broker.restart();
    check(&here, &["freia_events"], patience()).unwrap();
}

#[test]
fn a_broker_that_makes_topics_itself_may_lack_one() {
    const NAME: &str = "a_broker_that_makes_topics_itself_may_lack_one";
    if !is_possible(NAME) {
        return;
    }
    let makes = ("auto.create.topics.enable".to_owned(), "true".to_owned());
    let elsewhere = ("advertised.listeners".to_owned(), "PLAINTEXT://no-such-host.invalid:9092".to_owned());
    let broker = Broker::with(BrokerOptions { properties: vec![makes], ..BrokerOptions::default() });
    let here = settings(&format!("brokers = '{}'", broker.address()));
    let checked = check(&here, &["new_topic"], patience()).unwrap();
    assert!(checked.topics[0].partitions.is_empty());
    // To ask is not to make it.
    let checked = check(&here, &["new_topic"], patience()).unwrap();
    assert!(checked.topics[0].partitions.is_empty());
    drop(broker);

    // Reached by one name, and calling itself by another that nobody knows.
    let broker = Broker::with(BrokerOptions { properties: vec![elsewhere], ..BrokerOptions::default() });
    let here = settings(&format!("brokers = '{}'", broker.address()));
    refused(&here, Cause::HostNotFound, &["no-such-host.invalid:9092", "advertised.listeners"]);
}

#[test]
fn passwords_and_mechanisms_that_are_wrong_are_named() {
    const NAME: &str = "passwords_and_mechanisms_that_are_wrong_are_named";
    if !is_possible(NAME) {
        return;
    }
    let broker = Broker::with(BrokerOptions {
        users: vec![("evforge".to_owned(), "right-one".to_owned())],
        listeners: vec![Listener::Sasl],
        ..BrokerOptions::default()
    });
    broker.create_topic("events", 1);
    let at = broker.address_of(Listener::Sasl);
    let login = |password: &str, mechanism: &str| {
        secured(
            &at,
            "sasl_plaintext",
            &[("sasl.username", "evforge"), ("sasl.password", password), ("sasl.mechanism", mechanism)],
        )
    };
    check(&login("right-one", "PLAIN"), &["events"], patience()).unwrap();
    let error =
        refused(&login("wrong-one", "PLAIN"), Cause::AuthenticationRefused, &["refused name or password"]);
    assert!(!error.message.contains("wrong-one"));
    refused(&login("right-one", "SCRAM-SHA-256"), Cause::AuthenticationMismatch, &["sasl.mechanism"]);
    // Without a login, where one is expected: the broker hangs up, which the client may notice while it still sends.
    let without = settings(&format!("brokers = '{at}'"));
    let mut tries = (0..5).map(|_| check(&without, &[], patience()).expect_err("a login is expected"));
    let error = tries.find(|error| error.cause != Cause::Connection).expect("the cause is named in time");
    assert_eq!(error.cause, Cause::LoginExpected, "{error}");
    assert!(error.message.contains("expects a login"), "{error}");
    // With a login, where none is expected.
    let plain = secured(
        &broker.address(),
        "sasl_plaintext",
        &[("sasl.username", "evforge"), ("sasl.password", "right-one"), ("sasl.mechanism", "PLAIN")],
    );
    refused(&plain, Cause::AuthenticationMismatch, &["security.protocol"]);
    // From a file, as it should be.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    std::fs::write(&file, "right-one\n").unwrap();
    let mut by_file =
        secured(&at, "sasl_plaintext", &[("sasl.username", "evforge"), ("sasl.mechanism", "PLAIN")]);
    by_file.password_file = Some(file.clone());
    check(&by_file, &["events"], patience()).unwrap();
    std::fs::write(&file, "wrong-one\n").unwrap();
    refused(&by_file, Cause::AuthenticationRefused, &["password_file"]);
}

fn tls_broker(certificate: &Path) -> Broker {
    let broker = Broker::with(BrokerOptions {
        certificate: Some(certificate.to_owned()),
        listeners: vec![Listener::Tls],
        ..BrokerOptions::default()
    });
    broker.create_topic("events", 1);
    broker
}

#[test]
fn certificates_and_ports_that_do_not_fit_are_named() {
    const NAME: &str = "certificates_and_ports_that_do_not_fit_are_named";
    if !is_possible(NAME) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let ours = Authority::new(folder.path(), "ours");
    let theirs = Authority::new(folder.path(), "theirs");
    let broker = tls_broker(&ours.certificate("localhost", false));
    let at = broker.address_of(Listener::Tls);
    let trusting = |authority: &Authority, at: &str| {
        secured(at, "ssl", &[("ssl.ca.location", &authority.file().display().to_string())])
    };
    check(&trusting(&ours, &at), &["events"], patience()).unwrap();
    refused(&trusting(&theirs, &at), Cause::CertificateUntrusted, &[&at, "ssl.ca.location"]);
    refused(
        &settings(&format!("brokers = '{at}'")),
        Cause::TlsExpected,
        &["expects TLS", "security.protocol"],
    );
    refused(&trusting(&ours, &broker.address()), Cause::PlainExpected, &["does not expect TLS"]);
    // By a name that is not in the certificate.
    let port = at.rsplit(':').next().unwrap();
    refused(
        &trusting(&ours, &format!("127.0.0.1:{port}")),
        Cause::CertificateOfAnother,
        &["for another name"],
    );
    let missing = secured(&at, "ssl", &[("ssl.ca.location", "/none/ca.pem")]);
    refused(&missing, Cause::Settings, &["/none/ca.pem"]);
    drop(broker);

    let broker = tls_broker(&ours.certificate("localhost", true));
    let at = broker.address_of(Listener::Tls);
    refused(&trusting(&ours, &at), Cause::CertificateExpired, &["has expired", "clock"]);
}
