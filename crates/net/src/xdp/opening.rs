//! Getting the queues of an interface: what is checked, and which ways are tried.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use super::error::XdpError;
use super::interface::Interface;
use super::options::{XdpMode, XdpOptions};
use super::queue::{LARGEST_PIECE, QueueGrant, QueuePlan, StepError, while_busy};
use super::steering::Steering;
use crate::helper::message::{GrantAbout, ReceiverRequest};
use crate::privileges;

/// The queues of an interface as they are granted, with the program attached, which steers nothing yet.
#[derive(Debug)]
pub(crate) struct Granted {
    pub(crate) about: GrantAbout,
    /// What the program counts.
    pub(crate) counters: OwnedFd,
    pub(crate) queues: Vec<QueueGrant>,
    /// Their numbers.
    pub(crate) numbers: Vec<u32>,
}

/// Opens the queues with the first method that works, unless `fits` says why there may not be that many. Needs privileges;
/// the program is attached as long as the second part of the result lives.
pub(crate) fn grant(
    request: &ReceiverRequest,
    fits: impl FnOnce(usize) -> Result<(), String>,
) -> Result<(Granted, Steering), XdpError> {
    let interface = Interface::find(&request.interface)
        .map_err(|source| XdpError::Interface { interface: request.interface.clone(), source })?;
    let numbers = queue_numbers(request, &interface)?;
    fits(numbers.len()).map_err(|message| XdpError::NotGranted { message })?;
    let missing = privileges::missing();
    if !missing.is_empty() {
        let missing = missing.iter().map(|missing| (missing.name, missing.purpose)).collect();
        return Err(XdpError::Privileges { missing });
    }
    let largest = numbers.iter().max().map_or(1, |last| last + 1).max(interface.queues.unwrap_or(1));
    let program = |source| XdpError::Program { source };
    let mut steering = Steering::load(largest).map_err(program)?;

    let mut refused = Vec::new();
    let mut in_use = false;
    let mut attached = None;
    for &mode in &request.modes {
        let in_driver = mode != XdpMode::Generic;
        if attached != Some(in_driver) {
            steering.detach();
            attached = None;
            if let Err(error) = while_busy(|| steering.attach(interface.index, in_driver)) {
                in_use |= error.raw_os_error() == Some(libc::EBUSY);
                refused.push(format!("{}: attaching the program: {}", mode.name(), reason(&error)));
                continue;
            }
            attached = Some(in_driver);
        }
        let pieces = steering.takes_pieces() && interface.largest_frame() > LARGEST_PIECE;
        let queues: Result<Vec<_>, _> =
            numbers.iter().map(|&queue| open_queue(request, &interface, queue, mode, pieces)).collect();
        match queues {
            Ok(queues) => {
                for (&number, (queue, _)) in numbers.iter().zip(&queues) {
                    steering.enter(number, queue.socket.as_fd()).map_err(program)?;
                }
                let mut warnings = warnings(&interface, request, &numbers);
                if interface.largest_frame() > LARGEST_PIECE && !pieces {
                    warnings.push(format!(
                        "{} receives packets of up to {} bytes, but this kernel (before Linux 5.18) hands over at most {} \
                         by AF_XDP: longer ones are lost. Receive by sockets (--receive socket).",
                        request.interface,
                        interface.mtu,
                        LARGEST_PIECE - super::interface::AROUND,
                    ));
                }
                let counters = steering.counters().map_err(program)?;
                let (queues, zero_copy) = queues.into_iter().unzip();
                let about = GrantAbout { interface, mode, pieces, zero_copy, refused, warnings };
                return Ok((Granted { about, counters, queues, numbers }, steering));
            }
            Err(StepError { step: _, source }) if source.raw_os_error() == Some(libc::ENOBUFS) => {
                return Err(XdpError::Memory {
                    needed: XdpOptions::locked_memory(request.frames),
                    queues: numbers.len(),
                    allowed: privileges::lockable_memory(),
                    source,
                });
            }
            Err(StepError { step, source }) => {
                in_use |= source.raw_os_error() == Some(libc::EBUSY);
                refused.push(format!("{}: {step}: {}", mode.name(), reason(&source)));
            }
        }
    }
    Err(XdpError::Refused { interface: request.interface.clone(), reasons: refused, in_use })
}

/// A queue, and whether the card writes into its memory itself.
fn open_queue(
    request: &ReceiverRequest,
    interface: &Interface,
    queue: u32,
    mode: XdpMode,
    pieces: bool,
) -> Result<(QueueGrant, bool), StepError> {
    let granted = QueueGrant::open(&QueuePlan {
        interface: interface.index,
        queue,
        ring: request.ring,
        frames: request.frames,
        zero_copy: mode == XdpMode::ZeroCopy,
        pieces,
    })?;
    let zero_copy = granted.is_zero_copy()?;
    Ok((granted, zero_copy))
}

