//! What a commit is: how many rows of each column, and up to which message of each partition, are in the file for certain.
//!
//! Two records take turns in one dataset of bytes, so that one is whole whatever happens while the other is written:
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | number of the commit, little-endian |
//! | 8..12 | length of the text |
//! | 12..16 | CRC-32 of number, length and text |
//! | 16.. | text: JSON |
//!
//! A record is written after the disk has confirmed everything that it speaks of, and is itself confirmed with the next. Each has
//! chunks of its own, of which the first are there from the beginning: nearly all records are shorter.

use hdf5_metno::{Dataset, Error, Group, Result};

/// The name of the dataset.
const NAME: &str = "journal";
/// Bytes before the text.
const HEAD: usize = 16;
/// Bytes of a chunk: what no record has needed is not in the file.
const CHUNK: usize = 8 << 10;

/// The two records.
#[derive(Debug)]
pub struct Journal {
    dataset: Dataset,
    /// Bytes of a record at most, its head included.
    room: usize,
    number: u64,
}

impl Journal {
    /// Makes it, with room for texts of so many bytes.
    ///
    /// # Errors
    /// If HDF5 refuses.
    pub fn create(group: &Group, text_room: usize) -> Result<Self> {
        let room = (HEAD + text_room).next_multiple_of(CHUNK);
        let dataset = group.new_dataset_builder().empty::<u8>().chunk(CHUNK).shape(2 * room).create(NAME)?;
        for from in [0, room] {
            dataset.write_slice(&[0_u8; CHUNK], from..from + CHUNK)?;
        }
        Ok(Self { dataset, room, number: 0 })
    }

    /// Opens it, with the text of the newest record that is whole; none if there is none yet.
    ///
    /// # Errors
    /// If there is no journal, or it is something else.
    pub fn open(group: &Group) -> Result<(Self, Option<String>)> {
        let dataset = group.dataset(NAME)?;
        let bytes: Vec<u8> = dataset.read_raw()?;
        let room = bytes.len() / 2;
        if dataset.ndim() != 1 || room < HEAD {
            return Err(Error::from(format!("{} is no journal", dataset.name())));
        }
        let newest = bytes.chunks_exact(room).filter_map(read).max_by_key(|(number, _)| *number);
        let (number, text) = newest.map_or((0, None), |(number, text)| (number, Some(text)));
        Ok((Self { dataset, room, number }, text))
    }

    /// Whether there is one in a group.
    pub fn is_in(group: &Group) -> bool {
        group.link_exists(NAME)
    }

    /// Takes it out of its group: the file is complete.
    ///
    /// # Errors
    /// If HDF5 refuses.
    pub fn remove(group: &Group) -> Result<()> {
        group.unlink(NAME)
    }

    /// Bytes by which the file grows at most with all records to come.
    pub fn growth(&self) -> u64 {
        (self.dataset.size() as u64).saturating_sub(self.dataset.storage_size())
    }

    /// Bytes that a text may have.
    pub fn text_room(&self) -> usize {
        self.room - HEAD
    }

    /// Writes a record over the older of the two.
    ///
    /// # Errors
    /// If there is no room for the text, or HDF5 refuses.
    pub fn write(&mut self, text: &str) -> Result<()> {
        if text.len() > self.text_room() {
            return Err(Error::from(format!(
                "a record of {} bytes does not fit into the {} of the journal",
                text.len(),
                self.text_room()
            )));
        }
        self.number += 1;
        let mut record = Vec::with_capacity(HEAD + text.len());
        record.extend_from_slice(&self.number.to_le_bytes());
        record.extend_from_slice(&(text.len() as u32).to_le_bytes());
        record.extend_from_slice(&checksum(self.number, text.as_bytes()).to_le_bytes());
        record.extend_from_slice(text.as_bytes());
        let from = (self.number % 2) as usize * self.room;
        self.dataset.write_slice(&record, from..from + record.len())?;
        self.dataset.flush()
    }
}

/// A record, if it is whole.
fn read(bytes: &[u8]) -> Option<(u64, String)> {
    let number = u64::from_le_bytes(*bytes.first_chunk()?);
    let length = u32::from_le_bytes(*bytes.get(8..)?.first_chunk()?) as usize;
    let stored = u32::from_le_bytes(*bytes.get(12..)?.first_chunk()?);
    let text = bytes.get(HEAD..HEAD.checked_add(length)?)?;
    if number == 0 || checksum(number, text) != stored {
        return None;
    }
    Some((number, String::from_utf8(text.to_vec()).ok()?))
}

fn checksum(number: u64, text: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.to_le_bytes());
    hasher.update(&(text.len() as u32).to_le_bytes());
    hasher.update(text);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdf5_metno::File;

    #[test]
    fn the_newest_whole_record_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.h5");
        let file = File::create(&path).unwrap();
        let group = file.create_group("evforge_writer").unwrap();
        let mut journal = Journal::create(&group, CHUNK).unwrap();
        assert_eq!(Journal::open(&group).unwrap().1, None);
        for text in ["first", "second", "third"] {
            journal.write(text).unwrap();
            assert_eq!(Journal::open(&group).unwrap().1.as_deref(), Some(text));
        }
        assert!(journal.write(&"x".repeat(journal.text_room() + 1)).is_err());
        // The newest one is torn: the one before counts, and the next is written over the torn one.
        let dataset = group.dataset("journal").unwrap();
        let at = (journal.number % 2) as usize * journal.room;
        dataset.write_slice(b"!", at + HEAD..=at + HEAD).unwrap();
        let (mut opened, text) = Journal::open(&group).unwrap();
        assert_eq!(text.as_deref(), Some("second"));
        assert_eq!((journal.text_room(), opened.growth()), (2 * CHUNK - HEAD, 2 * CHUNK as u64));
        let long = "again".repeat(2000);
        opened.write(&long).unwrap();
        assert_eq!(Journal::open(&group).unwrap().1, Some(long));
        assert_eq!(opened.growth(), CHUNK as u64);
        Journal::remove(&group).unwrap();
        assert!(!Journal::is_in(&group));
    }
}
