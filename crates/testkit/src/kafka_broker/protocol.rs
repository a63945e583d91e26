//! The few requests that a test must be able to make without a client library: who is there, and a new topic.

use crate::patience::{patience, wait_until};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

const METADATA: i16 = 3;
const CREATE_TOPICS: i16 = 19;
const DELETE_TOPICS: i16 = 20;
const DELETE_RECORDS: i16 = 21;
const CREATE_PARTITIONS: i16 = 37;
const TIMED_OUT: i16 = 7;
const EXISTS: i16 = 36;
const NO_BROKERS: i16 = 38;

/// A topic to be made.
#[derive(Clone, Debug)]
pub struct Topic {
    /// Its name.
    pub name: String,
    /// How many partitions it has.
    pub partitions: u32,
    /// On how many brokers each is.
    pub replication: u16,
    /// Settings of its own: `max.message.bytes`, `min.insync.replicas`, …
    pub settings: Vec<(String, String)>,
}

impl Topic {
    /// A topic with one partition on one broker.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), partitions: 1, replication: 1, settings: Vec::new() }
    }
}

/// Sends a request; what was answered behind its number.
fn ask(broker: SocketAddr, kind: i16, version: i16, body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&broker, patience())?;
    stream.set_read_timeout(Some(patience()))?;
    let mut request = Vec::new();
    request.extend(kind.to_be_bytes());
    request.extend(version.to_be_bytes());
    request.extend(7_i32.to_be_bytes());
    put_text(&mut request, "evforge-testkit");
    request.extend(body);
    stream.write_all(&i32::try_from(request.len()).expect("a short request").to_be_bytes())?;
    stream.write_all(&request)?;
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut answer = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut answer)?;
    Ok(answer.split_off(4))
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend(i16::try_from(text.len()).expect("a short text").to_be_bytes());
    bytes.extend(text.as_bytes());
}

/// Reads an answer from its beginning.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn int16(&mut self) -> i16 {
        let (value, rest) = self.0.split_first_chunk().expect("a whole answer");
        self.0 = rest;
        i16::from_be_bytes(*value)
    }

    fn int32(&mut self) -> i32 {
        let (value, rest) = self.0.split_first_chunk().expect("a whole answer");
        self.0 = rest;
        i32::from_be_bytes(*value)
    }

    /// A text; none where its length is -1.
    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.int16()).ok()?;
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    fn skip(&mut self, bytes: usize) {
        self.0 = &self.0[bytes..];
    }
}

/// How many brokers this one knows; 0 if it does not answer.
pub(super) fn known_brokers(broker: SocketAddr) -> usize {
    let answer = ask(broker, METADATA, 1, &0_i32.to_be_bytes());
    answer.map_or(0, |answer| Reader(&answer).int32().try_into().unwrap_or(0))
}

/// The brokers that lead the partitions of a topic; those without a leader are left out, and so are all if the broker asked is busy.
pub(super) fn leaders(broker: SocketAddr, topic: &str) -> Vec<usize> {
    let mut body = 1_i32.to_be_bytes().to_vec();
    put_text(&mut body, topic);
    let Ok(answer) = ask(broker, METADATA, 1, &body) else { return Vec::new() };
    let mut answer = Reader(&answer);
    for _ in 0..answer.int32() {
        answer.int32();
        answer.text();
        answer.int32();
        answer.text();
    }
    // The controller, and the topics: one.
    answer.int32();
    let (_, error, _) = (answer.int32(), answer.int16(), answer.text());
    if error != 0 {
        return Vec::new();
    }
    answer.skip(1);
    let mut leaders = Vec::new();
    for _ in 0..answer.int32() {
        let (error, partition, leader) = (answer.int16(), answer.int32(), answer.int32());
        for _ in 0..2 {
            let replicas = answer.int32();
            answer.skip(4 * usize::try_from(replicas).unwrap_or(0));
        }
        if error == 0 && leader >= 0 {
            leaders.push((partition, usize::try_from(leader).expect("a number of a broker")));
        }
    }
    leaders.sort_unstable();
    leaders.into_iter().map(|(_, leader)| leader).collect()
}

/// Waits until a broker knows the leaders of all partitions of a topic.
pub(super) fn await_leaders(broker: SocketAddr, topic: &Topic) {
    wait_until(format_args!("all partitions of {} have a leader", topic.name), || {
        leaders(broker, &topic.name).len() == topic.partitions as usize
    });
}

