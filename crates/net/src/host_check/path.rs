//! Whether large packets reach another host.
//!
//! A packet to a port where nobody listens is answered by its host (ICMP: port unreachable): so it has arrived, whatever is between,
//! and nobody needs to be started there. It must not be broken into fragments on its way.

use evforge_host::Finding;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use crate::socket::option::set_number;

/// Bytes of IP and UDP headers.
const HEADERS: usize = 28;
/// Sizes of packets, with their headers: one that gets through everywhere, the usual one, a jumbo frame.
const SIZES: [usize; 3] = [128, 1500, 9000];
/// How often a packet of a size is sent, and how long an answer is waited for. Linux answers at most once a second after the first six.
const TRIES: usize = 3;
const PATIENCE: Duration = Duration::from_millis(400);

/// What became of the packets of a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// The other host has answered.
    Arrived,
    /// The interface of this host does not take it.
    TooLargeHere,
    /// A router has said that it is too large.
    TooLargeOnTheWay,
    /// Nobody has answered.
    Silence,
}

/// Sends packets of up to 9000 bytes to `to`, a port where nobody listens, and says which of them arrive.
pub fn path_to(to: SocketAddr) -> Finding {
    let subject = format!("path to {to}");
    let mut answers = [Answer::Silence; SIZES.len()];
    for (answer, size) in answers.iter_mut().zip(SIZES) {
        *answer = match sent(to, size - HEADERS) {
            Ok(answer) => answer,
            Err(error) => {
                return Finding::missing(&subject, error.to_string(), format!("ip route get {}", to.ip()));
            }
        };
    }
    judged(&subject, to, answers)
}

fn judged(subject: &str, to: SocketAddr, answers: [Answer; SIZES.len()]) -> Finding {
    if answers[0] != Answer::Arrived {
        let found = "nobody answers there, not even a small packet: nothing can be said about large ones";
        let fix = format!(
            "let the host {} answer (ICMP, its firewall), and name a port where nobody listens",
            to.ip()
        );
        return Finding::advice(subject, found, fix);
    }
    let Some(first) = answers.iter().position(|answer| *answer != Answer::Arrived) else {
        return Finding::good(subject, format!("packets of {} bytes arrive", SIZES[SIZES.len() - 1]));
    };
    let (arrives, lost) = (SIZES[first - 1], SIZES[first]);
    let (what, fix) = match answers[first] {
        Answer::TooLargeHere => (
            "this host's interface does not take them",
            "sudo ip link set dev INTERFACE mtu 9000, here".to_owned(),
        ),
        Answer::TooLargeOnTheWay => {
            ("a router does not take them", "a larger MTU at each router on the way".to_owned())
        }
        Answer::Silence | Answer::Arrived => (
            "they vanish on the way: a switch, or the other host, has a smaller MTU",
            format!(
                "an MTU of 9000 at each switch, and at {}: sudo ip link set dev INTERFACE mtu 9000",
                to.ip()
            ),
        ),
    };
    Finding::advice(subject, format!("packets of {arrives} bytes arrive, of {lost} bytes not: {what}"), fix).because(
        &format!("packets of {lost} bytes"),
        "A readout that sends larger packets than the path takes is not heard, and no counter of this host says so.",
        "Reliable UDP at 10 Gb/s, 3.2: an MTU of 9000 at both ends",
    )
}

fn sent(to: SocketAddr, bytes: usize) -> io::Result<Answer> {
    let socket = Socket::new(Domain::for_address(to), Type::DGRAM, Some(Protocol::UDP))?;
    // Whole or not at all, and without what this host remembers about the path.
    let (level, name, value) = match to {
        SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE),
        SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE),
    };
    set_number(socket.as_fd(), level, name, value)?;
    socket.connect(&SockAddr::from(to))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let packet = vec![0; bytes];
    let socket: std::net::UdpSocket = socket.into();
    for _ in 0..TRIES {
        match socket.send(&packet) {
            Ok(_) => {}
            Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => return Ok(Answer::TooLargeHere),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(Answer::Arrived),
            Err(error) => return Err(error),
        }
        match socket.recv(&mut [0]) {
            // Somebody listens there after all.
            Ok(_) => return Ok(Answer::Arrived),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(Answer::Arrived),
            Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {
                return Ok(Answer::TooLargeOnTheWay);
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Answer::Silence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_host::Verdict;

    #[test]
    fn packets_to_this_host_arrive() {
        // A port that was free a moment ago.
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let nobody = socket.local_addr().unwrap();
        drop(socket);
        let finding = path_to(nobody);
        assert_eq!(finding.verdict, Verdict::Good, "{finding:?}");
    }

    #[test]
    fn each_answer_has_its_sentence() {
        let to = "10.0.0.1:9".parse().unwrap();
        use Answer::{Arrived, Silence, TooLargeHere, TooLargeOnTheWay};
        for (answers, expected) in [
            ([Silence, Silence, Silence], "not even a small packet"),
            ([Arrived, Arrived, Silence], "of 1500 bytes arrive, of 9000 bytes not: they vanish"),
            (
                [Arrived, TooLargeHere, TooLargeHere],
                "of 128 bytes arrive, of 1500 bytes not: this host's interface",
            ),
            ([Arrived, Arrived, TooLargeOnTheWay], "a router"),
        ] {
            let finding = judged("path", to, answers);
            assert!(finding.found.contains(expected), "{finding:?}");
            assert_eq!(finding.verdict, Verdict::Advice);
        }
    }
}
