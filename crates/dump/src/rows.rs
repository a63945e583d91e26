//! The rows of the tables, as they lie in the files (EFU formats of 2018, section 12).

use hdf5_metno::H5Type;

/// A hit of a VMM chip: table `srs_hits`, 23 bytes, packed, of October and November 2018.
#[derive(Clone, Copy, Debug, Default, PartialEq, H5Type)]
#[repr(C, packed)]
pub struct SrsHit {
    /// The front-end card, from 1.
    pub fec: u8,
    /// The chip on it, 0..=15.
    pub chip_id: u8,
    /// Time of the marker and the trigger offset together, in nanoseconds on the clock of the card.
    pub srs_timestamp: u64,
    /// Channel, 0..=63.
    pub channel: u16,
    /// Bunch crossing, 0..=4095.
    pub bcid: u16,
    /// Fine time, 0..=255.
    pub tdc: u16,
    /// Amplitude, 0..=1023.
    pub adc: u16,
    /// 1 if the channel itself crossed its threshold.
    pub over_threshold: u8,
    /// Time within the turn of the chip's counter, in nanoseconds. It follows from `bcid` and `tdc` by the clocks
    /// that were configured when the file was written; reading back does not use it.
    pub chiptime: f32,
}

/// A readout of a CAEN digitizer: table `mbcaen_readouts`, 20 bytes, packed, of November 2018.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, H5Type)]
#[repr(C, packed)]
pub struct CaenReadout {
    /// When the packet was made, by the clock of the PC, in milliseconds since 1970.
    pub global_time: u64,
    /// Number of the digitizer.
    pub digitizer: u32,
    /// Ticks of the digitizer's clock.
    pub local_time: u32,
    /// Channel, 0..=63.
    pub channel: u16,
    /// Amplitude.
    pub adc: u16,
}

/// A hit of a Mesytec module: table `mgmesytec_hits`, 33 bytes, packed, of August 2018.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, H5Type)]
#[repr(C, packed)]
pub struct MesytecHit {
    /// Number of the trigger since the start of the program.
    pub trigger_count: u64,
    /// Not 0: no hit, but the mark that the trigger was external.
    pub external_trigger: i8,
    /// Number of the module.
    pub module: u8,
    /// Turns of the low time, or the extended time stamp.
    pub high_time: u32,
    /// Low time, 30 bits.
    pub low_time: u32,
    /// Both together: ticks of the modules' clock.
    pub total_time: u64,
    /// Bus, 0..=15.
    pub bus: u8,
    /// Channel, 0..=4095.
    pub channel: u16,
    /// Amplitude, 0..=4095.
    pub adc: u16,
    /// Time since the trigger, as the module gives it.
    pub time_diff: u16,
}
