//! `srs_hits` as the event formation unit wrote them in August 2018 (EFU formats of 2018, section 12).
//!
//! The table declares a compound of 24 bytes whose members lie one behind the other: 0, 1, 2, 6, 10, 12, 14,
//! 16, 18. The program, however, handed over its C++ structure, which the compiler had aligned, and HDF5
//! stored it byte for byte. What the members are called is therefore not where the file says:
//!
//! | member | declared at | really at | type |
//! |---|---|---|---|
//! | `fec` | 0 | 0 | u8 |
//! | `chip_id` | 1 | 1 | u8 |
//! | `bonus_timestamp` | 2 | 4 | u32 |
//! | `srs_timestamp` | 6 | 8 | u32 |
//! | `channel` | 10 | 12 | u16 |
//! | `bcid` | 12 | 14 | u16 |
//! | `tdc` | 14 | 16 | u16 |
//! | `adc` | 16 | 18 | u16 |
//! | `over_threshold` | 18 | 20 | bool |
//!
//! The layout is recognised by the declared places, which no other has, and read by the real ones. The last
//! byte lies where the file declares nothing, so rows are read without any conversion: HDF5 then copies them
//! whole.

use crate::rows::SrsHit;
use hdf5_metno::types::{CompoundField, CompoundType, H5Type, TypeDescriptor};
use std::marker::PhantomData;

/// Name of the layout.
pub(crate) const LAYOUT: &str = "of August 2018";

/// Bytes of a row.
const ROW: usize = 24;

/// A row as it lies in the file. `B` is the type that the file declares for `over_threshold`: a number of one
/// byte, or the enumeration of two values that HDF5's own tools take for a truth value.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct AugustSrsHit<B> {
    bytes: [u8; ROW],
    declared: PhantomData<B>,
}

impl<B> AugustSrsHit<B> {
    fn u16_at(&self, place: usize) -> u16 {
        u16::from_le_bytes([self.bytes[place], self.bytes[place + 1]])
    }
}

#[allow(unsafe_code)] // The derive cannot declare other places than the real ones.
// SAFETY: the type is 24 bytes, any bytes are valid for it, and the descriptor has that size with all members
// inside.
unsafe impl<B: H5Type> H5Type for AugustSrsHit<B> {
    fn type_descriptor() -> TypeDescriptor {
        let fields = vec![
            CompoundField::typed::<u8>("fec", 0, 0),
            CompoundField::typed::<u8>("chip_id", 1, 1),
            CompoundField::typed::<u32>("bonus_timestamp", 2, 2),
            CompoundField::typed::<u32>("srs_timestamp", 6, 3),
            CompoundField::typed::<u16>("channel", 10, 4),
            CompoundField::typed::<u16>("bcid", 12, 5),
            CompoundField::typed::<u16>("tdc", 14, 6),
            CompoundField::typed::<u16>("adc", 16, 7),
            CompoundField::typed::<B>("over_threshold", 18, 8),
        ];
        TypeDescriptor::Compound(CompoundType { fields, size: ROW })
    }
}

impl<B> From<AugustSrsHit<B>> for SrsHit {
    /// The bonus time stamp is left out: it was never initialised for VMM2 and not used for VMM3.
    fn from(row: AugustSrsHit<B>) -> Self {
        let [fec, chip_id, ..] = row.bytes;
        Self {
            fec,
            chip_id,
            srs_timestamp: u64::from(u32::from_le_bytes([
                row.bytes[8],
                row.bytes[9],
                row.bytes[10],
                row.bytes[11],
            ])),
            channel: row.u16_at(12),
            bcid: row.u16_at(14),
            tdc: row.u16_at(16),
            adc: row.u16_at(18),
            over_threshold: row.bytes[20],
            chiptime: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::{PacketFormats, open};
    use crate::table_reader::TableReader;
    use evforge_core::packet::PacketSlab;
    use evforge_wire::srs_vmm::{Vmm3Packet, Vmm3Variant, Word};
    use hdf5_metno::{Datatype, File};
    use std::path::Path;

    /// A row as the C++ structure lay in memory, what the compiler left free filled with what was there.
    fn row<B>(srs_timestamp: u32, over_threshold: bool) -> AugustSrsHit<B> {
        let mut bytes = [0xEE; ROW];
        bytes[..2].copy_from_slice(&[2, 15]);
        bytes[8..12].copy_from_slice(&srs_timestamp.to_le_bytes());
        for (place, value) in [(12, 63_u16), (14, 4095), (16, 255), (18, 1023)] {
            bytes[place..place + 2].copy_from_slice(&value.to_le_bytes());
        }
        bytes[20] = over_threshold.into();
        AugustSrsHit { bytes, declared: PhantomData }
    }

    fn write<B: H5Type>(path: &Path, rows: &[AugustSrsHit<B>]) {
        let file = File::create(path).unwrap();
        let datatype = Datatype::from_type::<AugustSrsHit<B>>().unwrap();
        let table =
            file.new_dataset_builder().chunk(375).empty_as(datatype).shape(0..).create("srs_hits").unwrap();
        table.resize(rows.len()).unwrap();
        table.write_raw(rows).unwrap();
        file.close().unwrap();
    }

    /// EFU formats of 2018, section 12: the members are read from where the structure had them.
    #[test]
    fn rows_are_read_as_they_were_meant() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("august.h5");
        let expected = SrsHit {
            fec: 2,
            chip_id: 15,
            srs_timestamp: 0x1234_5678,
            channel: 63,
            bcid: 4095,
            tdc: 255,
            adc: 1023,
            over_threshold: 1,
            chiptime: 0.0,
        };
        write::<u8>(&path, &[row(0x1234_5678, true), row(0x1234_5678, false)]);
        let rows = TableReader::<SrsHit>::open(&path).unwrap().next_rows().unwrap();
        assert_eq!(rows, [expected, SrsHit { over_threshold: 0, ..expected }]);
        write::<bool>(&path, &[row(0x1234_5678, true)]);
        let mut reader = TableReader::<SrsHit>::open(&path).unwrap();
        assert_eq!(reader.next_rows().unwrap(), [expected]);
        assert_eq!((reader.layout().name, reader.layout().row_bytes()), (LAYOUT, 24));
    }

    /// Its time stamps have 32 bits of nanoseconds, which wrap after 4.3 s: the markers go on.
    #[test]
    fn time_stamps_are_followed_over_their_wraps() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("august.h5");
        let stamps = [
            0,
            1_u64 << 30,
            (1 << 31) + 50,
            (1 << 32) - 50,
            (1 << 32) + 50,
            5 << 30,
            3 << 31,
            (1 << 33) - 50,
        ];
        let rows: Vec<_> = stamps.iter().map(|&stamp| row::<u8>(stamp as u32, true)).collect();
        write(&path, &rows);
        let mut slab = PacketSlab::new(10, 0);
        open(&path, &PacketFormats::default()).unwrap().fill(&mut slab).unwrap();
        let packet = slab.batch().get(0).unwrap();
        let packet = Vmm3Packet::parse(packet.bytes, Vmm3Variant::Of2018).unwrap();
        let markers: Vec<u64> = packet
            .words()
            .filter_map(|word| match word {
                Word::Marker(marker) => Some(marker.stamp),
                Word::Readout(_) => None,
            })
            .collect();
        let expected: Vec<u64> = stamps.iter().map(|stamp| (stamp + 12) / 25).collect();
        assert_eq!(markers, expected);
    }
}
