//! Formats, and how certain it is that a packet has one of them.

/// A format that packets can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// ESS readout, header version 0 or 1; the type and the records are told by [`super::look_at_ess`].
    Ess,
    /// SRS with VMM2.
    SrsVmm2,
    /// SRS with VMM3 in the layout of 2018.
    SrsVmm3Of2018,
    /// SRS with VMM3a.
    SrsVmm3a,
    /// Mesytec VMMR behind a Struck SIS3153.
    Mesytec,
    /// The demonstrator at CNCS, 2016.
    Cncs,
    /// Records of CAEN digitisers, without a header.
    CaenRecords,
    /// jadaq of June 2018.
    JadaqOfJune2018,
    /// jadaq 1.3.
    Jadaq1_3,
    /// SoNDe: packets of IDEAS ROSMAP boards.
    Sonde,
    /// Sampled channels of 2018.
    AdcReadout,
    /// Streaming readout of ISIS, version 1 or 2: each message tells which.
    Isis,
    /// Numbered packets of `evforge send`.
    Numbered,
    /// DROP in the layout `P1`.
    DropP1,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Ess,
        Self::SrsVmm2,
        Self::SrsVmm3Of2018,
        Self::SrsVmm3a,
        Self::Mesytec,
        Self::Cncs,
        Self::Jadaq1_3,
        Self::JadaqOfJune2018,
        Self::CaenRecords,
        Self::Sonde,
        Self::AdcReadout,
        Self::Isis,
        Self::Numbered,
        Self::DropP1,
    ];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ess => "ESS readout",
            Self::SrsVmm2 => "SRS with VMM2",
            Self::SrsVmm3Of2018 => "SRS with VMM3 (layout of 2018)",
            Self::SrsVmm3a => "SRS with VMM3a",
            Self::Mesytec => "Mesytec VMMR behind an SIS3153",
            Self::Cncs => "Multi-Grid demonstrator at CNCS (2016)",
            Self::CaenRecords => "CAEN records of 8 bytes (2018)",
            Self::JadaqOfJune2018 => "CAEN jadaq of June 2018",
            Self::Jadaq1_3 => "CAEN jadaq 1.3",
            Self::Sonde => "SoNDe (IDEAS ROSMAP)",
            Self::AdcReadout => "adc_readout (sampled channels of 2018)",
            Self::Isis => "streaming readout of ISIS",
            Self::Numbered => "numbered packets of `evforge send`",
            Self::DropP1 => "DROP, layout P1",
        }
    }
}

/// How much a format is to be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// Nothing speaks against it: many other packets look the same.
    Weak,
    /// Lengths or numbers agree that need not.
    Fair,
    /// A signature, or so many fields that agree that chance is excluded.
    Strong,
}

/// A format that a packet may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The format.
    pub format: Format,
    /// How much it is to be believed.
    pub certainty: Certainty,
    /// What is wrong with the packet, if it has this format; none if it can be decoded.
    pub fault: Option<&'static str>,
}

/// Candidates at most: no packet is like more formats than these.
const MOST: usize = 6;

/// The formats that a packet may have, the most certain first; none if it is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    list: [Option<Candidate>; MOST],
}

impl Candidates {
    /// Puts a candidate behind those that are as certain; sound ones before those with a fault.
    pub(super) fn add(&mut self, format: Format, certainty: Certainty, fault: Option<&'static str>) {
        let mut new = Some(Candidate { format, certainty, fault });
        let rank = |candidate: Option<Candidate>| candidate.map(|c| (c.certainty, c.fault.is_none()));
        for place in &mut self.list {
            if rank(*place) < rank(new) {
                std::mem::swap(place, &mut new);
            }
        }
    }

    /// The most certain one.
    pub fn best(&self) -> Option<Candidate> {
        self.list[0]
    }

    /// All of them, the most certain first.
    pub fn iter(&self) -> impl Iterator<Item = Candidate> + use<> {
        self.list.into_iter().flatten()
    }

    /// This format, if it is one of them.
    pub fn of(&self, format: Format) -> Option<Candidate> {
        self.iter().find(|candidate| candidate.format == format)
    }
}
