//! answ: what a file writer answers to a command.

use crate::check;
use crate::encoder::Encoder;
use crate::generated::answ as wire;
use crate::named::named;
use crate::open::open;
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::{Text, TextIf};
use std::fmt;

/// An answer to a command.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Answ<'a> {
    /// Who answers.
    pub service_id: &'a str,
    /// The job.
    pub job_id: &'a str,
    /// What was asked for.
    pub action: Action,
    /// Whether it is done.
    pub outcome: Outcome,
    /// As in HTTP: 201 accepted, 400 rejected, 500 failed.
    pub status_code: i32,
    /// When the run ends, milliseconds since 1970; 0 for not yet.
    pub stop_time: u64,
    /// What happened.
    pub message: Option<&'a str>,
    /// The command.
    pub command_id: Option<&'a str>,
}

named! {
    /// What was asked for.
    pub enum Action: i8 { StartJob 0 "StartJob", SetStopTime 1 "SetStopTime" }
}

named! {
    /// Whether it is done.
    pub enum Outcome: i8 { Success 0 "Success", Failure 1 "Failure" }
}

impl<'a> Answ<'a> {
    /// Writes the message.
    pub fn encode<'e>(&self, encoder: &'e mut Encoder) -> &'e [u8] {
        let e = encoder.begin();
        let args = wire::AnswerArgs {
            service_id: e.text(self.service_id),
            job_id: e.text(self.job_id),
            action: wire::Action(self.action.number()),
            outcome: wire::Outcome(self.outcome.number()),
            status_code: self.status_code,
            stop_time: self.stop_time,
            message: e.text_if(self.message),
            command_id: e.text_if(self.command_id),
        };
        let root = wire::Answer::create(&mut e.builder, &args);
        e.finish(root, Schema::Answ)
    }

    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let schema = Schema::Answ;
        let table = open::<wire::Answer<'a>>(schema, bytes)?;
        check::milliseconds(schema, "stop_time", table.stop_time())?;
        Ok(Self {
            service_id: table.service_id(),
            job_id: table.job_id(),
            action: Action::read(schema, "action", table.action().0)?,
            outcome: Outcome::read(schema, "outcome", table.outcome().0)?,
            status_code: table.status_code(),
            stop_time: table.stop_time(),
            message: table.message(),
            command_id: table.command_id(),
        })
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        Some(self.service_id)
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        None
    }
}

impl fmt::Display for Answ<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (service, job) = (Text(self.service_id), Text(self.job_id));
        let (action, outcome, code) = (self.action, self.outcome, self.status_code);
        write!(f, "{service} {action} {outcome} {code}, job {job}: {}", TextIf(self.message))
    }
}
