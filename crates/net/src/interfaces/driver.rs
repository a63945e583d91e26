//! What the driver of a network card counts by itself: `ethtool -S`.
//!
//! Names and meanings are the driver's. They are not part of the ledger, which counts only what has a meaning on every host.

use std::io;
use std::net::UdpSocket;

use crate::xdp::interface::{ask, request};

const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSTATS: u32 = 0x1d;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
/// The set of strings that names the counters.
const COUNTERS: u32 = 1;
/// Bytes of a name.
const NAME: usize = 32;
/// More than any driver has.
const MOST: usize = 16_384;

/// The counters of the driver of `interface`, by name, in its order. Empty if it has none.
///
/// # Errors
/// If there is no such interface, or the driver does not answer.
pub fn driver_counters(interface: &str) -> io::Result<Vec<(String, u64)>> {
    if interface.len() >= libc::IFNAMSIZ {
        return Err(io::ErrorKind::NotFound.into());
    }
    // Any socket can ask.
    let socket = UdpSocket::bind(("0.0.0.0", 0)).or_else(|_| UdpSocket::bind(("::", 0)))?;
    let count = count(&socket, interface)?;
    if count == 0 || count > MOST {
        return Ok(Vec::new());
    }
    let names = names(&socket, interface, count)?;
    let values = values(&socket, interface, count)?;
    Ok(names.into_iter().zip(values).filter(|(name, _)| !name.is_empty()).collect())
}

/// `struct ethtool_sset_info` with the answer for one set: command, nothing, a mask of 64 bits, the count.
fn count(socket: &UdpSocket, interface: &str) -> io::Result<usize> {
    let mut words = [ETHTOOL_GSSET_INFO, 0, 0, 0, 0, 0];
    // The mask is in the byte order of the host.
    let mask = (1_u64 << COUNTERS).to_ne_bytes();
    for (word, bytes) in words[2..4].iter_mut().zip(mask.chunks_exact(4)) {
        *word = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    exchange(socket, interface, &mut words)?;
    // The mask says what there is of what was asked for.
    let there = words[2] | words[3];
    Ok(if there == 0 { 0 } else { words[4] as usize })
}

/// `struct ethtool_gstrings`: command, set, count, names.
fn names(socket: &UdpSocket, interface: &str, count: usize) -> io::Result<Vec<String>> {
    // The kernel writes as many as the driver has by then, which may have become more.
    let mut words = vec![0; 3 + room(count) * NAME / 4];
    (words[0], words[1]) = (ETHTOOL_GSTRINGS, COUNTERS);
    words[2] = count as u32;
    exchange(socket, interface, &mut words)?;
    let name = |words: &[u32]| {
        let bytes: Vec<u8> =
            words.iter().flat_map(|word| word.to_ne_bytes()).take_while(|&byte| byte != 0).collect();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    };
    Ok(words[3..].chunks_exact(NAME / 4).take((words[2] as usize).min(count)).map(name).collect())
}

/// `struct ethtool_stats`: command, count, values of 64 bits.
fn values(socket: &UdpSocket, interface: &str, count: usize) -> io::Result<Vec<u64>> {
    let mut words = vec![0; 2 + room(count) * 2];
    words[0] = ETHTOOL_GSTATS;
    words[1] = count as u32;
    exchange(socket, interface, &mut words)?;
    let value = |words: &[u32]| {
        let [a, b, c, d] = words[0].to_ne_bytes();
        let [e, f, g, h] = words[1].to_ne_bytes();
        u64::from_ne_bytes([a, b, c, d, e, f, g, h])
    };
    Ok(words[2..].chunks_exact(2).take((words[1] as usize).min(count)).map(value).collect())
}

fn room(count: usize) -> usize {
    2 * count + 256
}

fn exchange(socket: &UdpSocket, interface: &str, words: &mut [u32]) -> io::Result<()> {
    let mut request = request(interface);
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    ask(socket, libc::SIOCETHTOOL, &mut request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_is_not_there_has_no_counters() {
        assert!(driver_counters("no-such-if").is_err());
        assert!(driver_counters("a-name-that-is-too-long").is_err());
    }
}
