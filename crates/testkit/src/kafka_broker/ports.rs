//! Where a broker listens.

use std::net::{SocketAddr, TcpListener};

/// A listener besides the plain one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listener {
    /// TLS (`security.protocol=ssl`).
    Tls,
    /// Names and passwords without encryption (`sasl_plaintext`, mechanism PLAIN).
    Sasl,
    /// Both (`sasl_ssl`).
    SaslTls,
}

impl Listener {
    /// As Kafka calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tls => "SSL",
            Self::Sasl => "SASL_PLAINTEXT",
            Self::SaslTls => "SASL_SSL",
        }
    }
}

/// The ports of a broker.
#[derive(Debug)]
pub(super) struct Ports {
    pub(super) broker: u16,
    pub(super) controller: u16,
    further: Vec<(Listener, u16)>,
}

impl Ports {
    /// Ports that nobody has at this moment.
    pub(super) fn free(listeners: &[Listener]) -> Self {
        // All are held until all are known: no two are the same.
        let mut held = Vec::new();
        let mut free = || {
            let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
            let port = socket.local_addr().expect("an address").port();
            held.push(socket);
            port
        };
        let (broker, controller) = (free(), free());
        let further = listeners.iter().map(|listener| (*listener, free())).collect();
        Self { broker, controller, further }
    }

    /// Where the plain listener is.
    pub(super) fn plain(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.broker))
    }

    /// The address of a further listener, by the name that certificates are for.
    pub(super) fn further(&self, listener: Listener) -> String {
        let found = self.further.iter().find(|(one, _)| *one == listener);
        let (_, port) = found.unwrap_or_else(|| panic!("the broker has no listener {listener:?}"));
        format!("localhost:{port}")
    }
}

/// True if a connection to this port has been closed by its client, and not yet here: `CLOSE_WAIT` in proc(5).
pub(super) fn has_half_closed(port: u16) -> bool {
    let port = format!(":{port:04X}");
    let is_half_closed = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        fields.next().is_some_and(|local| local.ends_with(&port)) && fields.nth(1) == Some("08")
    };
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| std::fs::read_to_string(table).unwrap_or_default());
    tables.iter().any(|table| table.lines().any(is_half_closed))
}
