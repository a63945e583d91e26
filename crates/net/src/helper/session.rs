//! What the helper has open for the process that started it, and what it does when it is asked.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::net::{AddressFamily, SocketType, sockopt};

use super::flow_rule::Cards;
use super::flow_rules::FlowRules;
use super::journal::Journal;
use super::message::{
    GrantAbout, MOST_QUEUES, ReceiverReply, ReceiverRequest, Reply, Request, SocketRequest,
};
use super::rules::{Asker, Need, Rules};
use crate::priority;
use crate::socket::privileged;
use crate::xdp::XdpOptions;
use crate::xdp::opening::{self, Granted};
use crate::xdp::steering::Steering;
use crate::xdp::transmit;

/// AF_XDP receivers that one process may have open at once.
const MOST_SESSIONS: usize = 16;

/// One AF_XDP receiver of the process that asks: as long as this lives, its program is attached.
struct Session {
    interface: String,
    ports: Vec<u16>,
    steering: Steering,
    rules: FlowRules,
}

/// All that is open, and what decides.
pub(super) struct Sessions {
    asker: Asker,
    /// Number of the process that asks.
    process: u32,
    next: u32,
    open: BTreeMap<u32, Session>,
    cards: Box<dyn Cards>,
    journal: Journal,
}

/// Why something was not done: a sentence, and the system's number if there is one.
struct Refusal(String, Option<i32>);

impl From<String> for Refusal {
    fn from(message: String) -> Self {
        Self(message, None)
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self(error.to_string(), error.raw_os_error())
    }
}

type Answer = Result<(Reply, Vec<OwnedFd>), Refusal>;

impl Sessions {
    pub(super) fn new(asker: Asker, process: u32, cards: Box<dyn Cards>, journal: Journal) -> Self {
        Self { asker, process, next: 1, open: BTreeMap::new(), cards, journal }
    }

    /// Removes what helpers that are gone have left in network cards, as far as whoever asks might have set it.
    pub(super) fn clean_up(&mut self, folder: &Path) -> io::Result<usize> {
        let (rules, asker) = (Rules::read(), self.asker);
        Journal::clean(folder, self.cards.as_mut(), |interface, rule| {
            let need = Need::Receive { interface, ports: &[rule.port], memory: 0 };
            Rules::decide(rules.clone(), asker, &need).is_ok()
        })
    }

    /// Does what is asked for, or says why not.
    pub(super) fn answer(&mut self, request: Request, descriptors: Vec<OwnedFd>) -> (Reply, Vec<OwnedFd>) {
        let answer = match request {
            Request::Check { interface, ports } => self
                .decide(&Need::Receive { interface: &interface, ports: &ports, memory: 0 })
                .map(|()| done()),
            Request::CheckPriority { priority } => self.decide(&Need::Priority(priority)).map(|()| done()),
            Request::CheckSocket { port, receive_buffer } => self
                .decide(&Need::Socket { port: Some(port), buffer: receive_buffer.into() })
                .map(|()| done()),
            Request::Receiver(request) => self.open_receiver(&request),
            Request::Steer { session, address, ports } => self.steer(session, address, &ports),
            Request::Close { session } => self.close(session),
            Request::Sender { interface, longest } => self.open_sender(&interface, longest),
            Request::Socket(request) => self.set_socket(&request, &descriptors),
            Request::Priority { thread, priority } => self.set_priority(thread, priority),
        };
        answer.unwrap_or_else(|Refusal(message, code)| (Reply::Refused { message, code }, Vec::new()))
    }

    /// Takes back everything.
    pub(super) fn end(&mut self) {
        for session in std::mem::take(&mut self.open).keys().copied().collect::<Vec<_>>() {
            let _ = self.close(session);
        }
    }

    fn decide(&self, need: &Need<'_>) -> Result<(), Refusal> {
        Rules::decide(Rules::read(), self.asker, need).map_err(Refusal::from)
    }

    fn open_receiver(&mut self, request: &ReceiverRequest) -> Answer {
        let queues = request.queues.as_ref().map_or(1, Vec::len);
        let memory = |queues: usize| XdpOptions::locked_memory(request.frames).saturating_mul(queues as u64);
        let need = |memory| Need::Receive { interface: &request.interface, ports: &request.ports, memory };
        // Before the interface is looked at; and again when it is known how many queues it has.
        self.decide(&need(memory(queues)))?;
        if self.open.len() >= MOST_SESSIONS {
            return Err(format!("this process has {MOST_SESSIONS} AF_XDP receivers already").into());
        }
        let fits = |queues: usize| {
            if queues > MOST_QUEUES {
                return Err(format!(
                    "{queues} queues are more than the {MOST_QUEUES} that can be opened at once: name some with receive.queues"
                ));
            }
            Rules::decide(Rules::read(), self.asker, &need(memory(queues)))
        };
        let (granted, steering) =
            opening::grant(request, fits).map_err(|error| Refusal(error.to_string(), None))?;
        let Granted { mut about, counters, queues, numbers } = granted;
        let rules = self.set_flow_rules(request, &numbers, &mut about);
        let session = self.next;
        self.next += 1;
        let (interface, ports) = (request.interface.clone(), request.ports.clone());
        self.open.insert(session, Session { interface, ports, steering, rules });
        let queues = queues.into_iter().flat_map(|queue| [queue.socket, queue.memory]);
        let descriptors = std::iter::once(counters).chain(queues).collect();
        Ok((Reply::Receiver(ReceiverReply { session, about }), descriptors))
    }

