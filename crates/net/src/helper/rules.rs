//! Who may have what: the rules of the administrator.
//!
//! ```toml
//! [[allow]]
//! users = ["daq", 1001]          # names or numbers
//! interfaces = ["eth2"]
//! ports = ["9000-9010", 9100]    # received
//! send = false                   # whole frames by AF_XDP, with any addresses: default no
//! largest_memory = "2GB"         # of AF_XDP, all queues of a receiver together
//! largest_buffer = "256MB"       # of a socket
//! largest_priority = 50          # of a thread; default 0: none
//! ```

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use evforge_core::quantity::ByteSize;
use serde::Deserialize;

use crate::user::User;

/// The rules, which must belong to root and be writable by root only, and so must the folder.
pub const RULES_FILE: &str = "/etc/evforge/helper.toml";
/// More than this is no list of rules.
const LONGEST_FILE: u64 = 1 << 18;

/// The rules of a host.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rules {
    #[serde(default)]
    allow: Vec<Allow>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Allow {
    users: Vec<NameOrNumber>,
    interfaces: Vec<String>,
    ports: Vec<Ports>,
    #[serde(default)]
    send: bool,
    #[serde(default = "largest_memory")]
    largest_memory: ByteSize,
    #[serde(default = "largest_buffer")]
    largest_buffer: ByteSize,
    #[serde(default)]
    largest_priority: u8,
}

fn largest_memory() -> ByteSize {
    ByteSize { bytes: 2_000_000_000 }
}

fn largest_buffer() -> ByteSize {
    ByteSize { bytes: 256_000_000 }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum NameOrNumber {
    Number(u32),
    Name(String),
}

/// Ports, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "toml::Value")]
struct Ports(u16, u16);

impl TryFrom<toml::Value> for Ports {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        let wrong = || format!("found {value}, expected a port (9000) or a range of ports (\"9000-9010\")");
        if let Some(port) = value.as_integer() {
            let port = u16::try_from(port).ok().filter(|&port| port > 0).ok_or_else(wrong)?;
            return Ok(Self(port, port));
        }
        let (first, last) = value.as_str().and_then(|text| text.split_once('-')).ok_or_else(wrong)?;
        let port = |text: &str| text.trim().parse().ok().filter(|&port: &u16| port > 0).ok_or_else(wrong);
        let ports = Self(port(first)?, port(last)?);
        if ports.0 <= ports.1 { Ok(ports) } else { Err(wrong()) }
    }
}

/// Something that has to be allowed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Need<'a> {
    /// To receive these ports by AF_XDP, with so much memory.
    Receive { interface: &'a str, ports: &'a [u16], memory: u64 },
    /// To send frames.
    Send { interface: &'a str },
    /// A socket of this port (none: of any) with a buffer of this many bytes.
    Socket { port: Option<u16>, buffer: u64 },
    /// A thread of this priority.
    Priority(u8),
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asker {
    /// Has started the helper with privileges of its own, so that none are lent here.
    Privileged,
    /// Gets them by the helper's file.
    User(u32),
}

/// Whether a text is a list of rules: how many there are. Who owns the file is not looked at.
///
/// # Errors
/// In words, with line and column.
pub fn check_rules(text: &str) -> Result<usize, String> {
    Rules::parse(text).map(|rules| rules.allow.len())
}

impl Rules {
    /// The rules of this host; none allow anything if there is no file.
    ///
    /// # Errors
    /// In words, if the file or its folder may be written by others than root, or is not understood.
    pub(super) fn read() -> Result<Option<Self>, String> {
        Self::read_from(Path::new(RULES_FILE))
    }

    fn read_from(path: &Path) -> Result<Option<Self>, String> {
        let fail = |error: io::Error| format!("{} cannot be read: {error}", path.display());
        let options = libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
        let mut file = match File::options().read(true).custom_flags(options).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(fail(error)),
        };
        let about = file.metadata().map_err(fail)?;
        if !about.is_file() {
            return Err(format!("{} is not a plain file", path.display()));
        }
        let folder = path.parent().unwrap_or(Path::new("/"));
        for (place, about) in [(path, &about), (folder, &folder.metadata().map_err(fail)?)] {
            check_owner(place, about)?;
        }
        let mut text = String::new();
        file.by_ref().take(LONGEST_FILE).read_to_string(&mut text).map_err(fail)?;
        Self::parse(&text).map(Some).map_err(|problem| format!("{}: {problem}", path.display()))
    }

    fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// Decides about a need.
    ///
    /// # Errors
    /// In words, with what would allow it.
    pub(super) fn decide(
        rules: Result<Option<Self>, String>,
        asker: Asker,
        need: &Need<'_>,
    ) -> Result<(), String> {
        let Asker::User(uid) = asker else { return Ok(()) };
        let name = User::find(&uid.to_string()).map_or_else(|_| uid.to_string(), |user| user.name);
        let rules = rules?.ok_or_else(|| {
            format!(
                "{RULES_FILE} is not there, so evforge-helper gives nothing to user {name}. {}",
                example(&name, need)
            )
        })?;
        if rules.allow.iter().any(|allow| allow.is_for(uid, &name) && allow.covers(need)) {
            return Ok(());
        }
        Err(format!("{RULES_FILE} does not allow user {name} {}. {}", need.in_words(), example(&name, need)))
    }
}

