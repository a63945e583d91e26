//! The addresses of streams.

use crate::CommandError;
use std::net::SocketAddr;

/// The addresses of the streams: those given, or `streams` successive ports from a single one on (the same port 0
/// again and again, for ports that the kernel chooses).
pub(super) fn stream_addresses(
    given: &[SocketAddr],
    streams: Option<u16>,
) -> Result<Vec<SocketAddr>, CommandError> {
    let (&[first], Some(streams)) = (given, streams) else {
        if streams.is_some() {
            return Err("--streams counts on from a single address or port: give one of them only".into());
        }
        return Ok(given.to_vec());
    };
    if streams == 0 {
        return Err("--streams 0 is no stream: at least 1".into());
    }
    (0..streams)
        .map(|number| {
            let number = if first.port() == 0 { 0 } else { number };
            let port = first.port().checked_add(number).ok_or_else(|| {
                format!("{streams} streams from port {} on go beyond port 65535", first.port())
            })?;
            Ok(SocketAddr::new(first.ip(), port))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_have_successive_ports() {
        let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let ports = |given: &[SocketAddr], streams| -> Vec<u16> {
            stream_addresses(given, streams).unwrap().iter().map(SocketAddr::port).collect()
        };
        assert_eq!(ports(&[address(9100)], Some(3)), [9100, 9101, 9102]);
        assert_eq!(ports(&[address(0)], Some(2)), [0, 0]);
        assert_eq!(ports(&[address(7), address(5)], None), [7, 5]);
        for (given, streams, reason) in [
            (vec![address(65_535)], 2, "beyond port 65535"),
            (vec![address(1), address(2)], 2, "a single address"),
            (vec![address(1)], 0, "at least 1"),
        ] {
            let error = stream_addresses(&given, Some(streams)).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
