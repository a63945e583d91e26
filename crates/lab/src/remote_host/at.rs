//! The program that stands for the sender: its end is the sender's end.

use super::allowed::value;
use super::protocol::{self, Answer, Ended, LONGEST_ANSWER, PROTOCOL, Request};
use crate::measured_link::CoreShares;
use evforge_core::whole_file;
use std::io::{self, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a connection may take, and how long an agent may say nothing.
const PATIENCE: Duration = Duration::from_secs(5);
/// What is behind the name of the sender's report in that of the file with the figures of its host.
pub const HOST_FIGURES: &str = ".host.json";

/// Why a program on another host has failed.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// No agent answers.
    #[error(
        "no agent answers at {agent}: {source}. Start one there: evforge measure agent --listen {agent} --token-file FILE"
    )]
    NoAgent {
        /// Its address.
        agent: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// It refuses.
    #[error("the agent at {agent} refuses: {reason}")]
    Refused {
        /// Its address.
        agent: SocketAddr,
        /// Why.
        reason: String,
    },
    /// It was lost.
    #[error("the agent at {agent} was lost: {source}. Is its host up, and the agent running?")]
    Lost {
        /// Its address.
        agent: SocketAddr,
        /// How.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("{} cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What the sender's host did while packets were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SenderHost {
    /// The sender's core.
    pub core: Option<CoreShares>,
    /// Interrupts per second of the host.
    pub interrupts_per_second: Option<f64>,
}

/// Has an agent start evforge with these arguments, and waits for its end: its exit status, and what it said. The report goes where
/// `--report` says, here; next to it, with [`HOST_FIGURES`] behind its name, what its host did.
///
/// # Errors
/// If there is no agent, it refuses or is lost, or a file cannot be written.
pub fn run_at(agent: SocketAddr, token: &str, arguments: &[String]) -> Result<(i32, String), RemoteError> {
    let no_agent = |source| RemoteError::NoAgent { agent, source };
    let lost = |source| RemoteError::Lost { agent, source };
    let connection = TcpStream::connect_timeout(&agent, PATIENCE).map_err(no_agent)?;
    connection.set_read_timeout(Some(PATIENCE)).map_err(no_agent)?;
    connection.set_write_timeout(Some(PATIENCE)).map_err(no_agent)?;
    let request = Request {
        protocol: PROTOCOL,
        evforge: env!("CARGO_PKG_VERSION").to_owned(),
        token: token.to_owned(),
        arguments: without_files(arguments),
    };
    protocol::write(&mut &connection, &request).map_err(lost)?;
    let mut reader = BufReader::new(&connection);
    let ended = loop {
        match protocol::read::<Answer>(&mut reader, LONGEST_ANSWER).map_err(lost)? {
            Some(Answer::Started | Answer::Running) => {}
            Some(Answer::Refused(reason)) => return Err(RemoteError::Refused { agent, reason }),
            Some(Answer::Ended(ended)) => break ended,
            None => return Err(lost(io::ErrorKind::UnexpectedEof.into())),
        }
    };
    if let Some(report) = value(arguments, "--report") {
        write_figures(Path::new(report), &ended)?;
    }
    Ok((ended.status.unwrap_or(1), ended.said))
}

/// What an agent sees to itself.
fn without_files(arguments: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--report" => _ = rest.next(),
            "--quiet" | "--overwrite" => {}
            _ => kept.push(argument.clone()),
        }
    }
    kept
}

fn write_figures(path: &Path, ended: &Ended) -> Result<(), RemoteError> {
    let write = |path: PathBuf, value: String| {
        std::fs::write(&path, value).map_err(|source| RemoteError::Write { path, source })
    };
    if let Some(report) = &ended.report {
        write(path.to_owned(), format!("{report:#}\n"))?;
    }
    let host = SenderHost { core: ended.core, interrupts_per_second: ended.interrupts_per_second };
    // Numbers are always valid JSON.
    write(figures_of(path), serde_json::to_string(&host).unwrap_or_default())
}

fn figures_of(report: &Path) -> PathBuf {
    let mut name = report.as_os_str().to_owned();
    name.push(HOST_FIGURES);
    name.into()
}

/// What the sender's host did, by the file next to the sender's report; nothing if there is none.
pub fn sender_host(report: &Path) -> SenderHost {
    let text = whole_file::bytes(&figures_of(report), whole_file::SETTINGS).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_files_stays_here() {
        let line = "send --overwrite --quiet --size 64B --for 1s --report /tmp/sent.json --unpaced";
        let kept = without_files(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(kept.join(" "), "send --size 64B --for 1s --unpaced");
    }

    #[test]
    fn the_figures_of_the_host_are_next_to_the_report() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sent.json");
        let core = Some(CoreShares { user: 0.5, ..CoreShares::default() });
        let ended = Ended { report: Some(serde_json::json!({"packets": 3})), core, ..Ended::default() };
        write_figures(&path, &ended).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().contains("\"packets\": 3"));
        assert_eq!(sender_host(&path).core, core);
        assert_eq!(sender_host(&folder.path().join("other.json")), SenderHost::default());
    }
}
