//! What is to happen in a simulated run, as text: a line for each thing.
//!
//! ```text
//! seed 7                       who runs next, randomness
//! wall 1700000000000000000     the clock on the wall at the start, nanoseconds since 1970
//! limit 60000000000            the process ends after this time, nanoseconds since the start
//! folder /tmp/x                files below it are under the rules
//! trace /tmp/x.trace           what happened; `full` behind it: every turn as well
//! full
//! port 9000                    packets go to 127.0.0.1:9000
//! packets /tmp/x.packets       when (8 bytes), length (4 bytes), bytes; little endian; again and again
//! at 500000 signal 15
//! at 500000 clock -3600000000000        the clock on the wall is set
//! at 500000 remove run.csv              in the folder; so are all below
//! at 500000 replace run.csv             by an empty file
//! at 500000 connect 0 8080              client 0 connects to 127.0.0.1:8080
//! at 500000 send 0 GET / HTTP/1.1\r\n   \r, \n, \\ and \xNN
//! at 500000 read 0 65536                takes up to this many bytes
//! at 500000 close 0
//! from 500000 to 900000 fail 28 write,room .csv 1     calls, part of the name or *, one in how many
//! from 500000 to 900000 short 0 write * 3
//! from 500000 to 900000 slow 50000000 write,sync .nxs 2
//! ```

use crate::faults::{CALLS, Call, Fault, Rule};
use std::fmt;
use std::path::{Path, PathBuf};

/// Something that happens at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A datagram arrives.
    Packet(Vec<u8>),
    /// The process gets a signal.
    Signal(i32),
    /// The clock on the wall is moved, by nanoseconds.
    Clock(i64),
    /// A file is removed.
    Remove(String),
    /// A file is replaced by an empty one.
    Replace(String),
    /// A client connects to a port.
    Connect(usize, u16),
    /// A client sends.
    Send(usize, Vec<u8>),
    /// A client reads up to this many bytes.
    Read(usize, usize),
    /// A client closes its connection.
    Close(usize),
}

/// What is to happen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Draws who runs next, and everything random.
    pub seed: u64,
    /// The clock on the wall at the start, in nanoseconds since 1970.
    pub wall: i64,
    /// The process ends after this time, in nanoseconds since the start.
    pub limit: u64,
    /// Files below it are under the rules.
    pub folder: PathBuf,
    /// Where to write what happened.
    pub trace: Option<PathBuf>,
    /// Every turn is in the trace.
    pub full: bool,
    /// Packets go to this port of 127.0.0.1.
    pub port: u16,
    /// What happens when, in the order of time.
    pub actions: Vec<(u64, Action)>,
    /// Which calls fail.
    pub rules: Vec<Rule>,
}

/// Most clients.
pub const CLIENTS: usize = 64;

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPlan(String);

impl fmt::Display for BadPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadPlan {}

impl Plan {
    /// Reads a plan and its packets.
    ///
    /// # Errors
    /// If it cannot be read, with the line.
    pub fn read(path: &Path) -> Result<Self, BadPlan> {
        let text = std::fs::read_to_string(path).map_err(|error| BadPlan(error.to_string()))?;
        Self::parse(&text)
    }

    /// Reads the text of a plan; packets are read from their file.
    ///
    /// # Errors
    /// If it is wrong, with the line.
    pub fn parse(text: &str) -> Result<Self, BadPlan> {
        let mut plan = Self { limit: u64::MAX, ..Self::default() };
        for (number, line) in text.lines().enumerate() {
            plan.take(line).map_err(|why| BadPlan(format!("line {}: {line}: {why}", number + 1)))?;
        }
        plan.actions.sort_by_key(|(at, _)| *at);
        Ok(plan)
    }

    fn take(&mut self, line: &str) -> Result<(), String> {
        let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
        match key {
            "" => {}
            "seed" => self.seed = number(rest)?,
            "wall" => self.wall = number(rest)?,
            "limit" => self.limit = number(rest)?,
            "folder" => self.folder = rest.into(),
            "trace" => self.trace = Some(rest.into()),
            "full" => self.full = true,
            "port" => self.port = number(rest)?,
            "packets" => {
                let bytes = std::fs::read(rest).map_err(|error| error.to_string())?;
                self.take_packets(&bytes)?;
            }
            "at" => {
                let (at, rest) = rest.split_once(' ').ok_or("no action")?;
                self.actions.push((number(at)?, action(rest)?));
            }
            "from" => self.rules.push(rule(rest)?),
            _ => return Err("unknown".into()),
        }
        Ok(())
    }

