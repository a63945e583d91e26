//! `evforge kafka forward`: values of logs from lines.

use super::client::ClientArguments;
use super::ending::end;
use crate::CommandError;
use crate::arguments::span::now_ns;
use crate::exit_status::ExitStatus;
use crate::output::Ending;
use crate::signals::stop_on_signals;
use clap::Args;
use evforge_kafka::client::Deadline;
use evforge_kafka::tools::Sender;
use evforge_kafka::tools::forward::{LONGEST_LINE, LogLine, ValueType, forward as send};
use evforge_messages::Encoder;
use evforge_pipeline::report::grouped;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Lines that are read ahead.
const LINES: usize = 256;
/// Lines that are wrong and are shown; of all, the number is.
const SHOWN: u64 = 10;

/// Arguments of `evforge kafka forward`.
#[derive(Args)]
pub(super) struct ForwardArguments {
    /// File with a line NAME VALUE [TIME] for each value; - is standard input. Values of an array have commas between; times are
    /// dates or seconds since 1970, without one it is now
    #[arg(value_name = "INPUT", default_value = "-")]
    input: PathBuf,
    /// Topic to send to
    #[arg(long, value_name = "TOPIC")]
    to: String,
    #[command(flatten)]
    client: ClientArguments,
    /// Type of the values in messages: one source has one type
    #[arg(long = "type", value_name = "TYPE", default_value = "double")]
    value_type: TypeChoice,
    /// No report on the terminal
    #[arg(long, short)]
    quiet: bool,
}

/// The types.
#[derive(Clone, Copy, clap::ValueEnum)]
enum TypeChoice {
    Double,
    Int64,
}

/// Runs the command.
pub(super) fn forward(arguments: &ForwardArguments) -> Result<ExitStatus, CommandError> {
    let stop = stop_on_signals()?;
    let lines = lines_of(&arguments.input)?;
    let mut sender =
        Sender::open(&arguments.client.settings(), &arguments.to, &Deadline::of_opening().or_when(&stop))?;
    let value_type = match arguments.value_type {
        TypeChoice::Double => ValueType::Double,
        TypeChoice::Int64 => ValueType::Int64,
    };
    let mut encoder = Encoder::new();
    let (mut number, mut wrong, mut failure) = (0_u64, 0_u64, None);
    while !stop.load(Ordering::Relaxed) {
        let line = match lines.recv_timeout(Duration::from_millis(100)) {
            Ok(Ok(line)) => line,
            Ok(Err(error)) => {
                failure = Some(error);
                break;
            }
            Err(RecvTimeoutError::Timeout) => {
                sender.poll(Duration::ZERO);
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        };
        number += 1;
        match LogLine::parse(&line, value_type) {
            Ok(None) => {}
            Ok(Some(value)) => {
                if !send(&value, now_ns(), &mut sender, &mut encoder, &stop)? {
                    break;
                }
            }
            Err(why) => {
                wrong += 1;
                if wrong <= SHOWN {
                    eprintln!("evforge: line {number}: {why}");
                }
            }
        }
    }
    let delivery = sender.finish(Duration::from_secs(30), &AtomicBool::new(false));
    let mut status = end(Ending::default(), &delivery, &arguments.to, arguments.quiet);
    if wrong > 0 {
        eprintln!(
            "evforge: {} of {} lines were not understood, and not sent",
            grouped(wrong),
            grouped(number)
        );
        status = status.and(ExitStatus::Incomplete);
    }
    if let Some(failure) = failure {
        eprintln!("evforge: {failure}");
        status = status.and(ExitStatus::Incomplete);
    }
    if delivery.sent == 0 && !stop.load(Ordering::Relaxed) {
        eprintln!("evforge: there was no value to send: expected lines NAME VALUE [TIME]");
        status = status.and(ExitStatus::NoUse);
    }
    Ok(status)
}

/// The lines of a file, read by a thread of their own: Ctrl-C does not wait for the next.
fn lines_of(path: &Path) -> Result<Receiver<Result<String, String>>, CommandError> {
    let name = path.display().to_string();
    let source: Box<dyn Read + Send> = match path.as_os_str() == "-" {
        true => Box::new(std::io::stdin()),
        false => {
            let file = File::open(path).map_err(|error| format!("{name} cannot be read: {error}"))?;
            if file.metadata()?.is_dir() {
                return Err(format!("{name} is a directory. Name a file in it").into());
            }
            Box::new(file)
        }
    };
    let (give, take) = sync_channel(LINES);
    std::thread::Builder::new().name("lines".into()).spawn(move || {
        let mut source = BufReader::new(source);
        loop {
            let mut line = Vec::new();
            let limit = LONGEST_LINE as u64 + 1;
            let read = source.by_ref().take(limit).read_until(b'\n', &mut line);
            let result = match read {
                Ok(0) => break,
                Ok(length) if length > LONGEST_LINE => {
                    Err(format!("{name}: a line has more than {LONGEST_LINE} bytes: it is no text"))
                }
                // What is no UTF-8 is no number either, and is named with its line.
                Ok(_) => Ok(String::from_utf8_lossy(&line).into_owned()),
                Err(error) => Err(format!("{name} cannot be read further: {error}")),
            };
            let is_last = result.is_err();
            if give.send(result).is_err() || is_last {
                break;
            }
        }
    })?;
    Ok(take)
}