    /// Without the rules, packets in other queues go through the kernel: a warning says so.
    fn set_flow_rules(
        &mut self,
        request: &ReceiverRequest,
        queues: &[u32],
        about: &mut GrantAbout,
    ) -> FlowRules {
        if !request.flow_rules {
            return FlowRules::default();
        }
        let (interface, ports) = (&request.interface, &request.ports);
        let set = FlowRules::set(self.cards.as_mut(), &mut self.journal, interface, ports, queues, true);
        set.unwrap_or_else(|error| {
            about.warnings.push(format!(
                "The network card of {interface} has no rules that bring the packets to the queues that are received from \
                 ({error}): packets in other queues go through the kernel."
            ));
            FlowRules::default()
        })
    }

    fn session(&mut self, number: u32) -> Result<&mut Session, Refusal> {
        self.open.get_mut(&number).ok_or_else(|| format!("there is no session {number}").into())
    }

    fn steer(&mut self, number: u32, address: IpAddr, ports: &[u16]) -> Answer {
        let session = self.session(number)?;
        if let Some(other) = ports.iter().find(|port| !session.ports.contains(port)) {
            return Err(format!("session {number} is not for port {other} of {}", session.interface).into());
        }
        for &port in ports {
            session.steering.open_port(address, port)?;
        }
        Ok(done())
    }

    fn close(&mut self, number: u32) -> Answer {
        let Some(mut session) = self.open.remove(&number) else { return Ok(done()) };
        session.rules.remove(self.cards.as_mut(), &mut self.journal)?;
        Ok(done())
    }

    fn open_sender(&mut self, interface: &str, longest: usize) -> Answer {
        self.decide(&Need::Send { interface })?;
        let granted = transmit::grant(interface, longest)
            .map_err(|(step, error)| Refusal(format!("{step}: {error}"), error.raw_os_error()))?;
        Ok((Reply::Sender, vec![granted.socket, granted.memory]))
    }

    fn set_socket(&mut self, request: &SocketRequest, descriptors: &[OwnedFd]) -> Answer {
        let [socket] = descriptors else { return Err("the socket is missing".to_owned().into()) };
        let family = sockopt::socket_domain(socket).map_err(io::Error::from)?;
        let kind = sockopt::socket_type(socket).map_err(io::Error::from)?;
        if !matches!(family, AddressFamily::INET | AddressFamily::INET6) || kind != SocketType::DGRAM {
            return Err("this is no UDP socket".to_owned().into());
        }
        let buffer = request.receive_buffer.max(request.send_buffer).unwrap_or(0).into();
        let port = match request.bind {
            Some(address) => Some(address.port()),
            // A socket that only sends has no port of its own.
            None if request.receive_buffer.is_some() || request.busy_poll.is_some() => {
                Some(local_port(socket)?)
            }
            None => None,
        };
        self.decide(&Need::Socket { port, buffer })?;
        privileged::set(socket.as_fd(), request)?;
        Ok(done())
    }

    fn set_priority(&mut self, thread: i32, priority: u8) -> Answer {
        self.decide(&Need::Priority(priority))?;
        if thread <= 0 || !Path::new(&format!("/proc/{}/task/{thread}", self.process)).exists() {
            return Err(format!("{thread} is no thread of the process that asks").into());
        }
        priority::set_of_thread(thread, priority).map_err(|error| refused_priority(priority, &error))?;
        Ok(done())
    }
}

/// Why a priority is not there although it may be given.
fn refused_priority(priority: u8, error: &io::Error) -> Refusal {
    let advice = match error.kind() {
        // Of one who has all rights: seen in control groups of the kernel's first kind, and in containers.
        io::ErrorKind::PermissionDenied => {
            ". The control group of the process may have no time for it: cpu.rt_runtime_us of its cpu group must not be 0 (docker: \
             --cpu-rt-runtime). Or leave the priority out"
        }
        _ => "",
    };
    let message = format!("the kernel refuses the real-time priority {priority}: {error}{advice}.");
    Refusal(message, error.raw_os_error())
}

fn done() -> (Reply, Vec<OwnedFd>) {
    (Reply::Done, Vec::new())
}

fn local_port(socket: &OwnedFd) -> io::Result<u16> {
    let address = rustix::net::getsockname(socket)?;
    Ok(SocketAddr::try_from(address).map_err(io::Error::from)?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_that_the_kernel_refuses_to_one_who_may_have_it_names_the_control_group() {
        let Refusal(message, code) = refused_priority(10, &io::Error::from_raw_os_error(libc::EPERM));
        assert!(
            message.contains("real-time priority 10") && message.contains("cpu.rt_runtime_us"),
            "{message}"
        );
        assert_eq!(code, Some(libc::EPERM));
        let Refusal(gone, _) = refused_priority(10, &io::Error::from_raw_os_error(libc::ESRCH));
        assert!(gone.contains("priority 10") && !gone.contains("cpu.rt"), "{gone}");
    }
}
