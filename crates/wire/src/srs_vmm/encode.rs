//! Encoders: readouts and markers to packets. Values wider than their field are cut to it.

use super::{LARGEST_PACKET, TimeMarker, Vmm3Variant, VmmReadout, binary_to_gray, vmm2, vmm3};

/// Builds VMM2 packets of one chip each.
#[derive(Clone, Debug, Default)]
pub struct Vmm2Encoder {
    bytes: Vec<u8>,
}

impl Vmm2Encoder {
    /// Begins a packet: number, chip (0..=15) and trigger stamp.
    pub fn begin(&mut self, frame_counter: u32, chip: u8, trigger_stamp: u32) {
        self.bytes.clear();
        self.bytes.extend(frame_counter.to_be_bytes());
        self.bytes.extend((vmm2::DATA | u32::from(chip & 0xF)).to_be_bytes());
        self.bytes.extend(trigger_stamp.to_be_bytes());
    }

    /// Appends a readout (its `chip` and `trigger_offset` are not part of the format). Returns false, and
    /// leaves the packet as it is, if it is full.
    pub fn push(&mut self, readout: &VmmReadout) -> bool {
        if self.bytes.len() + vmm2::READOUT > LARGEST_PACKET {
            return false;
        }
        let adc = u32::from(readout.adc);
        let tdc = u32::from(readout.tdc);
        let gray = u32::from(binary_to_gray(readout.bunch_crossing & 0xFFF));
        let first = (adc & 0xFF) << 24
            | (tdc & 0x3F) << 18
            | (adc >> 8 & 0x3) << 16
            | (gray & 0x3F) << 10
            | (tdc >> 6) << 8
            | gray >> 6;
        let second = u32::from(readout.channel & 0x3F) << 2 | u32::from(readout.over_threshold) << 1;
        self.bytes.extend(first.reverse_bits().to_be_bytes());
        self.bytes.extend(second.reverse_bits().to_be_bytes());
        true
    }

    /// The packet so far.
    pub fn packet(&self) -> &[u8] {
        &self.bytes
    }
}

/// Builds VMM3 packets of 2018 or VMM3a packets of one FEC.
#[derive(Clone, Debug)]
pub struct Vmm3Encoder {
    variant: Vmm3Variant,
    bytes: Vec<u8>,
}

impl Vmm3Encoder {
    /// An encoder for one of the two variants.
    pub fn new(variant: Vmm3Variant) -> Self {
        Self { variant, bytes: Vec::with_capacity(LARGEST_PACKET) }
    }

    /// Begins a packet: number, FEC (1..=256 in 2018, 1..=15 for VMM3a) and send stamp.
    pub fn begin(&mut self, frame_counter: u32, fec: u16, send_stamp: u32) {
        let id = match self.variant {
            Vmm3Variant::Of2018 => vmm3::DATA_2018 | u32::from(fec.wrapping_sub(1) & 0xFF),
            Vmm3Variant::Vmm3a => vmm3::DATA_3A | u32::from(fec & 0xF) << 4,
        };
        self.bytes.clear();
        self.bytes.extend(frame_counter.to_be_bytes());
        self.bytes.extend(id.to_be_bytes());
        self.bytes.extend(send_stamp.to_be_bytes());
        self.bytes.extend([0; 4]);
    }

    /// Appends a readout. Returns false, and leaves the packet as it is, if it is full.
    pub fn push_readout(&mut self, readout: &VmmReadout) -> bool {
        let first = u32::from(readout.trigger_offset & 0x1F) << 27
            | u32::from(readout.chip & 0x1F) << 22
            | u32::from(readout.adc & 0x3FF) << 12
            | u32::from(binary_to_gray(readout.bunch_crossing & 0xFFF));
        let second = 0x8000
            | u16::from(readout.over_threshold) << 14
            | u16::from(readout.channel & 0x3F) << 8
            | u16::from(readout.tdc);
        self.push_word(first, second)
    }

    /// Appends a time marker. Returns false, and leaves the packet as it is, if it is full.
    pub fn push_marker(&mut self, marker: &TimeMarker) -> bool {
        // 42 bits: the upper 32 in the first part, the lower 10 in the second.
        let first = (marker.stamp >> 10) as u32;
        let second = u16::from(marker.chip & 0x1F) << 10 | (marker.stamp & 0x3FF) as u16;
        self.push_word(first, second)
    }

    fn push_word(&mut self, first: u32, second: u16) -> bool {
        if self.bytes.len() + vmm3::WORD > LARGEST_PACKET {
            return false;
        }
        self.bytes.extend(first.to_be_bytes());
        self.bytes.extend(second.to_be_bytes());
        true
    }

    /// Readouts and markers in the packet so far.
    pub fn len(&self) -> usize {
        self.bytes.len().saturating_sub(vmm3::HEADER) / vmm3::WORD
    }

    /// True before the first readout or marker.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The packet so far.
    pub fn packet(&self) -> &[u8] {
        &self.bytes
    }
}
