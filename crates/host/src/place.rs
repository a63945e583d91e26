//! Where a setting is, how it is read, and how it is changed.

use crate::ethtool::{self, Group};
use crate::host::Host;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::PathBuf;

/// Where a setting is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// A file of the kernel.
    File(PathBuf),
    /// A value that `ethtool` shows and changes.
    Ethtool {
        /// Of which part.
        group: Group,
        /// The interface.
        interface: String,
        /// Its name in the answer: `RX`, `rx-usecs`, `large-receive-offload`.
        name: String,
    },
    /// A service of systemd: `active` or `inactive`.
    Service(String),
    /// The largest read request of a card on the PCI bus, in bytes.
    PciReadRequest(String),
}

/// A value as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The value.
    pub now: String,
    /// The largest there can be, where the host tells.
    pub most: Option<u64>,
    /// It cannot be changed here.
    pub is_fixed: bool,
}

impl Reading {
    fn of(now: impl Into<String>) -> Self {
        Self { now: now.into(), most: None, is_fixed: false }
    }
}

/// Device control of PCI Express: what `setpci` calls its register, and the bits of the read request.
const PCI_REGISTER: &str = "CAP_EXP+8.w";
const PCI_READ_REQUEST: u32 = 0x7000;

impl Place {
    /// The value now. None if this host does not have such a setting.
    ///
    /// # Errors
    /// If it has, and it cannot be read.
    pub fn read(&self, host: &dyn Host) -> io::Result<Option<Reading>> {
        match self {
            Self::File(path) => there(host.read(path).map(Reading::of)),
            Self::Service(name) => service(host, name),
            Self::PciReadRequest(address) => {
                let Some(answer) = there(host.run(&["setpci", "-s", address, PCI_REGISTER]))? else {
                    return Ok(None);
                };
                let register = u32::from_str_radix(answer.trim(), 16).map_err(io::Error::other)?;
                Ok(Some(Reading::of((128 << ((register & PCI_READ_REQUEST) >> 12)).to_string())))
            }
            Self::Ethtool { group, interface, name } => shown(host, *group, interface, name),
        }
    }

    /// Sets the value.
    ///
    /// # Errors
    /// If this process may not, or the host refuses the value.
    pub fn write(&self, host: &dyn Host, value: &str) -> io::Result<()> {
        if let Self::File(path) = self {
            return host.write(path, value);
        }
        let words = self.words(value)?;
        host.run(&words.iter().map(String::as_str).collect::<Vec<_>>()).map(drop)
    }

    /// It in words, for messages.
    pub(crate) fn subject(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Ethtool { interface, name, .. } => format!("{name} of {interface}"),
            Self::Service(name) => format!("the service {name}"),
            Self::PciReadRequest(address) => format!("the read request of {address}"),
        }
    }

    /// The command that a person would give to set the value, as root.
    pub fn command(&self, value: &str) -> String {
        match self {
            Self::File(path) => match path.strip_prefix("/proc/sys") {
                Ok(key) => {
                    let key = key.to_string_lossy().replace('/', ".");
                    let value = value.replace('\t', " ");
                    let quote = if value.contains(' ') { "'" } else { "" };
                    format!("sudo sysctl -w {quote}{key}={value}{quote}")
                }
                Err(_) => link_command(&path.to_string_lossy(), value)
                    .unwrap_or_else(|| format!("echo {value} | sudo tee {}", path.display())),
            },
            _ => match self.words(value) {
                Ok(words) => format!("sudo {}", words.join(" ")),
                Err(error) => error.to_string(),
            },
        }
    }

    /// The command and its arguments.
    fn words(&self, value: &str) -> io::Result<Vec<String>> {
        Ok(match self {
            Self::File(path) => return Err(io::Error::other(format!("{} is a file", path.display()))),
            Self::Ethtool { group, interface, name } => {
                let option = name.to_lowercase().replace("adaptive ", "adaptive-");
                ["ethtool", group.change(), interface, &option, value].map(str::to_owned).to_vec()
            }
            Self::Service(name) => {
                let what = if value == "active" { "start" } else { "stop" };
                ["systemctl", what, name].map(str::to_owned).to_vec()
            }
            Self::PciReadRequest(address) => {
                let bytes: u32 = value.parse().map_err(io::Error::other)?;
                if !bytes.is_power_of_two() || !(128..=4096).contains(&bytes) {
                    let expected = "a power of two from 128 to 4096";
                    return Err(io::Error::other(format!(
                        "a read request of {bytes} bytes: expected {expected}"
                    )));
                }
                // Value and mask: the other bits of the register stay.
                let bits = (bytes.ilog2() - 7) << 12;
                let change = format!("{PCI_REGISTER}={bits:04x}:{PCI_READ_REQUEST:04x}");
                vec!["setpci".to_owned(), "-s".to_owned(), address.clone(), change]
            }
        })
    }
}

