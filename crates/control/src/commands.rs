//! The text commands of the ESS EFU and their replies, of 2018 and of 2026.
//!
//! What one `recv` returns is one request: words separated by blanks and line feeds, the first of which is the command. The
//! reply is text without a line feed. `docs/control.md` has them all.

use crate::control::Refusal;
use crate::desk::{ControlDesk, Origin};
use crate::request::{Answer, Request};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which EFU the commands are those of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
pub enum Generation {
    /// August 2018: seven commands.
    #[serde(rename = "2018")]
    Of2018,
    /// March 2026: eleven commands.
    #[default]
    #[serde(rename = "2026")]
    Of2026,
}

/// Largest request, in bytes.
pub const LARGEST_REQUEST: usize = 9000;

/// A command is shorter than this.
const NAME_LIMIT: usize = 100;

/// What a command without a reply of its own says.
pub const OK: &str = "<OK>";

/// Why a request is no command. What is understood and cannot be done has the reply of wrong arguments: the EFU has no other
/// word for it, and the note says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandError {
    /// Nothing, or too much.
    Size,
    /// No such command.
    Command,
    /// Not these arguments.
    Arguments,
}

impl CommandError {
    /// The reply.
    pub fn reply(self) -> &'static str {
        match self {
            Self::Size => "Error: <BADSIZE>",
            Self::Command => "Error: <BADCMD>",
            Self::Arguments => "Error: <BADARGS>",
        }
    }
}

/// What a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    CalibModeGet,
    CalibModeSet,
    CmdGet,
    CmdGetCount,
    DetectorInfoGet,
    Exit,
    RuntimeStats,
    StatGet,
    StatGetCount,
    StatGetName,
    VersionGet,
}

/// A command of the EFU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its name.
    pub name: &'static str,
    /// Its arguments, in words.
    pub arguments: &'static str,
    /// The form of its reply.
    pub reply: &'static str,
    /// Whether the EFU of 2018 had it.
    pub of_2018: bool,
    count: usize,
    kind: Kind,
}

/// All commands, in the order in which `CMD_GET` numbers them.
pub const COMMANDS: [Command; 11] = [
    Command {
        name: "CALIB_MODE_GET",
        arguments: "",
        reply: "CALIB_MODE_GET <0 or 1>",
        of_2018: false,
        count: 0,
        kind: Kind::CalibModeGet,
    },
    Command {
        name: "CALIB_MODE_SET",
        arguments: "0 or 1",
        reply: "<OK>",
        of_2018: false,
        count: 1,
        kind: Kind::CalibModeSet,
    },
    Command {
        name: "CMD_GET",
        arguments: "number from 1",
        reply: "CMD_GET <name>",
        of_2018: true,
        count: 1,
        kind: Kind::CmdGet,
    },
    Command {
        name: "CMD_GET_COUNT",
        arguments: "",
        reply: "CMD_GET_COUNT <count>",
        of_2018: true,
        count: 0,
        kind: Kind::CmdGetCount,
    },
    Command {
        name: "DETECTOR_INFO_GET",
        arguments: "",
        reply: "DETECTOR_INFO_GET <name of the instrument>",
        of_2018: true,
        count: 0,
        kind: Kind::DetectorInfoGet,
    },
    Command { name: "EXIT", arguments: "", reply: "<OK>", of_2018: true, count: 0, kind: Kind::Exit },
    Command {
        name: "RUNTIMESTATS",
        arguments: "",
        reply: "RUNTIMESTATS <bits>",
        of_2018: false,
        count: 0,
        kind: Kind::RuntimeStats,
    },
    Command {
        name: "STAT_GET",
        arguments: "number from 1",
        reply: "STAT_GET <counter> <value>",
        of_2018: true,
        count: 1,
        kind: Kind::StatGet,
    },
    Command {
        name: "STAT_GET_COUNT",
        arguments: "",
        reply: "STAT_GET_COUNT <count>",
        of_2018: true,
        count: 0,
        kind: Kind::StatGetCount,
    },
    Command {
        name: "STAT_GET_NAME",
        arguments: "counter",
        reply: "STAT_GET_NAME <counter> <value>",
        of_2018: false,
        count: 1,
        kind: Kind::StatGetName,
    },
    Command {
        name: "VERSION_GET",
        arguments: "",
        reply: "VERSION_GET <version> <build>",
        of_2018: true,
        count: 0,
        kind: Kind::VersionGet,
    },
];

/// The commands that an EFU of this generation has, in the order of their names.
pub fn commands_of(generation: Generation) -> impl Iterator<Item = &'static Command> {
    COMMANDS.iter().filter(move |command| generation == Generation::Of2026 || command.of_2018)
}

