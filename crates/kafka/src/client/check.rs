//! Whether brokers can be reached and topics are there: known within seconds, with the name of what is wrong.

use super::advice::{cause_of_error, sentence_for};
use super::{
    Admin, Cause, ClientError, ClientSettings, Complaint, Deadline, NO_GROUP, Witness, consumer_of, tls,
};
use evforge_core::suggestion::did_you_mean;
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::metadata::Metadata;
use rdkafka::types::RDKafkaErrorCode as Code;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// What a client that only asks is set to, unless the settings say otherwise: not to wait longer than a person does.
const HASTY: [(&str, &str); 3] = [
    ("group.id", NO_GROUP),
    ("socket.connection.setup.timeout.ms", "4000"),
    ("api.version.request.timeout.ms", "3000"),
];
/// How long a broker that others name may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(3);

/// What to do about a broker that calls itself something that this host cannot use.
const ADVERTISED: &str = "The brokers call it so (advertised.listeners in its settings): this host must know that name and reach \
                          that port";

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Number, host and port of all brokers, as they name themselves.
    pub brokers: Vec<(i32, String, u16)>,
    /// The names of all topics that this user may see, in order.
    pub names: Vec<String>,
    /// The topics that were asked for, in that order.
    pub topics: Vec<CheckedTopic>,
}

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedTopic {
    /// Its name.
    pub name: String,
    /// Its partitions, with the brokers that lead them. Empty if the broker will make it with the first message.
    pub partitions: Vec<(i32, Option<i32>)>,
}

/// Asks the brokers who they are and which topics they have. All of `topics` must be there, or be made by the broker itself.
///
/// # Errors
/// What stands in the way, and what fixes it, at the deadline at the latest (some seconds are of use).
pub fn check(
    settings: &ClientSettings,
    topics: &[&str],
    deadline: impl Into<Deadline>,
) -> Result<Checked, ClientError> {
    for topic in topics {
        check_name(topic)?;
    }
    let deadline = deadline.into();
    let config = settings.config(&HASTY)?;
    let client = consumer_of(&config, Witness::default())?;
    let metadata = metadata(&client, &config, settings, &deadline)?;
    let brokers: Vec<_> = metadata
        .brokers()
        .iter()
        .map(|broker| (broker.id(), broker.host().to_owned(), u16::try_from(broker.port()).unwrap_or(0)))
        .collect();
    let mut names: Vec<String> = metadata.topics().iter().map(|topic| topic.name().to_owned()).collect();
    names.sort_unstable();
    let mut found = Checked { brokers, names, topics: Vec::new() };
    for name in topics {
        let topic = find(&metadata, name, settings, &found, &deadline)?;
        for leader in topic.partitions.iter().filter_map(|(_, leader)| *leader) {
            reach(&found, leader)?;
        }
        found.topics.push(topic);
    }
    if topics.is_empty() && !found.brokers.iter().any(|(number, ..)| reach(&found, *number).is_ok()) {
        let first = found.brokers.first().map_or(0, |(number, ..)| *number);
        reach(&found, first)?;
    }
    Ok(found)
}

/// How long an answer may take even if there is no time left.
const AN_ANSWER: Duration = Duration::from_millis(100);
/// A name may have several addresses (`localhost` has `::1` and `127.0.0.1`), which are tried one after the other: that none is of
/// use is known after this time.
const ALL_ADDRESSES: Duration = Duration::from_secs(1);

/// What the brokers know, or why they do not say.
fn metadata(
    client: &BaseConsumer<Witness>,
    config: &ClientConfig,
    settings: &ClientSettings,
    deadline: &Deadline,
) -> Result<Metadata, ClientError> {
    let begun = Instant::now();
    let mut slices = deadline.slices();
    loop {
        deadline.check()?;
        let slice = slices.next().unwrap_or_default().max(AN_ANSWER);
        let error = match client.client().fetch_metadata(None, slice) {
            Ok(metadata) => return Ok(metadata),
            Err(error) => error,
        };
        // Events come only while somebody asks for them.
        let _ = client.poll(Duration::from_millis(20));
        let complaints = client.context().complaints();
        let is_over = deadline.is_over();
        if let Some(complaint) = verdict(&complaints, begun.elapsed() >= ALL_ADDRESSES, is_over) {
            let mut complaint = complaint.clone();
            complaint.cause = tls::closer_look(&complaint, config);
            let mut sentence = complaint.sentence();
            if !is_given(&complaint, config) {
                sentence = format!("{sentence}. {ADVERTISED}");
            }
            return Err(ClientError::new(complaint.cause, sentence));
        }
        if is_over {
            let code = error.rdkafka_error_code().unwrap_or(Code::OperationTimedOut);
            let cause = match cause_of_error(&error) {
                Cause::Connection => Cause::Silent,
                cause => cause,
            };
            let at = settings.brokers_text();
            return Err(ClientError::new(cause, sentence_for(cause, &at, code, "")));
        }
    }
}

