//! The little of ZeroMQ's protocol that a server of replies needs: ZMTP 3.0 (RFC 23) without security, sockets of the types REQ and
//! DEALER on the other side.
//!
//! | bytes | what |
//! |---|---|
//! | greeting, 64 | 0xFF, 8 bytes, 0x7F; version 3, 0; mechanism `NULL` in 20 bytes; as-server; 31 zeros |
//! | frame, short | flags, length in 1 byte, body |
//! | frame, long | flags, length in 8 bytes, big-endian, body |
//!
//! Flags: 1 = more frames of the message follow, 2 = long, 4 = command.

use std::io::{Read, Write};

/// Bytes of a greeting.
pub(super) const GREETING: usize = 64;
/// Bytes of a frame that a client sends at most: it only asks for the next train.
const MOST_BYTES: usize = 512;
/// Frames of a message that a client sends at most.
const MOST_FRAMES: usize = 8;
/// Bytes below which frames are joined before they are sent.
const SMALL: usize = 16 << 10;

const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

/// Why a client is let go.
#[derive(Debug)]
pub(super) enum Broken {
    /// The connection has ended, or the server is to end.
    Gone,
    /// It has taken too long.
    TooSlow,
    /// It speaks another protocol, another version, or has another type of socket.
    OtherProtocol,
    /// It asks for something else than the next train.
    OtherRequest,
}

impl From<std::io::Error> for Broken {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind::{TimedOut, WouldBlock};
        match error.kind() {
            TimedOut | WouldBlock => Self::TooSlow,
            _ => Self::Gone,
        }
    }
}

/// Greets, and checks what kind of client it is.
///
/// # Errors
/// If it is none that can be served.
pub(super) fn shake_hands(stream: &mut (impl Read + Write)) -> Result<(), Broken> {
    let mut ours = [0; GREETING];
    (ours[0], ours[9], ours[10]) = (0xff, 0x7f, 3);
    ours[12..16].copy_from_slice(b"NULL");
    stream.write_all(&ours)?;
    let mut theirs = [0; GREETING];
    // An old client stops after its signature and waits: nothing of it is understood.
    stream.read_exact(&mut theirs[..11])?;
    if (theirs[0], theirs[9]) != (0xff, 0x7f) || theirs[10] < 3 {
        return Err(Broken::OtherProtocol);
    }
    stream.read_exact(&mut theirs[11..])?;
    if theirs[12..32] != ours[12..32] {
        return Err(Broken::OtherProtocol);
    }
    let mut ready = Vec::new();
    push_frame(&mut ready, COMMAND, b"\x05READY\x0bSocket-Type\x00\x00\x00\x03REP");
    stream.write_all(&ready)?;
    let (flags, body) = read_frame(stream)?;
    let is_possible = matches!(socket_type(&body), Some(b"REQ" | b"DEALER"));
    if flags & COMMAND == 0 || !is_possible { Err(Broken::OtherProtocol) } else { Ok(()) }
}

/// The type of socket in a READY command.
fn socket_type(body: &[u8]) -> Option<&[u8]> {
    let mut rest = body.strip_prefix(b"\x05READY")?;
    while let Some((&length, after)) = rest.split_first() {
        let (name, after) = after.split_at_checked(length.into())?;
        let (length, after) = after.split_first_chunk()?;
        let (value, after) = after.split_at_checked(u32::from_be_bytes(*length).try_into().ok()?)?;
        if name.eq_ignore_ascii_case(b"Socket-Type") {
            return Some(value);
        }
        rest = after;
    }
    None
}

/// Waits for a request. The addresses before it, with the empty frame behind them, which begin the reply.
///
/// # Errors
/// If there is none that can be answered.
pub(super) fn read_request(stream: &mut impl Read) -> Result<Vec<Vec<u8>>, Broken> {
    let mut addresses: Vec<Vec<u8>> = Vec::new();
    let mut request = None;
    loop {
        let (flags, body) = read_frame(stream)?;
        if flags & COMMAND != 0 {
            continue;
        }
        match addresses.last() {
            Some(last) if last.is_empty() && request.is_none() => request = Some(body),
            Some(last) if last.is_empty() => return Err(Broken::OtherRequest),
            _ => addresses.push(body),
        }
        if addresses.len() > MOST_FRAMES {
            return Err(Broken::OtherRequest);
        }
        if flags & MORE == 0 {
            break;
        }
    }
    if request.as_deref() == Some(b"next") { Ok(addresses) } else { Err(Broken::OtherRequest) }
}