/// A request that has been understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedCommand {
    command: &'static Command,
    /// As many as the command has.
    arguments: Vec<String>,
}

/// Reads a request.
///
/// # Errors
/// Why it is no command.
pub fn parse(bytes: &[u8], generation: Generation) -> Result<ParsedCommand, CommandError> {
    if bytes.is_empty() || bytes.len() > LARGEST_REQUEST {
        return Err(CommandError::Size);
    }
    let mut words = bytes.split(|&byte| byte == b' ' || byte == b'\n').filter(|word| !word.is_empty());
    let name = words.next().filter(|name| name.len() < NAME_LIMIT).ok_or(CommandError::Command)?;
    let command = commands_of(generation)
        .find(|command| command.name.as_bytes() == name)
        .ok_or(CommandError::Command)?;
    let arguments: Vec<String> =
        words.take(command.count + 1).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    if arguments.len() != command.count {
        return Err(CommandError::Arguments);
    }
    Ok(ParsedCommand { command, arguments })
}

/// A number as C reads it: digits from the beginning, and 0 where there are none.
fn number(text: &str) -> i64 {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.bytes().take_while(u8::is_ascii_digit);
    sign * digits
        .fold(0_i64, |number, digit| number.saturating_mul(10).saturating_add(i64::from(digit - b'0')))
}

/// The entry with this number, counted from 1.
fn numbered<T>(mut all: impl Iterator<Item = T>, text: &str) -> Option<T> {
    let index = number(text).checked_sub(1).and_then(|index| usize::try_from(index).ok())?;
    all.nth(index)
}

/// The reply to one request.
pub fn reply(desk: &ControlDesk, origin: &Origin, bytes: &[u8], generation: Generation) -> String {
    // What a note shows is a part of it.
    let what = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * NAME_LIMIT)]);
    let what = what.trim();
    let outcome = match parse(bytes, generation) {
        Ok(parsed) => answer(desk, origin, what, &parsed, generation),
        Err(error) => {
            desk.misunderstood(origin, what, error.reply());
            Err(error)
        }
    };
    outcome.unwrap_or_else(|error| error.reply().to_owned())
}

fn answer(
    desk: &ControlDesk,
    origin: &Origin,
    what: &str,
    ParsedCommand { command, arguments }: &ParsedCommand,
    generation: Generation,
) -> Result<String, CommandError> {
    let name = command.name;
    let argument = arguments.first().map_or("", String::as_str);
    let wrong = |why: &str| {
        desk.misunderstood(origin, what, &format!("{}: {why}", CommandError::Arguments.reply()));
        CommandError::Arguments
    };
    let request = match command.kind {
        Kind::VersionGet | Kind::DetectorInfoGet => Request::Facts,
        Kind::StatGet | Kind::StatGetCount => Request::Counters,
        Kind::StatGetName => Request::Counter(argument.to_owned()),
        Kind::RuntimeStats => Request::Activity,
        Kind::CalibModeGet => Request::CalibrationMode,
        Kind::CalibModeSet => match argument {
            "0" => Request::SetCalibrationMode(false),
            "1" => Request::SetCalibrationMode(true),
            _ => return Err(wrong("expected 0 or 1")),
        },
        Kind::Exit => Request::ShutDown,
        Kind::CmdGet => {
            let named = numbered(commands_of(generation), argument);
            let named = named.ok_or_else(|| wrong("there is no command of this number"))?;
            desk.answered(origin, what);
            return Ok(format!("{name} {}", named.name));
        }
        Kind::CmdGetCount => {
            desk.answered(origin, what);
            return Ok(format!("{name} {}", commands_of(generation).count()));
        }
    };
    // The note of the desk says why something is refused.
    let answer = desk.answer(origin, what, request).map_err(|_: Refusal| CommandError::Arguments)?;
    Ok(match (command.kind, answer) {
        (Kind::VersionGet, Answer::Facts(facts)) => format!("{name} {} {}", facts.version, facts.build),
        (_, Answer::Facts(facts)) => format!("{name} {}", facts.instrument),
        (Kind::StatGetCount, Answer::Counters(all)) => format!("{name} {}", all.len()),
        (_, Answer::Counters(all)) => match numbered(all.into_iter(), argument) {
            Some(counter) => format!("{name} {} {}", counter.name, counter.value),
            // An empty name.
            None => format!("{name}  -1"),
        },
        (_, Answer::Counter(Some(counter))) => format!("{name} {argument} {}", counter.value),
        (_, Answer::Counter(None)) => format!("{name} {argument} -1"),
        (_, Answer::Activity(bits)) => format!("{name} {bits}"),
        (_, Answer::CalibrationMode(on)) => format!("{name} {}", u8::from(on)),
        _ => OK.to_owned(),
    })
}

#[cfg(test)]
mod tests;
