//! wrdn: a file is written.

use crate::encoder::Encoder;
use crate::generated::wrdn as wire;
use crate::open::open;
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::{Text, TextIf};
use std::fmt;

/// A file is written, or could not be.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Wrdn<'a> {
    /// Who wrote it.
    pub service_id: &'a str,
    /// The job.
    pub job_id: &'a str,
    /// True if it could not be written.
    pub error_encountered: bool,
    /// The file.
    pub file_name: &'a str,
    /// Facts of the file, in JSON.
    pub metadata: Option<&'a str>,
    /// What happened.
    pub message: Option<&'a str>,
}

impl<'a> Wrdn<'a> {
    /// Writes the message.
    pub fn encode<'e>(&self, encoder: &'e mut Encoder) -> &'e [u8] {
        let e = encoder.begin();
        let args = wire::WrittenArgs {
            service_id: e.text(self.service_id),
            job_id: e.text(self.job_id),
            error_encountered: self.error_encountered,
            file_name: e.text(self.file_name),
            metadata: e.text_if(self.metadata),
            message: e.text_if(self.message),
        };
        let root = wire::Written::create(&mut e.builder, &args);
        e.finish(root, Schema::Wrdn)
    }

    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let table = open::<wire::Written<'a>>(Schema::Wrdn, bytes)?;
        Ok(Self {
            service_id: table.service_id(),
            job_id: table.job_id(),
            error_encountered: table.error_encountered(),
            file_name: table.file_name(),
            metadata: table.metadata(),
            message: table.message(),
        })
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        Some(self.service_id)
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        None
    }
}

impl fmt::Display for Wrdn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (service, job, file) = (Text(self.service_id), Text(self.job_id), Text(self.file_name));
        write!(
            f,
            "{service} {}, job {job}, file {file}",
            if self.error_encountered { "failed" } else { "done" }
        )?;
        self.message.map_or(Ok(()), |message| write!(f, ": {}", TextIf(Some(message))))
    }
}