    fn take_packets(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while let Some((head, rest)) = bytes.split_first_chunk::<12>() {
            let (at, length) = (u64::from_le_bytes(part(head, 0)), u32::from_le_bytes(part(head, 8)));
            let (packet, rest) = rest.split_at_checked(length as usize).ok_or("a packet is cut")?;
            self.actions.push((at, Action::Packet(packet.to_vec())));
            bytes = rest;
        }
        if bytes.is_empty() { Ok(()) } else { Err("the last packet is cut".into()) }
    }
}

/// `N` bytes from `start` of a head that has them.
fn part<const N: usize>(head: &[u8; 12], start: usize) -> [u8; N] {
    std::array::from_fn(|index| head[start + index])
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number of its range"))
}

fn client(text: &str) -> Result<usize, String> {
    let client = number(text)?;
    if client < CLIENTS { Ok(client) } else { Err(format!("clients are below {CLIENTS}")) }
}

fn action(text: &str) -> Result<Action, String> {
    let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
    let two = || rest.split_once(' ').ok_or_else(|| format!("{verb} has two words"));
    Ok(match verb {
        "signal" => Action::Signal(number(rest)?),
        "clock" => Action::Clock(number(rest)?),
        "remove" => Action::Remove(rest.into()),
        "replace" => Action::Replace(rest.into()),
        "connect" => Action::Connect(client(two()?.0)?, number(two()?.1)?),
        "send" => Action::Send(client(two()?.0)?, bytes(two()?.1)?),
        "read" => Action::Read(client(two()?.0)?, number(two()?.1)?),
        "close" => Action::Close(client(rest)?),
        _ => return Err("an unknown action".into()),
    })
}

fn rule(text: &str) -> Result<Rule, String> {
    let words: Vec<&str> = text.split(' ').collect();
    let [from, "to", to, kind, value, calls, name, once_in] = words[..] else {
        return Err("not as: from NS to NS KIND VALUE CALLS NAME ONCE_IN".into());
    };
    let fault = match kind {
        "fail" => Fault::Fails(number(value)?),
        "short" => Fault::Short,
        "slow" => Fault::Slow(number(value)?),
        _ => return Err(format!("{kind:?} is none of fail, short, slow")),
    };
    let call = |name: &str| -> Result<Call, String> {
        let known = CALLS.iter().find(|(known, _)| *known == name);
        known.map(|(_, call)| *call).ok_or_else(|| format!("an unknown call {name:?}"))
    };
    Ok(Rule {
        from: number(from)?,
        to: number(to)?,
        calls: calls.split(',').map(call).collect::<Result<_, _>>()?,
        name: name.into(),
        once_in: number(once_in)?,
        fault,
    })
}

/// Text with `\r`, `\n`, `\\` and `\xNN`.
fn bytes(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next() {
            Some(b'r') => b'\r',
            Some(b'n') => b'\n',
            Some(b'\\') => b'\\',
            Some(b'x') => {
                let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
                let (high, low) = (digit(), digit());
                let value = high.zip(low).map(|(high, low)| high * 16 + low);
                value.and_then(|value| u8::try_from(value).ok()).ok_or("\\x wants two digits")?
            }
            _ => return Err("a \\ before something else".into()),
        });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_plan_is_read_in_the_order_of_time() {
        let text = "seed 7\nlimit 9\nfolder /tmp/a b\nat 5 send 1 a\\r\\n\\x00\\\\\nat 3 signal 15\nat 4 clock -5\n\
                    from 1 to 2 fail 28 write,room .csv 3\nfrom 1 to 2 short 0 write * 1\n";
        let plan = Plan::parse(text).unwrap();
        assert_eq!((plan.seed, plan.limit, plan.folder), (7, 9, PathBuf::from("/tmp/a b")));
        let actions =
            [(3, Action::Signal(15)), (4, Action::Clock(-5)), (5, Action::Send(1, b"a\r\n\0\\".to_vec()))];
        assert_eq!(plan.actions, actions);
        assert_eq!(plan.rules[0].calls, [Call::Write, Call::Room]);
        assert_eq!((plan.rules[0].fault, plan.rules[1].fault), (Fault::Fails(28), Fault::Short));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (line, why) in [
            ("sed 7", "unknown"),
            ("seed x", "not a number"),
            ("at 5 jump", "unknown action"),
            ("at 5 connect 64 1", "below 64"),
            ("from 1 to 2 fail 28 wrote * 1", "unknown call \"wrote\""),
            ("at 5 send 0 \\q", "before something else"),
        ] {
            let error = Plan::parse(&format!("limit 1\n{line}")).unwrap_err().to_string();
            assert!(error.starts_with("line 2: ") && error.contains(why), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "\\PC{0,200}") {
            let _ = Plan::parse(&text);
        }
    }
}