/// Reads a frame: its flags and its body.
fn read_frame(stream: &mut impl Read) -> Result<(u8, Vec<u8>), Broken> {
    let mut start = [0; 2];
    stream.read_exact(&mut start)?;
    let [flags, first] = start;
    let length = if flags & LONG == 0 {
        usize::from(first)
    } else {
        let mut length = [first, 0, 0, 0, 0, 0, 0, 0];
        stream.read_exact(&mut length[1..])?;
        usize::try_from(u64::from_be_bytes(length)).unwrap_or(usize::MAX)
    };
    if length > MOST_BYTES {
        return Err(Broken::OtherRequest);
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok((flags, body))
}

/// Sends a message of several frames; large ones as they are, without a copy.
///
/// # Errors
/// If they could not be sent.
pub(super) fn send<'a>(
    stream: &mut impl Write,
    frames: impl Iterator<Item = &'a [u8]>,
) -> Result<(), Broken> {
    let mut joined = Vec::with_capacity(2 * SMALL);
    let mut frames = frames.peekable();
    while let Some(frame) = frames.next() {
        let flags = if frames.peek().is_some() { MORE } else { 0 };
        if frame.len() < SMALL {
            push_frame(&mut joined, flags, frame);
        } else {
            push_start(&mut joined, flags, frame.len());
        }
        if frame.len() >= SMALL || joined.len() >= SMALL {
            stream.write_all(&joined)?;
            joined.clear();
        }
        if frame.len() >= SMALL {
            stream.write_all(frame)?;
        }
    }
    Ok(stream.write_all(&joined)?)
}

fn push_frame(to: &mut Vec<u8>, flags: u8, body: &[u8]) {
    push_start(to, flags, body.len());
    to.extend_from_slice(body);
}

fn push_start(to: &mut Vec<u8>, flags: u8, length: usize) {
    match u8::try_from(length) {
        Ok(short) => to.extend_from_slice(&[flags, short]),
        Err(_) => {
            to.push(flags | LONG);
            to.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn request(frames: &[&[u8]]) -> Result<Vec<Vec<u8>>, Broken> {
        let mut bytes = Vec::new();
        send(&mut bytes, frames.iter().copied()).unwrap();
        read_request(&mut Cursor::new(bytes))
    }

    #[test]
    fn requests_have_addresses_and_one_word() {
        assert_eq!(request(&[b"", b"next"]).unwrap(), [b""]);
        assert_eq!(request(&[b"ab", b"", b"next"]).unwrap(), [&b"ab"[..], b""]);
        for wrong in [&[&b"next"[..]][..], &[b"", b"previous"], &[b"", b"next", b"next"], &[&b"a"[..]; 20]] {
            assert!(matches!(request(wrong), Err(Broken::OtherRequest)), "{wrong:?}");
        }
        assert!(matches!(request(&[b"", &[0; 600]]), Err(Broken::OtherRequest)));
        // A frame that announces more than anybody has.
        let mut huge = vec![LONG];
        huge.extend_from_slice(&u64::MAX.to_be_bytes());
        assert!(matches!(read_request(&mut Cursor::new(huge)), Err(Broken::OtherRequest)));
    }

    #[test]
    fn large_frames_have_long_lengths() {
        let large = vec![7; 20_000];
        let mut bytes = Vec::new();
        send(&mut bytes, [&b"a"[..], &large].into_iter()).unwrap();
        assert_eq!(bytes[..3], [MORE, 1, b'a']);
        assert_eq!(bytes[3..12], [LONG, 0, 0, 0, 0, 0, 0, 0x4e, 0x20]);
        assert_eq!(bytes[12..], large);
    }

    #[test]
    fn the_type_of_a_socket_is_found_among_properties() {
        assert_eq!(socket_type(b"\x05READY\x01a\0\0\0\x02xy\x0bsocket-type\0\0\0\x03REQ"), Some(&b"REQ"[..]));
        for cut in [&b"\x05READY"[..], b"\x05ERROR", b"\x05READY\xff", b"\x05READY\x01a\xff\xff\xff\xffz"] {
            assert_eq!(socket_type(cut), None);
        }
    }
}
