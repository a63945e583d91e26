//! What is said over the connection: a line of JSON each.
//!
//! The token goes over the network as it is: an agent belongs into a network whose hosts are trusted.

use crate::measured_link::CoreShares;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read, Write};

/// Version of the protocol.
pub const PROTOCOL: u32 = 1;
/// Longest request, in bytes.
pub const LONGEST_REQUEST: u64 = 64 << 10;
/// Longest answer, in bytes: a sender's report has a line for each flow.
pub const LONGEST_ANSWER: u64 = 16 << 20;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Version of the protocol.
    pub protocol: u32,
    /// Version of evforge.
    pub evforge: String,
    /// The agent's token.
    pub token: String,
    /// Arguments of evforge, the command first.
    pub arguments: Vec<String>,
}

/// What an agent answers: first that the program was started or why not, then once a second that it runs, at last what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It was started.
    Started,
    /// It was not, for this reason.
    Refused(String),
    /// It is under way.
    Running,
    /// It has ended.
    Ended(Ended),
}

/// What came of a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ended {
    /// Its exit status; none if a signal has ended it.
    pub status: Option<i32>,
    /// What it said last on standard error.
    pub said: String,
    /// Its report; none if it has written none.
    pub report: Option<serde_json::Value>,
    /// What its core did meanwhile; none if it has none of its own.
    pub core: Option<CoreShares>,
    /// Interrupts per second of its host meanwhile.
    pub interrupts_per_second: Option<f64>,
}

/// Writes a line.
///
/// # Errors
/// If the connection is broken.
pub fn write(connection: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    connection.write_all(&line)?;
    connection.flush()
}

/// Reads a line of at most `longest` bytes; none at the end of the connection.
///
/// # Errors
/// If the connection is broken, or the line is longer or something else.
pub fn read<T: DeserializeOwned>(connection: &mut impl BufRead, longest: u64) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    connection.take(longest).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        let problem = format!("a line that has no end within {longest} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    Ok(Some(serde_json::from_slice(&line)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_written_is_read_again() {
        let ended =
            Ended { status: Some(0), report: Some(serde_json::json!({"packets": 7})), ..Ended::default() };
        for answer in [Answer::Started, Answer::Refused("no".into()), Answer::Running, Answer::Ended(ended)] {
            let mut line = Vec::new();
            write(&mut line, &answer).unwrap();
            assert_eq!(read::<Answer>(&mut line.as_slice(), LONGEST_ANSWER).unwrap(), Some(answer));
        }
        assert_eq!(read::<Answer>(&mut &b""[..], 9).unwrap(), None);
        assert!(read::<Answer>(&mut &b"\"running\""[..], 99).is_err(), "cut");
        assert!(read::<Answer>(&mut &b"\"running\"\n"[..], 4).is_err(), "too long");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_a_message_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read::<Request>(&mut bytes.as_slice(), LONGEST_REQUEST);
            let _ = read::<Answer>(&mut bytes.as_slice(), LONGEST_ANSWER);
        }
    }
}
