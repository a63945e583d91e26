//! journald: fields in a datagram to its socket, with syslog's severity.

use crate::record::Record;
use rustix::fs::fstat;
use serde_json::Value;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::net::UnixDatagram;
use std::path::Path;

/// Where journald listens.
pub const SOCKET: &str = "/run/systemd/journal/socket";

/// Bytes of a message if the system does not take a datagram with all of it.
const SHORT: usize = 32 << 10;

/// The way to journald. It never waits.
#[derive(Debug)]
pub struct Journal {
    socket: UnixDatagram,
}

impl Journal {
    /// Opens the way to the journald that listens at this socket.
    ///
    /// # Errors
    /// If nobody listens there.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.connect(path)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket })
    }

    /// Sends a message. One that the system finds too large is shortened.
    ///
    /// # Errors
    /// If journald does not take it.
    pub fn send(&self, record: &Record) -> Result<()> {
        match self.socket.send(&to_datagram(record, usize::MAX)) {
            Err(error) if is_too_large(&error) => self.socket.send(&to_datagram(record, SHORT)),
            sent => sent,
        }
        .map(drop)
    }
}

fn is_too_large(error: &Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::MSGSIZE.raw_os_error())
        || error.kind() == ErrorKind::OutOfMemory
        || error.raw_os_error() == Some(rustix::io::Errno::NOBUFS.raw_os_error())
}

/// Whether standard error leads to journald: it says so of the services that it starts.
pub fn is_standard_error() -> bool {
    let Ok(told) = std::env::var("JOURNAL_STREAM") else { return false };
    fstat(std::io::stderr()).is_ok_and(|about| told == format!("{}:{}", about.st_dev, about.st_ino))
}

/// The datagram of a message with at most this many bytes of each value.
pub fn to_datagram(record: &Record, most: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut add = |name: &str, value: &str| {
        let value = &value[..value.floor_char_boundary(most)];
        bytes.extend_from_slice(name.as_bytes());
        if value.contains('\n') {
            // Values of several lines have their length in front.
            bytes.push(b'\n');
            bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
        } else {
            bytes.push(b'=');
        }
        bytes.extend_from_slice(value.as_bytes());
        bytes.push(b'\n');
    };
    add("PRIORITY", &record.severity.number().to_string());
    add("SYSLOG_IDENTIFIER", "evforge");
    add("EVFORGE_GROUP", record.group.name());
    add("EVFORGE_LEVEL", record.level.name());
    add("EVFORGE_THREAD", &record.thread.0);
    add("TID", &record.thread.1.to_string());
    if let Some((file, line)) = record.place {
        add("CODE_FILE", file);
        add("CODE_LINE", &line.to_string());
    }
    for (name, value) in &record.fields {
        let name = field_name(name);
        match value {
            Value::String(text) => add(&name, text),
            value => add(&name, &value.to_string()),
        }
    }
    add("MESSAGE", record.message.trim_end());
    bytes
}

/// The name that a field has in the journal: capitals, digits and underscores, at most 64 of them.
fn field_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    "EVFORGE_FIELD_".chars().chain(name.chars().map(plain)).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Group;
    use crate::record::Severity;

    /// Reads a datagram as journald does.
    fn read(bytes: &[u8]) -> Vec<(String, String)> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
        let mut fields = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let end = rest.iter().position(|byte| b"=\n".contains(byte)).expect("the end of a name");
            let name = text(&rest[..end]);
            let is_long = rest[end] == b'\n';
            rest = &rest[end + 1..];
            let length = if is_long {
                let (length, value) = rest.split_first_chunk().expect("a length");
                rest = value;
                usize::try_from(u64::from_le_bytes(*length)).expect("a length")
            } else {
                rest.iter().position(|byte| *byte == b'\n').expect("the end of a value")
            };
            fields.push((name, text(&rest[..length])));
            assert_eq!(rest[length], b'\n');
            rest = &rest[length + 1..];
        }
        fields
    }

    #[test]
    fn a_socket_gets_severity_text_and_fields_and_nothing_that_was_made_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let listener = UnixDatagram::bind(&path).expect("a socket");
        listener.set_read_timeout(Some(evforge_testkit::patience::patience())).expect("a time-out");
        let journal = Journal::open(&path).expect("somebody listens");
        let mut record = Record::new(Severity::Warning, Group::Kafka, "two lines\nPRIORITY=0");
        record.fields = vec![("broker.name", "a\nMESSAGE=b".into()), ("tries", 3.into())];
        journal.send(&record).expect("it is taken");
        let mut bytes = vec![0; 1 << 20];
        let length = listener.recv(&mut bytes).expect("a datagram");
        let fields = read(&bytes[..length]);
        let of = |wanted: &str| {
            let mut found = fields.iter().filter(|(name, _)| name == wanted);
            let value = found.next().map(|(_, value)| value.as_str());
            assert!(found.next().is_none(), "{wanted} is there twice");
            value
        };
        assert_eq!(of("PRIORITY"), Some("4"));
        assert_eq!(of("MESSAGE"), Some("two lines\nPRIORITY=0"));
        assert_eq!(of("EVFORGE_GROUP"), Some("kafka"));
        assert_eq!(of("EVFORGE_FIELD_BROKER_NAME"), Some("a\nMESSAGE=b"));
        assert_eq!(of("EVFORGE_FIELD_TRIES"), Some("3"));
        // As large as a message may be: whole, or shortened, but there.
        journal.send(&Record::new(Severity::Error, Group::Run, "x".repeat(1 << 20))).expect("it is taken");
        let length = listener.recv(&mut bytes).expect("a datagram");
        assert!(length > SHORT, "{length}");
    }

    #[test]
    fn without_journald_there_is_no_way() {
        assert!(Journal::open("/nonexistent/socket").is_err());
    }
}
