//! `evforge measure link`: what a link carries at most.

use super::result::{ResultArguments, command_line};
use crate::CommandError;
use crate::exit_status::ExitStatus;
use clap::Args;
use evforge_core::quantity::{ByteSize, Rate};
use evforge_host::LocalHost;
use evforge_measure::Session;
use evforge_measure::link::{LinkSettings, measure};

const TITLE: &str = "What a link carries at most";

/// Arguments of `evforge measure link`.
#[derive(Args)]
pub(super) struct LinkArguments {
    /// Speed of the link: 10Gb/s, 100Gb/s
    #[arg(long, default_value = "10Gb/s", value_name = "SPEED", value_parser = speed)]
    speed: u64,
    /// MTU in bytes, without the headers of Ethernet: 1500, 9000; may be given up to six times
    #[arg(long, value_name = "BYTES", default_value = "9000", value_parser = bytes)]
    mtu: Vec<u32>,
    /// User data of a packet in bytes; may be given several times [default: those of Table 1, and the largest in one frame]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    size: Vec<u32>,
    /// The fingerprint has this network interface and its card
    #[arg(long, env = "EVFORGE_INTERFACE", value_name = "NAME", conflicts_with = "without_host")]
    interface: Option<String>,
    /// Leave the host out of the fingerprint: arithmetic does not depend on it
    #[arg(long)]
    without_host: bool,
    #[command(flatten)]
    result: ResultArguments,
}

pub(super) fn speed(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(Rate::Bits(bits)) if bits > 0 => Ok(bits),
        _ => Err(format!("found `{text}`, expected a speed such as 10Gb/s, 2.5Gb/s or 100Mb/s")),
    }
}

/// A bare number is bytes: there is nothing else that it could be.
pub(super) fn bytes(text: &str) -> Result<u32, String> {
    let is_bare = text.trim().ends_with(|last: char| last.is_ascii_digit());
    let size = if is_bare { format!("{}B", text.trim()).parse() } else { text.parse::<ByteSize>() };
    let size = size.ok().and_then(|size| u32::try_from(size.bytes).ok());
    size.ok_or_else(|| format!("found `{text}`, expected bytes such as 1500, 8972B or 9kB"))
}

/// Runs the command.
pub(super) fn link(arguments: &LinkArguments) -> Result<ExitStatus, CommandError> {
    let folder = arguments.result.folder()?;
    let command = command_line();
    // Who only looks at the table does not wait until the host has been looked at.
    let is_kept = folder.is_some() || arguments.result.json || arguments.interface.is_some();
    let session = match is_kept && !arguments.without_host {
        true => {
            let interfaces: Vec<String> = arguments.interface.iter().cloned().collect();
            Session::begin("link", TITLE, &command, &LocalHost::new(), &interfaces)?
        }
        false => Session::without_host("link", TITLE, &command),
    };
    let settings = LinkSettings {
        bits_per_second: arguments.speed,
        mtus: arguments.mtu.clone(),
        sizes: arguments.size.clone(),
    };
    arguments.result.hand_over(&measure(session, &settings)?, folder.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_of_bits_and_bare_numbers_are_bytes() {
        assert_eq!((speed("10Gb/s"), speed("2.5 Gbit/s")), (Ok(10_000_000_000), Ok(2_500_000_000)));
        for wrong in ["10", "0Gb/s", "1Mpps", "10GB/s"] {
            assert!(speed(wrong).unwrap_err().contains("such as 10Gb/s"), "{wrong}");
        }
        assert_eq!((bytes("1500"), bytes("9kB"), bytes("64B")), (Ok(1500), Ok(9000), Ok(64)));
        for wrong in ["", "x", "-1", "5GB", "1.5"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
