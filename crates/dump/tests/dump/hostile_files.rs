//! Files that are no dumps, damaged dumps, and dumps that claim what is not there: an error for a person.
#![allow(clippy::unwrap_used)]

use crate::shared::write;
use evforge_core::packet::PacketSlab;
use evforge_core::packet_source::Fill;
use evforge_dump::packets::{PacketFormats, open};
use evforge_dump::rows::{CaenReadout, MesytecHit, SrsHit};
use hdf5_metno::filters::Filter;
use hdf5_metno::{DatasetBuilderEmpty, Datatype, File, H5Type};
use std::path::Path;

/// Reads all of a file as packets: how many there were, and the error if there was one.
fn drain(path: &Path) -> (u64, Result<(), String>) {
    let mut source = match open(path, &PacketFormats::default()) {
        Ok(source) => source,
        Err(error) => return (0, Err(error.to_string())),
    };
    let mut slab = PacketSlab::new(3, 0);
    loop {
        slab.clear();
        match source.fill(&mut slab) {
            Ok(Fill::More) => assert!(!slab.is_empty()),
            Ok(Fill::End) => return (source.packets(), Ok(())),
            Err(error) => {
                assert!(slab.is_empty());
                assert_eq!(source.fill(&mut slab).unwrap_err().to_string(), error.to_string(), "said again");
                return (source.packets(), Err(error.to_string()));
            }
        }
    }
}

fn refusal(path: &Path) -> String {
    let error = drain(path).1.unwrap_err();
    assert!(error.contains(&path.display().to_string()), "names the file: {error}");
    error
}

/// A table that grows, with the rows of `R` as they are.
fn table_of<R: H5Type>(file: &File, chunk: usize, filters: &[Filter]) -> DatasetBuilderEmpty {
    let datatype = Datatype::from_type::<R>().unwrap();
    file.new_dataset_builder().set_filters(filters).chunk(chunk).empty_as(datatype)
}

fn in_folder(look: impl FnOnce(&Path)) {
    let folder = tempfile::tempdir().unwrap();
    look(&folder.path().join("dump.h5"));
}

#[test]
fn what_is_no_hdf5_file_is_said() {
    in_folder(|path| {
        assert!(refusal(path).contains("No such file or directory"), "{}", refusal(path));
        std::fs::write(path, "time digitizer channel adc\n").unwrap();
        assert!(
            refusal(path).contains("is not an HDF5 file: it begins with 74 69 6d 65"),
            "{}",
            refusal(path)
        );
        std::fs::write(path, "").unwrap();
        assert!(refusal(path).contains("is not an HDF5 file"), "{}", refusal(path));
    });
}

/// Names are bytes of the file, which the library takes for UTF-8 without looking at them.
#[test]
fn a_name_that_is_no_text_is_told_as_text() {
    in_folder(|path| {
        write(path, &[MesytecHit { bus: 1, ..MesytecHit::default() }]);
        let mut bytes = std::fs::read(path).unwrap();
        let place = bytes.windows(9).position(|word| word == b"high_time").unwrap();
        bytes[place + 2..place + 4].copy_from_slice(&[0xf7, 0xff]);
        std::fs::write(path, bytes).unwrap();
        let refused = refusal(path);
        assert!(
            String::from_utf8(refused.clone().into_bytes()).is_ok() && refused.contains("_time"),
            "{refused}"
        );
    });
}

#[test]
fn a_file_without_a_table_says_what_is_in_it() {
    in_folder(|path| {
        let file = File::create(path).unwrap();
        file.new_dataset::<u32>().shape(3).create("gdgem_hits").unwrap();
        file.close().unwrap();
        let error = refusal(path);
        assert!(
            error.contains("found gdgem_hits, expected one table called srs_hits or mbcaen_readouts"),
            "{error}"
        );
    });
}

