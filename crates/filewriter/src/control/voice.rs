//! The messages that a file writer sends: answ, wrdn, x5f2.

use super::reply::Reply;
use super::start::NO_STOP_MS;
use super::text::short;
use evforge_messages::{Answ, Encoder, Wrdn, X5f2};
use serde::Serialize;

/// Who speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The name of this writer, which no other has.
    pub service_id: String,
    /// The host that it runs on.
    pub host_name: String,
    /// The number of its process.
    pub process_id: u32,
    /// From one state to the next, milliseconds.
    pub interval_ms: u32,
}

/// Makes messages.
#[derive(Debug)]
pub(super) struct Voice {
    identity: Identity,
    encoder: Encoder,
}

/// An answer to a command.
pub(super) struct Answer<'a> {
    pub(super) reply: Reply,
    pub(super) job_id: &'a str,
    pub(super) command_id: &'a str,
    /// What is behind the sentence of the reply.
    pub(super) what: &'a str,
    /// When the run ends; [`NO_STOP_MS`] for not known, 0 where no run is.
    pub(super) stop_ms: u64,
}

/// The state: exactly the keys of the file writer of the ESS, in its order.
#[derive(Debug, Serialize)]
pub(super) struct Status<'a> {
    pub(super) file_being_written: &'a str,
    pub(super) job_id: &'a str,
    pub(super) start_time: u64,
    pub(super) stop_time: u64,
    pub(super) state: &'static str,
}

impl Status<'_> {
    /// No job runs.
    pub(super) const IDLE: Self =
        Self { file_being_written: "", job_id: "", start_time: 0, stop_time: 0, state: "idle" };
}

impl Voice {
    pub(super) fn new(identity: Identity) -> Self {
        Self { identity, encoder: Encoder::new() }
    }

    pub(super) fn service_id(&self) -> &str {
        &self.identity.service_id
    }

    pub(super) fn interval_ms(&self) -> u64 {
        self.identity.interval_ms.into()
    }

    /// answ. Each text is there: the Python library of the ESS does not read one without.
    pub(super) fn answer(&mut self, answer: &Answer<'_>) -> Vec<u8> {
        let sentence = sentence(answer.reply, answer.what);
        let answ = Answ {
            service_id: &self.identity.service_id,
            job_id: &short(answer.job_id),
            action: answer.reply.action(),
            outcome: answer.reply.outcome(),
            status_code: answer.reply.code(),
            stop_time: answer.stop_ms,
            message: Some(&sentence),
            command_id: Some(&short(answer.command_id)),
        };
        answ.encode(&mut self.encoder).to_vec()
    }

    /// wrdn.
    pub(super) fn end(&mut self, job: &str, file: &str, metadata: &str, error: Option<&str>) -> Vec<u8> {
        let wrdn = Wrdn {
            service_id: &self.identity.service_id,
            job_id: job,
            error_encountered: error.is_some(),
            file_name: file,
            metadata: Some(metadata),
            message: Some(error.unwrap_or_default()),
        };
        wrdn.encode(&mut self.encoder).to_vec()
    }

    /// x5f2. The last one says that no other follows.
    pub(super) fn status(&mut self, status: &Status<'_>, is_last: bool) -> Vec<u8> {
        // Numbers and texts can be written as JSON.
        let json = serde_json::to_string(status).unwrap_or_default();
        let x5f2 = X5f2 {
            software_name: Some("evforge"),
            software_version: Some(env!("CARGO_PKG_VERSION")),
            service_id: Some(&self.identity.service_id),
            host_name: Some(&self.identity.host_name),
            process_id: self.identity.process_id,
            update_interval: if is_last { 0 } else { self.identity.interval_ms },
            status_json: Some(&json),
        };
        x5f2.encode(&mut self.encoder).to_vec()
    }
}

/// What is answered.
pub(super) fn sentence(reply: Reply, what: &str) -> String {
    let begin = reply.sentence();
    if what.is_empty() { format!("{begin}.") } else { format!("{begin}: {what}.") }
}

/// The end of a run as messages have it.
pub(super) fn stop_or_open(stop_ms: Option<u64>) -> u64 {
    stop_ms.unwrap_or(NO_STOP_MS)
}
