//! x5f2: the state of a program.

use crate::encoder::Encoder;
use crate::generated::x5f2 as wire;
use crate::open::open;
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::TextIf;
use std::fmt;

/// The state of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct X5f2<'a> {
    /// The program.
    pub software_name: Option<&'a str>,
    /// Its version.
    pub software_version: Option<&'a str>,
    /// Which of several that run.
    pub service_id: Option<&'a str>,
    /// The machine.
    pub host_name: Option<&'a str>,
    /// The number of the process.
    pub process_id: u32,
    /// Milliseconds to the next message.
    pub update_interval: u32,
    /// The state, in JSON.
    pub status_json: Option<&'a str>,
}

impl<'a> X5f2<'a> {
    /// Writes the message.
    pub fn encode<'e>(&self, encoder: &'e mut Encoder) -> &'e [u8] {
        let e = encoder.begin();
        let args = wire::StatusArgs {
            software_name: e.text_if(self.software_name),
            software_version: e.text_if(self.software_version),
            service_id: e.text_if(self.service_id),
            host_name: e.text_if(self.host_name),
            process_id: self.process_id,
            update_interval: self.update_interval,
            status_json: e.text_if(self.status_json),
        };
        let root = wire::Status::create(&mut e.builder, &args);
        e.finish(root, Schema::X5f2)
    }

    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let table = open::<wire::Status<'a>>(Schema::X5f2, bytes)?;
        Ok(Self {
            software_name: table.software_name(),
            software_version: table.software_version(),
            service_id: table.service_id(),
            host_name: table.host_name(),
            process_id: table.process_id(),
            update_interval: table.update_interval(),
            status_json: table.status_json(),
        })
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        self.service_id
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        None
    }
}

impl fmt::Display for X5f2<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (service, host) = (TextIf(self.service_id), TextIf(self.host_name));
        let (name, version) = (TextIf(self.software_name), TextIf(self.software_version));
        write!(f, "{service}: {name} {version} on {host}, {}", TextIf(self.status_json))
    }
}