/// Whether the broker is one of the settings, and not one that others have named.
fn is_given(complaint: &Complaint, config: &ClientConfig) -> bool {
    let given = config.get("bootstrap.servers").unwrap_or_default();
    given.split(',').any(|broker| broker == complaint.broker)
}

/// One address of a name does not answer; another one may, and what is wrong there says more.
fn is_absence(complaint: &Complaint) -> bool {
    matches!(complaint.cause, Cause::NothingListens | Cause::Unreachable)
}

/// The complaint that says why there is no answer, once it is clear that there will be none.
fn verdict(complaints: &[Complaint], all_were_tried: bool, is_over: bool) -> Option<&Complaint> {
    let of_a_broker = || complaints.iter().filter(|complaint| !complaint.broker.is_empty());
    let all_are_down = complaints.iter().any(|complaint| complaint.code == Code::AllBrokersDown);
    of_a_broker().find(|complaint| complaint.cause.is_final()).or_else(|| {
        // Another broker of the list may answer yet.
        if is_over || all_are_down && all_were_tried {
            of_a_broker().min_by_key(|complaint| (is_absence(complaint), complaint.cause))
        } else {
            None
        }
    })
}

/// Refuses what cannot be the name of a topic, before anybody is asked.
fn check_name(topic: &str) -> Result<(), ClientError> {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    if topic.is_empty() || topic.len() > 249 || [".", ".."].contains(&topic) || !topic.chars().all(is_allowed)
    {
        return Err(ClientError::settings(format!(
            "`{topic}` cannot be the name of a topic: it consists of letters, digits, `.`, `_` and `-`, at most 249"
        )));
    }
    Ok(())
}

/// A topic among those that the brokers know.
fn find(
    metadata: &Metadata,
    name: &str,
    settings: &ClientSettings,
    found: &Checked,
    deadline: &Deadline,
) -> Result<CheckedTopic, ClientError> {
    if let Some(topic) = metadata.topics().iter().find(|topic| topic.name() == name) {
        if let Some(error) = topic.error() {
            let code = Code::from(error);
            let cause = super::cause_of(code, "");
            return Err(ClientError::new(cause, sentence_for(cause, &format!("topic {name}"), code, "")));
        }
        let mut partitions: Vec<_> = topic
            .partitions()
            .iter()
            .map(|partition| (partition.id(), Some(partition.leader()).filter(|leader| *leader >= 0)))
            .collect();
        partitions.sort_unstable();
        return Ok(CheckedTopic { name: name.to_owned(), partitions });
    }
    let first = found.brokers.first().map_or(0, |(number, ..)| *number);
    // A user who may not ask is told that there is no such topic, which is the likelier case.
    if Admin::new(settings, deadline.clone())?.creates_topics(first).unwrap_or(false) {
        return Ok(CheckedTopic { name: name.to_owned(), partitions: Vec::new() });
    }
    let known = found.names.iter().map(String::as_str).filter(|name| !name.starts_with("__"));
    let message = format!(
        "there is no topic `{name}` at {}, or this user may not see it{} Create it, and say how many partitions it has, or check \
         its name: evforge kafka topics lists all",
        settings.brokers_text(),
        did_you_mean(name, known)
    );
    Err(ClientError::new(Cause::UnknownTopic, message))
}

/// Whether a broker can be reached by the name that it gives itself: that is where messages go, not to those of the settings.
fn reach(found: &Checked, number: i32) -> Result<(), ClientError> {
    let Some((_, host, port)) = found.brokers.iter().find(|(one, ..)| *one == number) else {
        return Ok(());
    };
    let fail = |cause, why: String| {
        Err(ClientError::new(cause, format!("broker {number} at {host}:{port}: {why}. {ADVERTISED}")))
    };
    let addresses = match (host.as_str(), *port).to_socket_addrs() {
        Ok(addresses) => addresses,
        Err(error) => return fail(Cause::HostNotFound, format!("the host is not known here ({error})")),
    };
    let mut last = None;
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(_) => return Ok(()),
            Err(error) => last = Some(error),
        }
    }
    let why = last.map_or_else(|| "it has no address".to_owned(), |error| error.to_string());
    fail(Cause::Unreachable, format!("it cannot be reached ({why})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_topics_are_checked_without_a_broker() {
        for name in ["", ".", "a b", "a/b", &"x".repeat(250)] {
            assert_eq!(check_name(name).unwrap_err().cause, Cause::Settings, "{name}");
        }
        check_name("freia_events.raw-1").unwrap();
    }
}