/// The queues to be opened, after a look at all the options.
fn queue_numbers(options: &ReceiverRequest, interface: &Interface) -> Result<Vec<u32>, XdpError> {
    const SIZES: std::ops::RangeInclusive<u32> = 64..=131_072;
    for (option, value) in [("ring", options.ring), ("frames", options.frames)] {
        if !SIZES.contains(&value) || !value.is_power_of_two() {
            return refuse(option, value, "a power of two from 64 to 131072");
        }
    }
    if options.modes.is_empty() {
        return refuse("modes", "empty", "at least one way");
    }
    let there_are = interface.queues.unwrap_or(1);
    let Some(wanted) = &options.queues else {
        return Ok((0..there_are).collect());
    };
    let mut numbers = wanted.clone();
    numbers.sort_unstable();
    numbers.dedup();
    if numbers.is_empty() || numbers.len() < wanted.len() {
        return refuse("queues", format!("{wanted:?}"), "a list of different numbers");
    }
    match (numbers.last(), interface.queues) {
        (Some(&last), Some(there_are)) if last >= there_are => refuse(
            "queues",
            format!("{wanted:?}"),
            &format!("below {there_are}, the number of queues of {}", options.interface),
        ),
        _ => Ok(numbers),
    }
}

fn refuse<T>(option: &'static str, value: impl ToString, expected: &str) -> Result<T, XdpError> {
    Err(XdpError::Option { option, value: value.to_string(), expected: expected.to_owned() })
}

fn warnings(interface: &Interface, options: &ReceiverRequest, numbers: &[u32]) -> Vec<String> {
    let name = &options.interface;
    match interface.queues {
        Some(there_are) if (numbers.len() as u64) < u64::from(there_are) => vec![format!(
            "{name} has {there_are} queues, of which {} are received from by AF_XDP: packets in the others take the way \
             through the kernel. Leave receive.queues out, or steer the packets to these queues: sudo ethtool -U {name} \
             flow-type udp4 dst-port {} action {}",
            numbers.len(),
            options.ports.first().copied().unwrap_or(0),
            numbers.first().copied().unwrap_or(0),
        )],
        None if options.queues.is_none() => vec![format!(
            "The driver of {name} does not tell how many queues it has: only the first is received from by AF_XDP, \
             packets in others take the way through the kernel. If there are more, name them: receive.queues = [0, 1]"
        )],
        _ => Vec::new(),
    }
}

/// What the usual refusals mean.
fn reason(error: &io::Error) -> String {
    let meaning = match error.raw_os_error() {
        Some(libc::EOPNOTSUPP) => "the driver cannot do that",
        Some(libc::EBUSY) => "another program has it",
        Some(libc::ERANGE) => "the driver cannot do that with so large an MTU",
        _ => return error.to_string(),
    };
    format!("{meaning} ({error})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> ReceiverRequest {
        ReceiverRequest {
            interface: "eth9".into(),
            queues: None,
            ports: vec![6006],
            modes: XdpMode::ALL.to_vec(),
            ring: 64,
            frames: 64,
            flow_rules: false,
        }
    }

    fn interface(queues: Option<u32>) -> Interface {
        Interface { index: 9, mtu: 1500, queues, driver: None, ring: None }
    }

    #[test]
    fn all_queues_are_taken_or_those_that_are_named() {
        assert_eq!(queue_numbers(&options(), &interface(Some(3))).unwrap(), [0, 1, 2]);
        assert_eq!(queue_numbers(&options(), &interface(None)).unwrap(), [0]);
        let named = ReceiverRequest { queues: Some(vec![2, 0]), ..options() };
        assert_eq!(queue_numbers(&named, &interface(Some(3))).unwrap(), [0, 2]);
        let text = queue_numbers(&named, &interface(Some(2))).unwrap_err().to_string();
        assert_eq!(
            text,
            "the AF_XDP option queues is [2, 0]; it must be below 2, the number of queues of eth9."
        );
        for queues in [vec![], vec![1, 1]] {
            let named = ReceiverRequest { queues: Some(queues), ..options() };
            assert!(queue_numbers(&named, &interface(Some(3))).is_err());
        }
        assert!(warnings(&interface(Some(3)), &options(), &[0, 1, 2]).is_empty());
        assert!(warnings(&interface(Some(3)), &options(), &[0, 2])[0].contains("dst-port 6006 action 0"));
    }

    #[test]
    fn sizes_that_no_ring_can_have_are_refused() {
        for ring in [0, 63, 100, 262_144] {
            let text =
                queue_numbers(&ReceiverRequest { ring, ..options() }, &interface(Some(1))).unwrap_err();
            assert!(text.to_string().contains("a power of two from 64 to 131072"), "{text}");
        }
        assert!(queue_numbers(&ReceiverRequest { modes: vec![], ..options() }, &interface(Some(1))).is_err());
    }

    #[test]
    fn an_unknown_interface_comes_with_the_command_that_lists_them() {
        let request = ReceiverRequest { interface: "no-such-if".into(), ..options() };
        let text = grant(&request, |_| Ok(())).unwrap_err().to_string();
        assert!(text.contains("ip -brief link"), "{text}");
    }
}
