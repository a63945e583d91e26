//! Messages with descriptors over a socket pair (`SOCK_SEQPACKET`: whole messages, in order).

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

use super::message::{LONGEST, MOST_QUEUES};

/// Descriptors of one message: the counters, and two of each queue.
const MOST_DESCRIPTORS: usize = 1 + 2 * MOST_QUEUES;

/// A message and the descriptors that came with it.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) bytes: Vec<u8>,
    pub(super) descriptors: Vec<OwnedFd>,
}

/// Sends a message.
///
/// # Errors
/// If the other side is gone, or the message is too long.
pub(super) fn send(socket: impl AsFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    if bytes.len() > LONGEST || descriptors.len() > MOST_DESCRIPTORS {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "a message of more than can be sent at once",
        ));
    }
    let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("no room for the descriptors of a message"));
    }
    let sent = rustix::net::sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?;
    if sent == bytes.len() { Ok(()) } else { Err(io::Error::other("a message was sent in part")) }
}

/// Receives a message; none if the other side is gone.
///
/// # Errors
/// If the message was too long, or the system fails to receive.
pub(super) fn receive(socket: impl AsFd) -> io::Result<Option<Received>> {
    let mut bytes = vec![0; LONGEST];
    let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let message = rustix::io::retry_on_intr(|| {
        rustix::net::recvmsg(
            socket.as_fd(),
            &mut [IoSliceMut::new(&mut bytes)],
            &mut control,
            RecvFlags::CMSG_CLOEXEC,
        )
    })?;
    let mut descriptors = Vec::new();
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = part {
            descriptors.extend(rights);
        }
    }
    if message.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a message longer than any that is sent here",
        ));
    }
    bytes.truncate(message.bytes);
    Ok((message.bytes > 0).then_some(Received { bytes, descriptors }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    pub(crate) fn pair() -> (OwnedFd, OwnedFd) {
        use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap()
    }

    #[test]
    fn messages_arrive_whole_with_their_descriptors() {
        let (here, there) = pair();
        let (mut kept, given) = UnixStream::pair().unwrap();
        send(&here, b"one", &[given.as_fd()]).unwrap();
        send(&here, b"two", &[]).unwrap();
        drop((here, given));
        let one = receive(&there).unwrap().unwrap();
        assert_eq!((&one.bytes[..], one.descriptors.len()), (&b"one"[..], 1));
        let mut arrived = UnixStream::from(one.descriptors.into_iter().next().unwrap());
        kept.write_all(b"x").unwrap();
        arrived.read_exact(&mut [0]).unwrap();
        assert_eq!(receive(&there).unwrap().unwrap().bytes, b"two");
        assert!(receive(&there).unwrap().is_none(), "the other side is gone");
    }

    #[test]
    fn what_is_too_long_is_refused_on_both_sides() {
        let (here, there) = pair();
        assert!(send(&here, &vec![0; LONGEST + 1], &[]).is_err());
        rustix::net::send(&here, &vec![1; LONGEST + 1], SendFlags::empty()).unwrap();
        assert_eq!(receive(&there).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