fn check_owner(place: &Path, about: &Metadata) -> Result<(), String> {
    if about.uid() == 0 && about.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(format!(
        "{place} is writable by others than root (owner {}, mode {:o}), so it is not trusted: sudo chown root:root \
         {place} && sudo chmod go-w {place}",
        about.uid(),
        about.mode() & 0o7777,
        place = place.display(),
    ))
}

impl Allow {
    fn is_for(&self, uid: u32, name: &str) -> bool {
        self.users.iter().any(|user| match user {
            NameOrNumber::Number(number) => *number == uid,
            NameOrNumber::Name(listed) => listed == name || listed.parse() == Ok(uid),
        })
    }

    fn covers(&self, need: &Need<'_>) -> bool {
        let has_port = |port: u16| self.ports.iter().any(|ports| (ports.0..=ports.1).contains(&port));
        let has_interface = |name: &str| self.interfaces.iter().any(|listed| listed == name);
        match *need {
            Need::Receive { interface, ports, memory } => {
                has_interface(interface)
                    && !ports.is_empty()
                    && ports.iter().all(|&port| has_port(port))
                    && memory <= self.largest_memory.bytes
            }
            Need::Send { interface } => self.send && has_interface(interface),
            Need::Socket { port, buffer } => port.is_none_or(has_port) && buffer <= self.largest_buffer.bytes,
            Need::Priority(priority) => priority <= self.largest_priority,
        }
    }
}

impl Need<'_> {
    fn in_words(&self) -> String {
        match self {
            Need::Receive { interface, ports, memory } => {
                let megabytes = memory.div_ceil(1_000_000);
                format!(
                    "to receive {interface} port {} by AF_XDP with {megabytes} MB of memory",
                    listed(ports)
                )
            }
            Need::Send { interface } => format!("to send through {interface} by AF_XDP"),
            Need::Socket { port, buffer } => {
                let port = port.map_or_else(String::new, |port| format!(" at port {port}"));
                format!("a socket{port} with a buffer of {buffer} bytes")
            }
            Need::Priority(priority) => format!("the real-time priority {priority}"),
        }
    }

    fn as_rule(&self) -> String {
        match self {
            Need::Receive { interface, ports, .. } => {
                format!("interfaces = [\"{interface}\"], ports = [{}]", listed(ports))
            }
            Need::Send { interface } => format!("interfaces = [\"{interface}\"], send = true"),
            Need::Socket { port, buffer } => {
                format!("ports = [{}], largest_buffer = \"{buffer}B\"", listed(port.as_slice()))
            }
            Need::Priority(priority) => format!("largest_priority = {priority}"),
        }
    }
}

fn listed(ports: &[u16]) -> String {
    ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", ")
}

