//! The port of text commands: a conversation from beginning to end.

use crate::packet_stream::pieces;
use crate::quiet_run;
use evforge_control::Origin;
use evforge_control::command_port::converse;
use evforge_control::commands::{CommandError, Generation, LARGEST_REQUEST, OK, commands_of};
use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

/// Pieces of a conversation that are sent at most: a client that sends more at once is made to wait.
const MOST_PIECES: usize = 150;

/// A connection to a client that sends pieces and notes the replies.
struct Client<'a> {
    pieces: std::slice::Iter<'a, &'a [u8]>,
    rest: &'a [u8],
    /// A piece without a byte: the client pauses.
    pauses: usize,
    requests: Vec<usize>,
    replies: Vec<String>,
    /// It takes no reply any more after so many.
    takes: usize,
}

impl Read for Client<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            let Some(&piece) = self.pieces.next() else { return Ok(0) };
            if piece.is_empty() {
                self.pauses += 1;
                return Err(ErrorKind::WouldBlock.into());
            }
            self.rest = piece;
        }
        let length = self.rest.len().min(buffer.len());
        let (now, rest) = self.rest.split_at(length);
        buffer[..length].copy_from_slice(now);
        self.rest = rest;
        self.requests.push(length);
        Ok(length)
    }
}

impl Write for Client<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.replies.len() >= self.takes {
            return Err(ErrorKind::TimedOut.into());
        }
        self.replies.push(String::from_utf8_lossy(bytes).into_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sends the pieces in `bytes` to a command port, each behind its length (u16, little-endian; the last one may be cut). The first
/// byte of the input says which generation of the EFU it is (bit 0), and how many replies the client takes (bits 1 to 7, 127 for all).
///
/// # Panics
/// If a request has no reply or several, if a reply is none of the generation, if what is counted does not add up, or if a request
/// has changed something that is none of the commands that may.
pub fn command_port(bytes: &[u8]) {
    let Some((&choice, rest)) = bytes.split_first() else { return };
    let generation = if choice & 1 == 0 { Generation::Of2018 } else { Generation::Of2026 };
    let takes = if choice >> 1 == 127 { usize::MAX } else { usize::from(choice >> 1) };
    let pieces: Vec<&[u8]> = pieces(rest).take(MOST_PIECES).collect();
    let (desk, run) = quiet_run::desk();
    let mut client = Client {
        pieces: pieces.iter(),
        rest: &[],
        pauses: 0,
        requests: Vec::new(),
        replies: Vec::new(),
        takes,
    };
    let origin = Origin { way: "command port", peer: Some(([127, 0, 0, 1], 9).into()) };
    let idle = Duration::from_secs(600);
    let ended = converse(&mut client, &desk, &origin, generation, idle, &|| false, &|| {});
    let (requests, replies) = (client.requests.len(), client.replies.len());
    assert_eq!(ended.is_err(), requests > replies, "{ended:?}");
    assert!(requests - replies <= 1, "{requests} requests and {replies} replies");
    for (&length, reply) in client.requests.iter().zip(&client.replies) {
        check_reply(reply, generation);
        assert_eq!(length > LARGEST_REQUEST, reply == CommandError::Size.reply(), "{length} bytes: {reply}");
    }
    let counts = desk.counts().snapshot();
    assert_eq!(counts.commands, requests as u64);
    assert!(counts.commands_unknown + counts.commands_refused + counts.state_changes <= counts.commands);
    assert_eq!(counts.state_changes, run.changes());
    assert_eq!(counts.connections_timed_out, u64::from(ended.is_err()));
}

fn check_reply(reply: &str, generation: Generation) {
    assert!(!reply.contains('\n'), "{reply:?}");
    let errors = [CommandError::Size, CommandError::Command, CommandError::Arguments];
    let is_error = errors.iter().any(|error| error.reply() == reply);
    let is_of_command = || {
        let name = reply.split(' ').next().unwrap_or_default();
        commands_of(generation).any(|command| command.name == name)
    };
    assert!(is_error || reply == OK || is_of_command(), "{reply:?}");
}
