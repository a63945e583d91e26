//! Brokers for tests: they answer, they can be killed, restarted and made to stand still, and none stays behind.

use evforge_testkit::kafka_broker::{Broker, BrokerOptions, Cluster, Topic, is_possible};
use evforge_testkit::patience::wait_until;
use std::io::BufRead;
use std::net::TcpStream;
use std::process::Command;

/// The processes whose command line has this folder in it.
fn processes_of(folder: &std::path::Path) -> usize {
    let folder = folder.to_string_lossy().into_owned();
    let numbers = std::fs::read_dir("/proc").expect("/proc").flatten().map(|entry| entry.path());
    let lines = numbers.filter_map(|path| std::fs::read(path.join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(&folder)).count()
}

#[test]
fn a_broker_is_killed_and_restarted_with_its_topics() {
    if !is_possible("a_broker_is_killed_and_restarted_with_its_topics") {
        return;
    }
    let mut broker =
        Broker::with(BrokerOptions { message_max_bytes: Some(3_000_000), ..BrokerOptions::default() });
    broker.create_topic("events", 3);
    assert_eq!(processes_of(broker.folder()), 1);
    let address = broker.address();
    broker.kill();
    assert!(TcpStream::connect(&address).is_err());
    broker.restart();
    assert_eq!(broker.address(), address);
    // It refuses what it has already.
    let again = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| broker.create_topic("events", 3)));
    assert!(again.is_err());
    broker.freeze();
    broker.thaw();
    broker.create_topic("others", 1);
    let folder = broker.folder().to_owned();
    drop(broker);
    assert!(processes_of(&folder) == 0 && !folder.exists());
}

#[test]
fn three_brokers_are_a_cluster_that_outlives_one() {
    if !is_possible("three_brokers_are_a_cluster_that_outlives_one") {
        return;
    }
    let mut cluster = Cluster::start(3);
    cluster.create_topic(&Topic {
        replication: 3,
        settings: vec![("min.insync.replicas".to_owned(), "2".to_owned())],
        ..Topic::new("events")
    });
    let leader = cluster.leaders(1, "events")[0];
    cluster.kill(leader);
    let other = 1 + leader % 3;
    wait_until("another broker takes over", || {
        cluster.leaders(other, "events").first().is_some_and(|new| *new != leader)
    });
    cluster.restart(leader);
}

/// What the test below does in the process that it starts.
fn run_a_broker_until_somebody_kills_this() -> ! {
    let broker = Broker::start();
    println!("folder {}", broker.folder().display());
    loop {
        std::thread::park();
    }
}

#[test]
fn a_killed_test_program_leaves_no_broker_behind() {
    if !is_possible("broker::a_killed_test_program_leaves_no_broker_behind") {
        return;
    }
    if std::env::var_os("EVFORGE_TEST_TO_BE_KILLED").is_some() {
        run_a_broker_until_somebody_kills_this();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "broker::a_killed_test_program_leaves_no_broker_behind", "--nocapture"]);
    command.env("EVFORGE_TEST_TO_BE_KILLED", "1");
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    let folder = lines
        .map_while(Result::ok)
        .find_map(|line| line.split_once("folder ").map(|(_, folder)| std::path::PathBuf::from(folder)))
        .unwrap();
    assert_eq!(processes_of(&folder), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the broker ends", || processes_of(&folder) == 0);
    std::fs::remove_dir_all(folder).unwrap();
}
