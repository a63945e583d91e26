//! What evforge asks of the helper, and what it gets.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::xdp::XdpMode;
use crate::xdp::interface::Interface;

/// Both sides must be of the same version: they are installed together.
pub(crate) const VERSION: u32 = 1;
/// Longest message in bytes.
pub(crate) const LONGEST: usize = 16 << 10;
/// Most queues that can be opened at once: two descriptors for each have to fit into one message.
pub(crate) const MOST_QUEUES: usize = 64;

/// A request with the version of its sender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Envelope {
    pub(crate) version: u32,
    pub(crate) request: Request,
}

/// What can be asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(crate) enum Request {
    /// May this be received? Changes nothing.
    Check { interface: String, ports: Vec<u16> },
    /// May a thread have this priority? Changes nothing.
    CheckPriority { priority: u8 },
    /// May a socket of this port have such a receive buffer? Changes nothing.
    CheckSocket { port: u16, receive_buffer: u32 },
    /// AF_XDP sockets for queues, with the steering program attached, which steers nothing yet.
    Receiver(ReceiverRequest),
    /// Let the program of a session steer these ports from now on.
    Steer { session: u32, address: IpAddr, ports: Vec<u16> },
    /// Detach the program of a session and take back its flow rules.
    Close { session: u32 },
    /// An AF_XDP socket that sends frames of up to this many bytes.
    Sender { interface: String, longest: usize },
    /// Settings of a socket whose descriptor comes with the request.
    Socket(SocketRequest),
    /// A real-time priority for a thread of the process that asks.
    Priority { thread: i32, priority: u8 },
}

/// AF_XDP sockets that are wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReceiverRequest {
    pub(crate) interface: String,
    /// None: all queues.
    pub(crate) queues: Option<Vec<u32>>,
    /// What is to be steered later.
    pub(crate) ports: Vec<u16>,
    /// Ways to try, in this order.
    pub(crate) modes: Vec<XdpMode>,
    /// Entries of each receive ring.
    pub(crate) ring: u32,
    /// Frames of memory of each queue.
    pub(crate) frames: u32,
    /// Have the card bring the ports to the queues.
    pub(crate) flow_rules: bool,
}

/// Settings beyond what an ordinary process may have; each is optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SocketRequest {
    /// Take this address and port.
    pub(crate) bind: Option<SocketAddr>,
    /// Receive buffer in bytes, without the kernel's doubling.
    pub(crate) receive_buffer: Option<u32>,
    /// The same for the send buffer.
    pub(crate) send_buffer: Option<u32>,
    /// Busy polling that is preferred to interrupts, in microseconds.
    pub(crate) busy_poll: Option<u32>,
}

/// What the helper answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(crate) enum Reply {
    /// It has been done, or is allowed.
    Done,
    /// The descriptors that come with it: counters of the program, then socket and memory of each queue.
    Receiver(ReceiverReply),
    /// The descriptors that come with it: socket and memory.
    Sender,
    /// It has not been done. In whole sentences, for people.
    Refused {
        message: String,
        /// The system's number, if it was the system that refused.
        code: Option<i32>,
    },
}

/// What has been opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReceiverReply {
    pub(crate) session: u32,
    pub(crate) about: GrantAbout,
}

/// What there is to know about sockets that have been opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrantAbout {
    pub(crate) interface: Interface,
    pub(crate) mode: XdpMode,
    /// Frames may come in several pieces.
    pub(crate) pieces: bool,
    /// Of each queue: the card writes into our memory itself.
    pub(crate) zero_copy: Vec<bool>,
    /// The better ways, each with the reason against it.
    pub(crate) refused: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

/// A request as it travels.
pub(crate) fn encode(message: &impl Serialize) -> Vec<u8> {
    // Plain structures: their JSON cannot fail, and an empty message is refused by the other side.
    serde_json::to_vec(message).unwrap_or_default()
}

/// Takes a request apart.
///
/// # Errors
/// In words, if it is not one of this version.
pub(crate) fn decode_request(bytes: &[u8]) -> Result<Request, String> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let versioned: Versioned =
        serde_json::from_slice(bytes).map_err(|error| format!("the request is no request: {error}"))?;
    if versioned.version != VERSION {
        return Err(format!(
            "evforge speaks version {} with its helper, which speaks version {VERSION}: install both from one release",
            versioned.version
        ));
    }
    let envelope: Envelope =
        serde_json::from_slice(bytes).map_err(|error| format!("the request is not understood: {error}"))?;
    Ok(envelope.request)
}

/// Whether bytes are a request that the helper understands, for whoever wants to try what it takes: the request in the form in
/// which it is sent.
///
/// # Errors
/// In words, as the helper would answer.
pub fn check_request(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let request = decode_request(bytes)?;
    Ok(encode(&Envelope { version: VERSION, request }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requests_come_back_as_they_were() {
        let socket = SocketRequest { receive_buffer: Some(7), ..SocketRequest::default() };
        for request in [
            Request::Check { interface: "eth2".into(), ports: vec![9000] },
            Request::Receiver(ReceiverRequest {
                interface: "eth2".into(),
                queues: Some(vec![0, 3]),
                ports: vec![9000, 9001],
                modes: XdpMode::ALL.to_vec(),
                ring: 64,
                frames: 128,
                flow_rules: true,
            }),
            Request::Steer { session: 3, address: [10, 0, 0, 1].into(), ports: vec![1] },
            Request::Close { session: 3 },
            Request::Sender { interface: "eth2".into(), longest: 1514 },
            Request::Socket(socket),
            Request::Priority { thread: 12, priority: 50 },
            Request::CheckPriority { priority: 50 },
            Request::CheckSocket { port: 9000, receive_buffer: 1 << 24 },
        ] {
            let bytes = encode(&Envelope { version: VERSION, request: request.clone() });
            assert!(bytes.len() < LONGEST);
            assert_eq!(decode_request(&bytes), Ok(request));
        }
    }

    #[test]
    fn another_version_is_named() {
        let text = decode_request(b"{\"version\": 7, \"request\": {\"fly\": {}}}").unwrap_err();
        assert!(text.contains("version 7") && text.contains("one release"), "{text}");
        assert!(decode_request(b"{\"version\": 1, \"request\": {\"fly\": {}}}").unwrap_err().contains("fly"));
        assert!(decode_request(b"").is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken_apart_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode_request(&bytes);
        }

        #[test]
        fn any_text_close_to_a_request_is_taken_apart_or_refused(
            interface in "\\PC{0,20}", ports in proptest::collection::vec(any::<u16>(), 0..9),
            cut in 0_usize..200, flipped in any::<(usize, u8)>(),
        ) {
            let request = Request::Check { interface, ports };
            let mut bytes = encode(&Envelope { version: VERSION, request: request.clone() });
            prop_assert_eq!(decode_request(&bytes), Ok(request));
            let at = flipped.0 % bytes.len();
            bytes[at] ^= flipped.1;
            let _ = decode_request(&bytes);
            bytes.truncate(cut);
            let _ = decode_request(&bytes);
        }
    }
}
