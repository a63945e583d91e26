//! One batched send call: packets, or runs of equally long packets, from where they lie.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

use evforge_core::packet::{LARGEST_PAYLOAD, PacketBatch};

/// Most packets given to the kernel in one call.
pub(super) const MOST: usize = 64;

/// Control memory for one segment size.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; 24]);

/// Sends the packets of `batch` with the indices `picks` (at most [`MOST`]), waiting for room in the send buffer; says how
/// many have gone. With `segment`, runs of equal length go in one piece.
///
/// An error concerns the first of them, which has not been sent.
pub(super) fn send(
    socket: BorrowedFd<'_>,
    batch: &PacketBatch<'_>,
    picks: &[usize],
    segment: bool,
) -> io::Result<usize> {
    assert!(picks.len() <= MOST, "{} packets are more than one call takes", picks.len());
    let mut parts = MaybeUninit::<[libc::iovec; MOST]>::zeroed();
    let mut headers = MaybeUninit::<[libc::mmsghdr; MOST]>::zeroed();
    // SAFETY: both are made of integers and raw pointers, for which all zeros is a valid value.
    let (parts, headers) = unsafe { (parts.assume_init_mut(), headers.assume_init_mut()) };
    let mut controls = [Control([0; 24]); MOST];
    let mut runs = [0_usize; MOST];
    let mut lengths = [0_usize; MOST];
    let mut present = 0;
    let packets = picks.iter().map_while(|&index| batch.get(index));
    for ((packet, part), length) in packets.zip(parts.iter_mut()).zip(&mut lengths) {
        // The kernel only reads what it sends; the type of the field is for both directions.
        part.iov_base = packet.bytes.as_ptr().cast_mut().cast();
        part.iov_len = packet.bytes.len();
        *length = packet.bytes.len();
        present += 1;
    }
    let mut messages = 0;
    let mut taken = 0;
    while taken < present {
        let run = if segment { run_length(&lengths[taken..present]) } else { 1 };
        let header = &mut headers[messages].msg_hdr;
        header.msg_iov = parts[taken..].as_mut_ptr();
        header.msg_iovlen = run as _;
        if run > 1 {
            header.msg_control = controls[messages].0.as_mut_ptr().cast();
            header.msg_controllen = size_of::<Control>() as _;
            // SAFETY: the control memory has the size of one message with a u16 (24 bytes with padding) and
            // the alignment of its header, so the macros give pointers into it.
            unsafe {
                let control = libc::CMSG_FIRSTHDR(header);
                (*control).cmsg_level = libc::SOL_UDP;
                (*control).cmsg_type = libc::UDP_SEGMENT;
                (*control).cmsg_len = libc::CMSG_LEN(size_of::<u16>() as u32) as _;
                // Fits: a run's segments are shorter than the largest payload.
                libc::CMSG_DATA(control).cast::<u16>().write_unaligned(lengths[taken] as u16);
            }
        }
        runs[messages] = run;
        messages += 1;
        taken += run;
    }
    // SAFETY: the first `messages` headers point to parts, controls and payloads that are valid for reads of
    // the lengths given and live until the end of this function; the kernel keeps no pointer beyond the call.
    let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), messages as _, 0) };
    if sent < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted { Ok(0) } else { Err(error) };
    }
    Ok(runs[..sent as usize].iter().sum())
}

/// How many of the packets of these lengths, from the first on, can go in one piece: equal ones, and one
/// shorter one at the end.
fn run_length(lengths: &[usize]) -> usize {
    let first = lengths[0];
    let mut total = first;
    let mut run = 1;
    for &length in &lengths[1..] {
        if length == 0 || length > first || total + length > LARGEST_PAYLOAD {
            break;
        }
        total += length;
        run += 1;
        if length < first {
            break;
        }
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_of_equal_lengths_with_a_shorter_end_and_fit_a_datagram() {
        assert_eq!(run_length(&[5, 5, 5, 3, 5]), 4);
        assert_eq!(run_length(&[5, 6, 6]), 1);
        assert_eq!(run_length(&[5, 5, 0]), 2);
        assert_eq!(run_length(&[0, 0]), 1);
        assert_eq!(run_length(&[8972; 64]), 7);
        assert_eq!(run_length(&[65_507, 1]), 1);
    }
}