#[test]
fn a_table_of_another_type_says_what_was_found_and_what_is_expected() {
    #[derive(Clone, Copy, H5Type)]
    #[repr(C)]
    struct Other {
        fec: u8,
        chip_id: u64,
    }
    in_folder(|path| {
        let file = File::create(path).unwrap();
        file.new_dataset::<Other>().shape(2).create("srs_hits").unwrap();
        file.close().unwrap();
        let error = refusal(path);
        assert!(error.contains("Found 16 bytes: fec uint8 @0 chip_id uint64 @8."), "{error}");
        assert!(
            error.contains("Expected 23 bytes: fec uint8 @0 chip_id uint8 @1 srs_timestamp uint64 @2"),
            "{error}"
        );
        assert!(
            error.contains("24 bytes: fec uint8 @0 chip_id uint8 @1 bonus_timestamp uint32 @2"),
            "{error}"
        );
    });
    in_folder(|path| {
        let file = File::create(path).unwrap();
        file.new_dataset::<f64>().shape(2).create("mbcaen_readouts").unwrap();
        file.close().unwrap();
        assert!(
            refusal(path).contains("Found float64, not a compound. Expected 20 bytes"),
            "{}",
            refusal(path)
        );
    });
    in_folder(|path| {
        let file = File::create(path).unwrap();
        file.new_dataset::<MesytecHit>().shape([2, 2]).create("mgmesytec_hits").unwrap();
        file.close().unwrap();
        assert!(refusal(path).contains("Found 2 dimensions"), "{}", refusal(path));
    });
    in_folder(|path| {
        let file = File::create(path).unwrap();
        file.create_group("srs_hits").unwrap();
        file.close().unwrap();
        assert!(refusal(path).contains("Found what HDF5 does not take for a table"), "{}", refusal(path));
    });
}

/// A table can claim more rows than any disk holds; HDF5 would make them up.
#[test]
fn rows_that_were_never_written_are_not_read() {
    in_folder(|path| {
        let file = File::create(path).unwrap();
        let table = table_of::<CaenReadout>(&file, 450, &[]).shape(0..).create("mbcaen_readouts").unwrap();
        table.resize(1_usize << 60).unwrap();
        file.close().unwrap();
        let error = refusal(path);
        assert!(error.contains("claims 1152921504606846976 rows, but the file has only 0 bytes"), "{error}");
    });
    in_folder(|path| {
        let file = File::create(path).unwrap();
        let table = table_of::<CaenReadout>(&file, 1 << 23, &[Filter::Deflate(1)])
            .shape(0..)
            .create("mbcaen_readouts");
        table.unwrap();
        file.close().unwrap();
        assert!(refusal(path).contains("Found chunks of 8388608 rows"), "{}", refusal(path));
    });
}

#[test]
fn compressed_tables_are_read() {
    in_folder(|path| {
        let file = File::create(path).unwrap();
        let rows = [SrsHit { fec: 1, ..SrsHit::default() }; 5000];
        let table =
            table_of::<SrsHit>(&file, 391, &[Filter::Deflate(9)]).shape(0..).create("srs_hits").unwrap();
        table.resize(rows.len()).unwrap();
        table.write_raw(&rows).unwrap();
        file.close().unwrap();
        assert_eq!(drain(path), (4, Ok(())));
    });
}

/// Cut at any place, a file is refused or gives what it has; changed at any place, it never causes a panic.
#[test]
fn cut_and_damaged_files_are_survived() {
    in_folder(|path| {
        let rows: Vec<_> =
            (0..3000).map(|n| SrsHit { fec: 1, srs_timestamp: n * 25, ..SrsHit::default() }).collect();
        write(path, &rows);
        let whole = std::fs::read(path).unwrap();
        assert_eq!(drain(path).1, Ok(()));
        for length in (0..whole.len()).step_by(whole.len() / 40) {
            std::fs::write(path, &whole[..length]).unwrap();
            assert!(!refusal(path).is_empty());
        }
        std::fs::write(path, &whole[..whole.len() - 1]).unwrap();
        assert!(refusal(path).contains("It is damaged, or was cut when it was copied"), "{}", refusal(path));
        // Everything that is not rows: the first bytes and the last.
        let places = (8..4096).step_by(11).chain((whole.len() - 2048..whole.len()).step_by(7));
        for place in places.filter(|place| *place < whole.len()) {
            let mut damaged = whole.clone();
            damaged[place] ^= 0xFF;
            std::fs::write(path, &damaged).unwrap();
            if let (_, Err(error)) = drain(path) {
                assert!(error.contains(&path.display().to_string()), "{error}");
            }
        }
    });
}
