//! `evforge doctor`: what limits receiving on this host, and the command that fixes it.

use super::arguments::HostArguments;
use super::text::{to_json, to_text};
use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::output::print;
use clap::Args;
use evforge_host::{Finding, Host, HostNeeds, SavingHost, Verdict, check_host};
use evforge_net::host_check::{check_process, disk_speed, path_to};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

/// Where a path leads to, if no port is named: discard, where nobody listens any more.
const NOBODY: u16 = 9;

/// Arguments of `evforge doctor`.
#[derive(Args)]
pub(crate) struct DoctorArguments {
    #[command(flatten)]
    host: HostArguments,
    /// See whether packets of 9000 bytes get to this host (HOST or HOST:PORT, where nobody listens); to be run at the sender
    #[arg(long, value_name = "HOST", value_parser = host_and_port, conflicts_with = "saved")]
    path: Option<SocketAddr>,
    /// Measure how fast this folder's disk takes 512 MB, against the speed of the interface
    #[arg(long, value_name = "FOLDER", conflicts_with = "saved")]
    disk: Option<PathBuf>,
    /// Save what was read of this host, settings of the kernel and of cards, into a new folder, to be looked at elsewhere
    #[arg(long, value_name = "FOLDER", conflicts_with = "saved")]
    save: Option<PathBuf>,
    /// Write the findings as JSON
    #[arg(long)]
    json: bool,
}

fn host_and_port(text: &str) -> Result<SocketAddr, String> {
    let found = text.to_socket_addrs().or_else(|_| (text, NOBODY).to_socket_addrs());
    let mut addresses = found
        .map_err(|error| format!("{error}; expected an address or a name, as in 10.0.0.2 or readout:9"))?;
    addresses.next().ok_or_else(|| "it has no address".to_owned())
}

/// Runs the command. Good if all that the configuration asks for can be had.
pub(crate) fn doctor(arguments: &DoctorArguments) -> Result<ExitStatus, CommandError> {
    let needs = arguments.host.needs()?;
    let host = arguments.host.host()?;
    let saving = arguments.save.as_ref().map(|folder| (SavingHost::new(host.as_ref()), folder));
    let looked_at: &dyn Host = saving.as_ref().map_or(host.as_ref(), |(saving, _)| saving);
    let mut findings = check_host(looked_at, &needs, arguments.host.profile);
    if let Some((saving, folder)) = &saving {
        saving.save(folder).map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
    }
    if arguments.host.saved.is_none() {
        findings.extend(check_process(&needs));
    }
    findings.extend(arguments.path.map(path_to));
    if let Some(folder) = &arguments.disk {
        findings.push(disk_speed(folder, link_speed(host.as_ref(), &needs)));
    }
    let text = match arguments.json {
        true => format!("{:#}\n", to_json(&findings)),
        false => to_text(&findings),
    };
    print(&text)?;
    Ok(ExitStatus::of(findings.iter().all(|finding: &Finding| finding.verdict != Verdict::Missing)))
}

/// Megabits per second of all interfaces that packets come in by, as far as they are known.
fn link_speed(host: &dyn Host, needs: &HostNeeds) -> Option<u64> {
    let speed = |interface: &String| {
        let text = host.read(&Path::new("/sys/class/net").join(interface).join("speed")).ok()?;
        text.parse::<u64>().ok()
    };
    let speeds: Vec<u64> = needs.interfaces.iter().filter_map(speed).collect();
    (!speeds.is_empty()).then(|| speeds.iter().sum())
}