fn example(name: &str, need: &Need<'_>) -> String {
    format!(
        "The administrator allows it there with [[allow]] users = [\"{name}\"], {} (docs/receive.md)",
        need.as_rule()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    const RULES: &str = "[[allow]]\nusers = [\"1001\", 7]\ninterfaces = [\"eth2\"]\nports = [9000, \"9100-9110\"]\n\
                         largest_memory = \"1GB\"\nlargest_priority = 50\n";

    fn decide(uid: u32, need: &Need<'_>) -> Result<(), String> {
        Rules::decide(Rules::parse(RULES).map(Some), Asker::User(uid), need)
    }

    fn receive<'a>(interface: &'a str, ports: &'a [u16]) -> Need<'a> {
        Need::Receive { interface, ports, memory: 1000 }
    }

    #[test]
    fn only_what_is_listed_is_allowed() {
        for uid in [1001, 7] {
            assert_eq!(decide(uid, &receive("eth2", &[9000, 9100, 9110])), Ok(()));
            assert_eq!(decide(uid, &Need::Priority(50)), Ok(()));
            assert_eq!(decide(uid, &Need::Socket { port: Some(9105), buffer: 256_000_000 }), Ok(()));
        }
        for (uid, need) in [
            (1002, receive("eth2", &[9000])),
            (7, receive("eth3", &[9000])),
            (7, receive("eth2", &[9000, 9001])),
            (7, receive("eth2", &[])),
            (7, Need::Receive { interface: "eth2", ports: &[9000], memory: 1_000_000_001 }),
            (7, Need::Send { interface: "eth2" }),
            (7, Need::Priority(51)),
            (7, Need::Socket { port: Some(1), buffer: 1 }),
            (7, Need::Socket { port: None, buffer: 256_000_001 }),
        ] {
            let text = decide(uid, &need).unwrap_err();
            assert!(text.contains("does not allow user") && text.contains("[[allow]]"), "{text}");
            assert_eq!(Rules::decide(Ok(None), Asker::Privileged, &need), Ok(()));
        }
        let text = Rules::decide(Ok(None), Asker::User(7), &receive("eth2", &[9000])).unwrap_err();
        assert!(
            text.contains("is not there") && text.contains("interfaces = [\"eth2\"], ports = [9000]"),
            "{text}"
        );
    }

    #[test]
    fn what_is_no_rule_is_refused_with_its_place() {
        for (text, expected) in [
            ("[[allow]]\nusers = [\"a\"]\ninterfaces = []\nports = [0]", "expected a port"),
            ("[[allow]]\nusers = [\"a\"]\ninterfaces = []\nports = [\"9-8\"]", "expected a port"),
            ("[[allow]]\nusers = [\"a\"]\nports = []", "interfaces"),
            ("[[permit]]\n", "permit"),
        ] {
            let said = Rules::parse(text).unwrap_err();
            assert!(said.contains(expected), "{said}");
        }
    }

    #[test]
    fn files_that_others_can_write_are_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("helper.toml");
        assert!(Rules::read_from(&path).unwrap().is_none());
        std::fs::write(&path, RULES).unwrap();
        let mode =
            |place: &Path, mode| std::fs::set_permissions(place, PermissionsExt::from_mode(mode)).unwrap();
        mode(folder.path(), 0o755);
        mode(&path, 0o666);
        assert!(Rules::read_from(&path).unwrap_err().contains("chmod go-w"));
        let link = folder.path().join("link.toml");
        symlink(&path, &link).unwrap();
        assert!(Rules::read_from(&link).is_err(), "a link is not followed");
        mode(&path, 0o644);
        if path.metadata().unwrap().uid() == 0 {
            assert_eq!(Rules::read_from(&path).unwrap().unwrap().allow.len(), 1);
            mode(folder.path(), 0o777);
            assert!(Rules::read_from(&path).unwrap_err().contains(&folder.path().display().to_string()));
        } else {
            assert!(Rules::read_from(&path).unwrap_err().contains("not trusted"));
        }
    }
}
