//! 6s4t: the end of a run.

use crate::check;
use crate::encoder::Encoder;
use crate::generated::s6s4t as wire;
use crate::open::open;
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::{TextIf, Time};
use std::fmt;

/// The end of a run: what a file writer is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct S6s4t<'a> {
    /// Milliseconds since 1970; 0 for now.
    pub stop_time: u64,
    /// The run.
    pub run_name: Option<&'a str>,
    /// The job that was started.
    pub job_id: Option<&'a str>,
    /// Which file writer is meant.
    pub service_id: Option<&'a str>,
    /// The name of this command: a UUID. The file writer of ESS does not survive its absence.
    pub command_id: Option<&'a str>,
    /// Of ISIS alone, undocumented: the run is to be discarded, as it seems.
    pub abort: bool,
}

impl<'a> S6s4t<'a> {
    /// Writes the message.
    pub fn encode<'e>(&self, encoder: &'e mut Encoder) -> &'e [u8] {
        let e = encoder.begin();
        let args = wire::RunStopArgs {
            stop_time: self.stop_time,
            run_name: e.text_if(self.run_name),
            job_id: e.text_if(self.job_id),
            service_id: e.text_if(self.service_id),
            command_id: e.text_if(self.command_id),
            abort: self.abort,
        };
        let root = wire::RunStop::create(&mut e.builder, &args);
        e.finish(root, Schema::S6s4t)
    }

    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let schema = Schema::S6s4t;
        let table = open::<wire::RunStop<'a>>(schema, bytes)?;
        check::milliseconds(schema, "stop_time", table.stop_time())?;
        Ok(Self {
            stop_time: table.stop_time(),
            run_name: table.run_name(),
            job_id: table.job_id(),
            service_id: table.service_id(),
            command_id: table.command_id(),
            abort: table.abort(),
        })
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        self.service_id
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        check::known_ms(self.stop_time)
    }
}

impl fmt::Display for S6s4t<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (run, job, time) = (TextIf(self.run_name), TextIf(self.job_id), Time(self.time_ns()));
        write!(f, "run {run} to {time}, job {job}{}", if self.abort { ", aborted" } else { "" })
    }
}
