//! What happens outside of the process: packets that arrive, clients, signals, somebody who sets the clock or removes a file.

use crate::plan::{Action, CLIENTS};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::Path;

/// The actions that are still to come, and those who do them.
pub(crate) struct World {
    coming: VecDeque<(u64, Action)>,
    port: u16,
    sender: Option<UdpSocket>,
    clients: [Option<TcpStream>; CLIENTS],
}

impl World {
    pub(crate) fn new(port: u16, actions: &[(u64, Action)]) -> Self {
        let sends = actions.iter().any(|(_, action)| matches!(action, Action::Packet(_)));
        let sender = if sends { UdpSocket::bind("127.0.0.1:0").ok() } else { None };
        Self { coming: actions.iter().cloned().collect(), port, sender, clients: [const { None }; CLIENTS] }
    }

    /// When the next one is.
    pub(crate) fn next_at(&self) -> Option<u64> {
        self.coming.front().map(|(at, _)| *at)
    }

    /// The next one whose time has come.
    pub(crate) fn due(&mut self, now: u64) -> Option<Action> {
        if self.next_at()? > now {
            return None;
        }
        self.coming.pop_front().map(|(_, action)| action)
    }

    /// Does it, and says what came of it.
    pub(crate) fn make_happen(&mut self, action: &Action, folder: &Path, wall: &mut i64) -> String {
        match action {
            Action::Packet(bytes) => {
                let to = SocketAddr::from(([127, 0, 0, 1], self.port));
                let sent = self.sender.as_ref().map(|sender| sender.send_to(bytes, to).is_ok());
                format!("packet of {} bytes: {}", bytes.len(), words(sent))
            }
            Action::Signal(signal) => {
                // SAFETY: any number may be asked for.
                unsafe { libc::raise(*signal) };
                format!("signal {signal}")
            }
            Action::Clock(step) => {
                *wall += step;
                format!("clock {step}")
            }
            Action::Remove(name) => {
                let done = std::fs::remove_file(folder.join(name)).is_ok();
                format!("remove {name}: {}", words(Some(done)))
            }
            Action::Replace(name) => {
                let path = folder.join(name);
                let done = std::fs::remove_file(&path).is_ok() && std::fs::write(&path, "").is_ok();
                format!("replace {name}: {}", words(Some(done)))
            }
            Action::Connect(client, port) => {
                let made = TcpStream::connect(("127.0.0.1", *port)).ok();
                let made = made.filter(|made| made.set_nonblocking(true).is_ok());
                let told = format!("client {client} connects to {port}: {}", words(Some(made.is_some())));
                self.clients[*client] = made;
                told
            }
            Action::Send(client, bytes) => {
                let sent = self.clients[*client].as_mut().map(|made| made.write_all(bytes).is_ok());
                format!("client {client} sends {} bytes: {}", bytes.len(), words(sent))
            }
            Action::Read(client, most) => self.read(*client, *most),
            Action::Close(client) => {
                self.clients[*client] = None;
                format!("client {client} closes")
            }
        }
    }

    fn read(&mut self, client: usize, most: usize) -> String {
        let Some(made) = &mut self.clients[client] else {
            return format!("client {client} reads: it is not connected");
        };
        let mut bytes = vec![0; most];
        let mut count = 0;
        let end = loop {
            match made.read(&mut bytes[count..]) {
                Ok(0) => break " and the end",
                Ok(more) => count += more,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break "",
                Err(_) => break " and an error",
            }
        };
        let line = bytes[..count].split(|&byte| byte == b'\r' || byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
        format!("client {client} reads {count} bytes{end}: {}", line.escape_debug())
    }
}

fn words(done: Option<bool>) -> &'static str {
    match done {
        Some(true) => "done",
        Some(false) => "refused",
        None => "nobody is there",
    }
}
