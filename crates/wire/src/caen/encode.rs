//! Encoders: records and elements to packets.

use super::{Element, ElementType, LARGEST_PACKET, LARGEST_RECORD_PACKET, Record, jadaq, records};

/// Builds packets of records.
#[derive(Clone, Debug, Default)]
pub struct RecordEncoder {
    bytes: Vec<u8>,
}

impl RecordEncoder {
    /// Begins a packet.
    pub fn begin(&mut self) {
        self.bytes.clear();
    }

    /// Appends a record, which may be [`Record::END_OF_RUN`]. Returns false, and leaves the packet as it is,
    /// if it is full.
    pub fn push(&mut self, record: &Record) -> bool {
        if self.bytes.len() + records::RECORD > LARGEST_RECORD_PACKET {
            return false;
        }
        self.bytes.extend([record.digitizer, record.channel]);
        self.bytes.extend(record.adc.to_le_bytes());
        self.bytes.extend(record.time.to_le_bytes());
        true
    }

    /// The packet so far.
    pub fn packet(&self) -> &[u8] {
        &self.bytes
    }
}

/// Where the number of elements is in a header.
const COUNT: usize = 22;

/// Builds packets of jadaq with elements of one type.
#[derive(Clone, Debug)]
pub struct JadaqEncoder {
    element_type: ElementType,
    bytes: Vec<u8>,
    elements: u16,
}

impl JadaqEncoder {
    /// An encoder for elements of one type, and thereby for the version that has them.
    pub fn new(element_type: ElementType) -> Self {
        Self { element_type, bytes: Vec::with_capacity(LARGEST_PACKET), elements: 0 }
    }

    /// Begins a packet: run, milliseconds since 1970, digitizer and sequence number (which is not part of
    /// the layout of June 2018).
    pub fn begin(&mut self, run: u64, global_time: u64, digitizer: u32, sequence: u32) {
        let number: u16 = if self.element_type == ElementType::List8222 { 2 } else { 1 };
        self.bytes.clear();
        self.elements = 0;
        self.bytes.extend(run.to_le_bytes());
        self.bytes.extend(global_time.to_le_bytes());
        self.bytes.extend(digitizer.to_le_bytes());
        self.bytes.extend(number.to_le_bytes());
        self.bytes.extend(self.elements.to_le_bytes());
        if self.element_type == ElementType::OfJune2018 {
            self.bytes.extend([1, 0, 0, 0, 0, 0, 0, 0]);
        } else {
            self.bytes.extend(jadaq::VERSION_1_3.to_le_bytes());
            self.bytes.extend(sequence.to_le_bytes());
            self.bytes.extend([0; 2]);
        }
    }

    /// Appends an element; its time is cut to the width of the field. Returns false, and leaves the packet as
    /// it is, if it is full.
    pub fn push(&mut self, element: &Element) -> bool {
        if self.bytes.len() + self.element_type.size() > LARGEST_PACKET {
            return false;
        }
        let Element { time, channel, charge, baseline } = *element;
        let words: &[u16] = match self.element_type {
            ElementType::OfJune2018 => &[charge, channel],
            ElementType::List422 => &[channel, charge],
            ElementType::List8222 => &[channel, charge, baseline],
        };
        let time_bytes = if self.element_type == ElementType::List8222 { 8 } else { 4 };
        self.bytes.extend(&time.to_le_bytes()[..time_bytes]);
        words.iter().for_each(|word| self.bytes.extend(word.to_le_bytes()));
        self.elements += 1;
        self.bytes[COUNT..COUNT + 2].copy_from_slice(&self.elements.to_le_bytes());
        true
    }

    /// The packet so far.
    pub fn packet(&self) -> &[u8] {
        &self.bytes
    }
}
