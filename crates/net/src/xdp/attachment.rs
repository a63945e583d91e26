//! What receives from an interface: sockets with their queues, and the program that steers frames to them.
//!
//! Opened by the helper if this process has one, else by this process, which then needs the privileges itself.

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

use super::counters::XdpCounters;
use super::error::XdpError;
use super::opening::{self, Granted};
use super::queue::{Queue, QueueGrant};
use super::steering::{Steering, SteeringCounters, SteeringCounts};
use crate::helper::message::{GrantAbout, ReceiverReply, ReceiverRequest, Reply, Request};
use crate::helper::{self, Helper};

/// Who keeps the steering program attached.
#[derive(Debug)]
enum Holder {
    Here(Box<Steering>),
    /// The session of the helper.
    ByHelper(u32),
}

impl Drop for Holder {
    fn drop(&mut self) {
        if let (Self::ByHelper(session), Some(helper)) = (self, Helper::of_this_process()) {
            // If it has ended, nothing is attached any more.
            let _ = helper.close(*session);
        }
    }
}

/// The sockets of the queues of an interface, and their program.
#[derive(Debug)]
pub(super) struct Attachment {
    // Detached before the sockets are closed.
    holder: Holder,
    counters: SteeringCounters,
    pub(super) queues: Vec<Queue>,
    pub(super) about: GrantAbout,
}

impl Attachment {
    /// Opens the sockets and attaches the program, which steers nothing yet.
    pub(super) fn open(request: &ReceiverRequest) -> Result<Self, XdpError> {
        let (holder, about, counters, queues) = match Helper::of_this_process() {
            Some(helper) => ask(helper, request)?,
            None => {
                let (granted, steering) = opening::grant(request, |_| Ok(()))?;
                let Granted { mut about, counters, queues, .. } = granted;
                if request.flow_rules {
                    about
                        .warnings
                        .push("Flow rules of the network card are set by evforge-helper only.".into());
                }
                (Holder::Here(Box::new(steering)), about, counters, queues)
            }
        };
        let failed = |source| XdpError::Receive { interface: request.interface.clone(), source };
        let queues = queues
            .into_iter()
            .zip(&about.zero_copy)
            .map(|(queue, &zero_copy)| Queue::adopt(queue, request.ring, request.frames, zero_copy));
        let queues = queues.collect::<io::Result<Vec<_>>>().map_err(failed)?;
        let counters = SteeringCounters::of(counters).map_err(failed)?;
        Ok(Self { holder, counters, queues, about })
    }

    /// Has the program steer `ports` at `address` from now on.
    pub(super) fn steer(&mut self, address: IpAddr, ports: &[u16]) -> Result<(), XdpError> {
        match &mut self.holder {
            Holder::Here(steering) => ports
                .iter()
                .try_for_each(|&port| steering.open_port(address, port))
                .map_err(|source| XdpError::Program { source }),
            Holder::ByHelper(session) => helper::steer(*session, address, ports)
                .map_err(|error| XdpError::NotGranted { message: error.message }),
        }
    }

    /// False once the helper has ended, and with it what it had attached.
    pub(super) fn is_held(&self) -> bool {
        match self.holder {
            Holder::Here(_) => true,
            Holder::ByHelper(_) => Helper::of_this_process().is_some_and(Helper::is_alive),
        }
    }

    /// What the program and the kernel have counted.
    pub(super) fn counted(&self) -> io::Result<XdpCounters> {
        // Before Linux 6.0 an unprivileged process may not read maps: then these are not known, and losses still are.
        let steering = match self.counters.counts() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => SteeringCounts::default(),
            counts => counts?,
        };
        let mut counters = XdpCounters {
            seen: steering.seen,
            steered: steering.steered,
            no_socket: steering.no_socket,
            other_port: steering.other_port,
            fragments: steering.fragments,
            extended: steering.extended,
            not_udp: steering.not_udp,
            mixed: steering.mixed,
            ..XdpCounters::default()
        };
        for queue in &self.queues {
            let statistics = queue.statistics()?;
            counters.dropped += statistics.dropped;
            counters.ring_full += statistics.ring_full;
            counters.fill_ring_empty += statistics.fill_ring_empty;
            counters.gathered += queue.gathered();
        }
        Ok(counters)
    }
}

type Parts = (Holder, GrantAbout, OwnedFd, Vec<QueueGrant>);

fn ask(helper: &Helper, request: &ReceiverRequest) -> Result<Parts, XdpError> {
    let not_granted = |message: String| XdpError::NotGranted { message };
    let (reply, descriptors) =
        helper.ask(Request::Receiver(request.clone()), &[]).map_err(|error| not_granted(error.message))?;
    let Reply::Receiver(ReceiverReply { session, about }) = reply else {
        return Err(not_granted("evforge-helper has answered something else than what was asked".into()));
    };
    // From here on the session is closed if anything is wrong.
    let holder = Holder::ByHelper(session);
    let mut descriptors = descriptors.into_iter();
    let counters = descriptors.next();
    let mut queues = Vec::new();
    while let (Some(socket), Some(memory)) = (descriptors.next(), descriptors.next()) {
        queues.push(QueueGrant { socket, memory });
    }
    match counters {
        Some(counters) if !queues.is_empty() && queues.len() == about.zero_copy.len() => {
            Ok((holder, about, counters, queues))
        }
        _ => Err(not_granted("evforge-helper has not sent a socket and its memory for each queue".into())),
    }
}
