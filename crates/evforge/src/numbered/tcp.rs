//! `evforge send --tcp` and `evforge receive --tcp`.

use super::receive::{Lines, ReceiveArguments, wait_for_reports};
use super::send::SendArguments;
use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::output::{Ending, write_file};
use crate::signals::stop_on_signals;
use evforge_config::{ByteSize, TimeSpan};
use evforge_lab::link::numbered::Sizes;
use evforge_lab::link::tcp::{self, TcpReceiver, TcpReceiving, TcpReport, TcpSending, TcpSent};
use evforge_log::group;
use evforge_pipeline::report::{grouped, scaled};
use std::fmt::Write as _;
use std::net::SocketAddr;

/// Sends over a connection.
pub(super) fn send(arguments: &SendArguments) -> Result<ExitStatus, CommandError> {
    let piece = arguments.size.largest();
    if arguments.size != Sizes::all(piece)? {
        return Err("--tcp sends pieces of one size: give --size one".into());
    }
    let settings = TcpSending {
        to: arguments.to,
        piece,
        buffer: bytes(arguments.buffer)?,
        core: arguments.core,
        duration: arguments.ends_after.map(TimeSpan::to_std),
        bytes: arguments.bytes.map(|size| size.bytes),
    };
    let sent = tcp::send(&settings, &*stop_on_signals()?)?;
    let mut ending = Ending::alongside_file(arguments.report.as_deref());
    if let Some(path) = &arguments.report {
        ending.attempt(write_file("the report", path, sent.json().as_bytes()));
    }
    if !arguments.quiet {
        ending.print(&text_of_sent(&sent));
    }
    Ok(ExitStatus::of(ending.is_good()))
}

/// Receives a connection.
pub(super) fn receive(arguments: &ReceiveArguments) -> Result<ExitStatus, CommandError> {
    let (&[port], [] | [_], [] | [_]) =
        (arguments.port.as_slice(), arguments.sent.as_slice(), arguments.core.as_slice())
    else {
        return Err("--tcp takes one connection: give one --port, one --core and one --sent at most".into());
    };
    let address = SocketAddr::new(arguments.way.address, port);
    let receiver = TcpReceiver::listen(address, bytes(arguments.buffer)?)?;
    tracing::info!(target: group::INPUT, "receiving at TCP {}", receiver.address());
    let settings = TcpReceiving {
        core: arguments.core.first().copied(),
        work: arguments.work.to_std(),
        limits: arguments.end.limits(&arguments.sent),
    };
    let mut lines = Lines::new(arguments.quiet);
    let stop = stop_on_signals()?;
    let received = receiver.receive(&settings, &stop, &mut |progress| lines.show(progress))?;
    if received.is_closed {
        wait_for_reports(&arguments.sent, |path| TcpSent::read(path).is_ok());
    }
    // What was received is worth its report even if that of the sender cannot be read.
    let (sent, unreadable) = match arguments.sent.first().map(|path| TcpSent::read(path)) {
        Some(Ok(sent)) => (Some(sent), None),
        Some(Err(problem)) => (None, Some(problem)),
        None => (None, None),
    };
    let mut report = TcpReport::new(received, sent);
    report.mismatches.extend(unreadable);
    let mut ending = Ending::alongside_file(arguments.report.as_deref());
    ending.write_json("the report", arguments.report.as_deref(), &report.json());
    let is_good = report.mismatches.is_empty() && report.received.bytes > 0;
    if !arguments.quiet {
        ending.print(&text_of_received(&report));
    } else if !is_good {
        eprint!("{}", text_of_received(&report));
    }
    let of_use = if report.received.bytes > 0 { ExitStatus::Good } else { ExitStatus::NoUse };
    Ok(of_use.and(ExitStatus::of(report.mismatches.is_empty() && ending.is_good())))
}

fn bytes(size: Option<ByteSize>) -> Result<Option<usize>, CommandError> {
    Ok(size.map(|size| usize::try_from(size.bytes)).transpose()?)
}

fn text_of_sent(sent: &TcpSent) -> String {
    let mut text = format!(
        "sent          {} bytes in pieces of {} B over TCP to {} in {:.3} s: {}bit/s\n",
        grouped(sent.bytes),
        grouped(sent.piece_bytes),
        sent.destination,
        sent.elapsed_s,
        scaled(sent.bits_per_second),
    );
    if let Some(segments) = sent.retransmitted {
        // Writing to a string cannot fail.
        let _ =
            writeln!(text, "sent again    {} segments, of all connections of this host", grouped(segments));
    }
    text
}

fn text_of_received(report: &TcpReport) -> String {
    let received = &report.received;
    let mut text = format!(
        "received      {} bytes over TCP from {} in {:.3} s: {}bit/s, {}\n",
        grouped(received.bytes),
        received.source.map_or("nobody".to_owned(), |source| source.to_string()),
        received.seconds,
        scaled(report.bits_per_second()),
        if received.is_closed { "to its end" } else { "not to its end" },
    );
    // Writing to a string cannot fail.
    if let Some(lost) = report.lost_bytes() {
        let _ = writeln!(text, "lost          {} bytes, of those that the sender reports", grouped(lost));
    }
    if let Some(time) = report.processor_ns_per_kilobyte() {
        let _ = writeln!(text, "processor     {time:.0} ns for each kilobyte");
    }
    for mismatch in &report.mismatches {
        let _ = writeln!(text, "mismatch      {mismatch}");
    }
    text
}
