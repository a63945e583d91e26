//! Packets and modules (EFU formats of 2018, section 5).

use super::RawTime;

/// Bytes of the packet's header.
pub(super) const HEADER: usize = 10;
/// Bytes before the length that the header announces: the global count.
pub(super) const NOT_IN_LENGTH: usize = 2;
/// Packet type of data.
pub(super) const DATA: u16 = 0x1111;
/// Packet type of a heartbeat.
pub(super) const IDLE: u16 = 0x2222;
/// A module begins.
pub(super) const MODULE: u16 = 0xABCD;
/// Bytes of a module's header.
pub(super) const MODULE_HEADER: usize = 16;
/// Bytes of a trailer, of a module and of a packet alike.
pub(super) const TRAILER: usize = 4;
/// A module ends.
pub(super) const MODULE_TRAILER: u32 = 0xBEEF_CAFE;
/// A packet ends.
pub(super) const PACKET_TRAILER: u32 = 0xFEED_F00D;
/// A byte between the last module and the packet's trailer.
pub(super) const FILLER: u8 = 0x55;
/// Bytes of the time of a heartbeat.
const IDLE_TIME: usize = 8;

/// What every packet begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Number of the packet.
    pub global_count: u16,
    /// Number of the readout, of data packets alone.
    pub readout_count: u16,
    /// No meaning.
    pub reserved: u16,
}

/// The number of a packet; there is one sequence for the whole stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbering {
    /// Number of the packet, [`GLOBAL_COUNT_BITS`](super::GLOBAL_COUNT_BITS) wide.
    pub global_count: u16,
}

/// Why a packet is rejected as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// Too short for the header. The reference says HEADER_LENGTH.
    TooShort,
    /// The length in the header is not that of the datagram. The reference says HEADER_LENGTH.
    WrongLength,
    /// Neither data nor a heartbeat. The reference says HEADER_TYPE.
    UnknownType(u16),
    /// A heartbeat without its time. The reference says IDLE_LENGTH.
    NoIdleTime,
}

/// What is wrong in the modules of a packet or behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Neither a module nor filler. The reference says DATA_ABCD.
    NoModule(u16),
    /// An impossible module length: shorter than header and trailer, not a whole number of samples, or
    /// beyond the end of the packet. The reference says DATA_LENGTH (and accepts an odd length).
    WrongModuleLength(u16),
    /// A module does not end in 0xBEEFCAFE. The reference says DATA_BEEFCAFE.
    WrongModuleTrailer,
    /// Something else between the last module and the trailer. The reference says TRAILER_0x55.
    WrongFiller,
    /// The packet does not end in 0xFEEDF00D. The reference says TRAILER_FEEDF00D.
    WrongPacketTrailer,
}

impl Fault {
    /// True if a module is lost by it, false if what is wrong lies behind the last module.
    pub fn costs_a_module(self) -> bool {
        !matches!(self, Fault::WrongFiller | Fault::WrongPacketTrailer)
    }
}

/// What a packet carries behind its header.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// Runs of samples.
    Data(DataPacket<'a>),
    /// A heartbeat.
    Idle(IdlePacket),
}

/// A packet whose header is sound.
#[derive(Clone, Copy, Debug)]
pub struct AdcPacket<'a> {
    /// Numbers of the packet.
    pub header: Header,
    /// What it carries.
    pub content: Content<'a>,
}

/// A heartbeat. Its trailer is not checked, as in the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdlePacket {
    /// When it was sent.
    pub time: RawTime,
}

/// The part of a packet that holds modules.
#[derive(Clone, Copy, Debug)]
pub struct DataPacket<'a> {
    body: &'a [u8],
}

/// A checked module: consecutive samples of one channel.
#[derive(Clone, Copy, Debug)]
pub struct Module<'a> {
    /// The channel, of which 0..=3 exist.
    pub channel: u16,
    /// How many samples of the converter are added up in each sample here; 0 is taken for 1.
    pub oversampling: u16,
    /// When the first sample was taken.
    pub time: RawTime,
    samples: &'a [[u8; 2]],
}

impl<'a> AdcPacket<'a> {
    /// The number of the packet, also if it is then rejected for its length.
    pub fn numbering(bytes: &[u8]) -> Option<Numbering> {
        let (header, packet_type, _, _) = take_header(bytes)?;
        matches!(packet_type, DATA | IDLE).then_some(Numbering { global_count: header.global_count })
    }

