//! Where trains are passed on to.

use evforge_core::endpoint::endpoint;
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

/// Where trains are passed on to: `udp://HOST:PORT`, which is the same as `HOST:PORT`, or `tcp://HOST:PORT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardTarget {
    /// In packets as they came: what is lost on the way is lost.
    Udp(SocketAddr),
    /// Over one connection for each module: nothing is lost while it stands.
    Tcp(SocketAddr),
}

impl FromStr for ForwardTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = |why: String| format!("{why}; expected tcp://HOST:PORT or udp://HOST:PORT");
        match text.split_once("://") {
            Some(("tcp", rest)) => endpoint(rest).map(Self::Tcp),
            Some(("udp", rest)) => endpoint(rest).map(Self::Udp),
            Some((scheme, _)) => Err(format!("`{scheme}://` is neither")),
            None => endpoint(text).map(Self::Udp),
        }
        .map_err(expected)
    }
}

impl fmt::Display for ForwardTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(address) => write!(f, "udp://{address}"),
            Self::Tcp(address) => write!(f, "tcp://{address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_as_they_are_written() {
        let address = SocketAddr::from(([10, 0, 0, 3], 9200));
        for (text, target) in [
            ("10.0.0.3:9200", ForwardTarget::Udp(address)),
            ("udp://10.0.0.3:9200", ForwardTarget::Udp(address)),
            ("tcp://10.0.0.3:9200", ForwardTarget::Tcp(address)),
        ] {
            assert_eq!(text.parse(), Ok(target));
            assert_eq!(target.to_string().parse(), Ok(target));
        }
        for (text, told) in [("http://a:1", "http"), ("tcp://10.0.0.3", "no port"), ("tcp://", "HOST:PORT")] {
            let problem = text.parse::<ForwardTarget>().unwrap_err();
            assert!(problem.contains(told) && problem.contains("tcp://HOST:PORT"), "{problem}");
        }
    }
}