/// None where there is no such thing.
fn there<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Drivers that do not know a group say so in different words: there is nothing to set, which is no error.
fn shown(host: &dyn Host, group: Group, interface: &str, name: &str) -> io::Result<Option<Reading>> {
    let Ok(answer) = host.run(&["ethtool", group.show(), interface]) else { return Ok(None) };
    Ok(ethtool::value(group, &answer, name).map(|value| Reading {
        now: value.now,
        most: value.most.and_then(|most| most.parse().ok()),
        is_fixed: value.is_fixed,
    }))
}

/// `systemctl is-active` prints the state, and fails if it is not `active`. A service that is not there is `inactive` for it:
/// there is nothing to stop.
fn service(host: &dyn Host, name: &str) -> io::Result<Option<Reading>> {
    let state = match host.run(&["systemctl", "is-active", name]) {
        Ok(state) => state,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => error.to_string(),
    };
    Ok(match state.trim() {
        "active" => Some(Reading::of("active")),
        "inactive" | "failed" => Some(Reading::of("inactive")),
        // Without systemd as the first process it does not answer: then nothing can be said.
        _ => None,
    })
}

/// What `ip` sets of an interface.
fn link_command(path: &str, value: &str) -> Option<String> {
    let (interface, name) = path.strip_prefix("/sys/class/net/")?.split_once('/')?;
    let what = match name {
        "mtu" => "mtu",
        "tx_queue_len" => "txqueuelen",
        _ => return None,
    };
    Some(format!("sudo ip link set dev {interface} {what} {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_the_one_that_a_person_would_give() {
        let of = |group, name: &str| Place::Ethtool { group, interface: "eth2".into(), name: name.into() };
        let ring = of(Group::Ring, "RX");
        let adaptive = of(Group::Coalescing, "Adaptive RX");
        let offload = of(Group::Offload, "large-receive-offload");
        for (place, value, expected) in [
            (Place::File("/proc/sys/net/core/rmem_max".into()), "1", "sudo sysctl -w net.core.rmem_max=1"),
            (
                Place::File("/proc/sys/net/ipv4/udp_mem".into()),
                "1\t2\t3",
                "sudo sysctl -w 'net.ipv4.udp_mem=1 2 3'",
            ),
            (Place::File("/sys/class/net/eth2/mtu".into()), "9000", "sudo ip link set dev eth2 mtu 9000"),
            (
                Place::File("/proc/irq/7/smp_affinity_list".into()),
                "0",
                "echo 0 | sudo tee /proc/irq/7/smp_affinity_list",
            ),
            (ring, "4096", "sudo ethtool -G eth2 rx 4096"),
            (adaptive, "off", "sudo ethtool -C eth2 adaptive-rx off"),
            (offload, "off", "sudo ethtool -K eth2 large-receive-offload off"),
            (Place::Service("irqbalance".into()), "inactive", "sudo systemctl stop irqbalance"),
            (
                Place::PciReadRequest("0000:3b:00.0".into()),
                "4096",
                "sudo setpci -s 0000:3b:00.0 CAP_EXP+8.w=5000:7000",
            ),
        ] {
            assert_eq!(place.command(value), expected);
        }
        assert!(Place::PciReadRequest("0000:3b:00.0".into()).command("5000").contains("a power of two"));
    }
}