    /// Checks the header of a packet.
    ///
    /// # Errors
    /// The reason why the packet is of no use.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Rejection> {
        let (header, packet_type, length, body) = take_header(bytes).ok_or(Rejection::TooShort)?;
        if usize::from(length) + NOT_IN_LENGTH != bytes.len() {
            return Err(Rejection::WrongLength);
        }
        let content = match packet_type {
            DATA => Content::Data(DataPacket { body }),
            IDLE => {
                let (time, _) = body.split_first_chunk::<IDLE_TIME>().ok_or(Rejection::NoIdleTime)?;
                let [s3, s2, s1, s0, f3, f2, f1, f0] = *time;
                Content::Idle(IdlePacket { time: raw_time([s3, s2, s1, s0], [f3, f2, f1, f0]) })
            }
            other => return Err(Rejection::UnknownType(other)),
        };
        Ok(Self { header, content })
    }
}

impl<'a> DataPacket<'a> {
    /// The modules in order, each one checked, and the faults between and behind them.
    pub fn modules(&self) -> Modules<'a> {
        Modules { rest: self.body, done: false }
    }
}

impl<'a> Module<'a> {
    /// Number of samples.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// True for a module without samples, which is valid.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// The samples in order.
    pub fn samples(&self) -> impl ExactSizeIterator<Item = u16> + use<'a> {
        self.samples.iter().map(|&sample| u16::from_be_bytes(sample))
    }

    /// Takes a module from the front of `rest`: the module and what follows it. A module that only lacks its
    /// trailer is an inner error, in addition to what follows.
    fn take(rest: &'a [u8]) -> Result<(Result<Self, Fault>, &'a [u8]), Fault> {
        let Some((head, _)) = rest.split_first_chunk::<MODULE_HEADER>() else {
            return Err(Fault::WrongModuleLength(0));
        };
        let [m1, m0, l1, l0, c1, c0, o1, o0, s3, s2, s1, s0, f3, f2, f1, f0] = *head;
        let magic = u16::from_be_bytes([m1, m0]);
        if magic != MODULE {
            return Err(Fault::NoModule(magic));
        }
        let length = u16::from_be_bytes([l1, l0]);
        let wrong_length = Fault::WrongModuleLength(length);
        if !length.is_multiple_of(2) {
            return Err(wrong_length);
        }
        let (module, rest) = rest.split_at_checked(usize::from(length)).ok_or(wrong_length)?;
        let body = module.get(MODULE_HEADER..).ok_or(wrong_length)?;
        let (samples, trailer) = body.split_last_chunk::<TRAILER>().ok_or(wrong_length)?;
        let module = Self {
            channel: u16::from_be_bytes([c1, c0]),
            oversampling: u16::from_be_bytes([o1, o0]),
            time: raw_time([s3, s2, s1, s0], [f3, f2, f1, f0]),
            samples: samples.as_chunks().0,
        };
        let sound = u32::from_be_bytes(*trailer) == MODULE_TRAILER;
        Ok((if sound { Ok(module) } else { Err(Fault::WrongModuleTrailer) }, rest))
    }
}

/// Walks over the modules of a packet. Ends after the first fault that hides where the next module begins.
#[derive(Clone, Debug)]
pub struct Modules<'a> {
    rest: &'a [u8],
    done: bool,
}

impl<'a> Iterator for Modules<'a> {
    type Item = Result<Module<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        // What is no longer than a module's header cannot be a module: it is filler and trailer.
        let filler_begins = self.rest.first_chunk() == Some(&[FILLER; 2]);
        if self.rest.len() <= MODULE_HEADER || filler_begins {
            self.done = true;
            return self.check_end().err().map(Err);
        }
        match Module::take(self.rest) {
            Ok((module, rest)) => {
                self.rest = rest;
                Some(module)
            }
            Err(fault) => {
                self.done = true;
                Some(Err(fault))
            }
        }
    }
}

impl Modules<'_> {
    /// Checks filler and trailer of the packet.
    fn check_end(&self) -> Result<(), Fault> {
        let (filler, trailer) = self.rest.split_last_chunk::<TRAILER>().ok_or(Fault::WrongPacketTrailer)?;
        if filler.iter().any(|&byte| byte != FILLER) {
            return Err(Fault::WrongFiller);
        }
        if u32::from_be_bytes(*trailer) != PACKET_TRAILER {
            return Err(Fault::WrongPacketTrailer);
        }
        Ok(())
    }
}

fn raw_time(seconds: [u8; 4], fraction: [u8; 4]) -> RawTime {
    RawTime { seconds: u32::from_be_bytes(seconds), fraction: u32::from_be_bytes(fraction) }
}

/// Header, packet type, announced length and what follows.
fn take_header(bytes: &[u8]) -> Option<(Header, u16, u16, &[u8])> {
    let (head, body) = bytes.split_first_chunk::<HEADER>()?;
    let [g1, g0, t1, t0, l1, l0, c1, c0, r1, r0] = *head;
    let header = Header {
        global_count: u16::from_be_bytes([g1, g0]),
        readout_count: u16::from_be_bytes([c1, c0]),
        reserved: u16::from_be_bytes([r1, r0]),
    };
    Some((header, u16::from_be_bytes([t1, t0]), u16::from_be_bytes([l1, l0]), body))
}