/// Sends a request that changes a topic: the request and what it is about, without how long it may take, and how it is meant.
fn change(broker: SocketAddr, kind: i16, version: i16, (mut body, meant): (Vec<u8>, &[u8])) -> Vec<u8> {
    body.extend(i32::try_from(patience().as_millis()).expect("some minutes").to_be_bytes());
    body.extend(meant);
    ask(broker, kind, version, &body).expect("the broker answers").split_off(4)
}

/// A list of one topic, with what follows its name.
fn one_topic(name: &str, more: &[u8]) -> Vec<u8> {
    let mut body = 1_i32.to_be_bytes().to_vec();
    put_text(&mut body, name);
    body.extend(more);
    body
}

/// Deletes a topic, and waits until the broker has forgotten it.
pub(super) fn delete_topic(broker: SocketAddr, name: &str) {
    let answer = change(broker, DELETE_TOPICS, 1, (one_topic(name, &[]), &[]));
    let mut answer = Reader(&answer);
    let (_, _, error) = (answer.int32(), answer.text(), answer.int16());
    assert_eq!(error, 0, "topic {name} cannot be deleted");
    wait_until(format_args!("topic {name} is gone"), || leaders(broker, name).is_empty());
}

/// Gives a topic more partitions: so many in all.
pub(super) fn add_partitions(broker: SocketAddr, name: &str, count: u32) {
    let mut more = i32::try_from(count).expect("a number of partitions").to_be_bytes().to_vec();
    more.extend((-1_i32).to_be_bytes());
    let answer = change(broker, CREATE_PARTITIONS, 0, (one_topic(name, &more), &[0]));
    let mut answer = Reader(&answer);
    let (_, _, error, said) = (answer.int32(), answer.text(), answer.int16(), answer.text());
    assert_eq!(error, 0, "topic {name} gets no more partitions: {said:?}");
    wait_until(format_args!("{name} has {count} partitions"), || {
        leaders(broker, name).len() == count as usize
    });
}

/// Removes the messages of a partition before this number, as retention does.
pub(super) fn remove_before(broker: SocketAddr, name: &str, partition: u32, first: i64) {
    let mut more = 1_i32.to_be_bytes().to_vec();
    more.extend(i32::try_from(partition).expect("a number").to_be_bytes());
    more.extend(first.to_be_bytes());
    let answer = change(broker, DELETE_RECORDS, 0, (one_topic(name, &more), &[]));
    let mut answer = Reader(&answer);
    answer.int32();
    answer.text();
    // One partition, its number, and its oldest message now.
    answer.skip(4 + 4 + 8);
    assert_eq!(answer.int16(), 0, "messages of {name} cannot be removed");
}

/// Makes a topic.
pub(super) fn create_topic(broker: SocketAddr, topic: &Topic) {
    let mut body = 1_i32.to_be_bytes().to_vec();
    put_text(&mut body, &topic.name);
    body.extend(i32::try_from(topic.partitions).expect("a number of partitions").to_be_bytes());
    body.extend(i16::try_from(topic.replication).expect("a number of brokers").to_be_bytes());
    body.extend(0_i32.to_be_bytes());
    body.extend(i32::try_from(topic.settings.len()).expect("a few settings").to_be_bytes());
    for (key, value) in &topic.settings {
        put_text(&mut body, key);
        put_text(&mut body, value);
    }
    // How long it may take, and that it is meant.
    body.extend(i32::try_from(patience().as_millis()).expect("some minutes").to_be_bytes());
    body.push(0);
    let mut was_refused = false;
    wait_until(format_args!("topic {} is made", topic.name), || {
        let answer = ask(broker, CREATE_TOPICS, 4, &body).expect("the broker answers");
        let mut answer = Reader(&answer);
        // For how long the broker makes this client wait, and the topics: one.
        answer.skip(8);
        let (_, error, said) = (answer.text(), answer.int16(), answer.text());
        // A broker that its controller has not heard of for a while, on a busy host, gets no topics; what took too long may be there.
        let passes = [TIMED_OUT, NO_BROKERS].contains(&error);
        let is_made = error == 0 || was_refused && error == EXISTS;
        assert!(is_made || passes, "topic {} cannot be made: error {error}: {said:?}", topic.name);
        was_refused |= passes;
        is_made
    });
}
