//! Messages whose columns follow a head that is made once.
//!
//! Messages of the same source differ in a number and in their columns. The builder of FlatBuffers would make table and strings again
//! for each of them, which takes longer than a hundred events. Here it makes a message with empty columns once, the *head*; a
//! message is a copy of it, with the columns behind it and the places in the head that point to them changed.

use crate::column::{Column, Element};
use crate::generated::ev44 as wire;
use flatbuffers::VOffsetT;

/// Heads that are kept: sources that one encoder writes messages of in turn.
const MOST_HEADS: usize = 16;

/// Bytes of a length, and of what points to a column.
const OFFSET: usize = 4;

/// A message without content, and the places in it that change.
#[derive(Clone, Debug)]
struct Head {
    source_name: String,
    bytes: Vec<u8>,
    message_id: usize,
    /// Where the columns are pointed to: reference_time, reference_time_index, time_of_flight, pixel_id.
    columns: [usize; 4],
}

impl Head {
    /// That of an ev44 with a message id and empty columns, all of which are written.
    fn of(source_name: &str, bytes: &[u8]) -> Option<Self> {
        let place = |field: VOffsetT| {
            let table = number(bytes, 0)? as usize;
            // The table begins with how far before it its list of places is, which may be anywhere.
            let places = (table as i64).checked_sub(i64::from(number(bytes, table)?.cast_signed()))?;
            let entry = usize::try_from(places).ok()? + usize::from(field);
            let within = u16::from_le_bytes(*bytes.get(entry..)?.first_chunk()?);
            (within != 0).then_some(table + usize::from(within))
        };
        Some(Self {
            source_name: source_name.to_owned(),
            message_id: place(wire::Events::VT_MESSAGE_ID)?,
            columns: [
                place(wire::Events::VT_REFERENCE_TIME)?,
                place(wire::Events::VT_REFERENCE_TIME_INDEX)?,
                place(wire::Events::VT_TIME_OF_FLIGHT)?,
                place(wire::Events::VT_PIXEL_ID)?,
            ],
            bytes: bytes.to_vec(),
        })
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// Heads of ev44 messages, and the message that is being written.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    heads: Vec<Head>,
    /// The head used last.
    last: usize,
    message: Vec<u8>,
}

impl Heads {
    /// Begins a message of this source; false if there is no head for it.
    pub(crate) fn begin(&mut self, source_name: &str, message_id: i64) -> bool {
        let is_of = |head: &Head| head.source_name == source_name;
        if !self.heads.get(self.last).is_some_and(is_of) {
            let Some(place) = self.heads.iter().position(is_of) else { return false };
            self.last = place;
        }
        let head = &self.heads[self.last];
        self.message.clear();
        self.message.extend_from_slice(&head.bytes);
        self.message[head.message_id..head.message_id + 8].copy_from_slice(&message_id.to_le_bytes());
        true
    }

    /// Keeps the head that a message with empty columns is; false if it is none.
    #[cold]
    pub(crate) fn keep(&mut self, source_name: &str, empty: &[u8]) -> bool {
        let Some(head) = Head::of(source_name, empty) else { return false };
        if self.heads.len() == MOST_HEADS {
            self.heads.remove(0);
        }
        self.last = self.heads.len();
        self.heads.push(head);
        true
    }

    /// Appends column `number` of the message. False if its numbers have to be turned on this machine.
    #[inline]
    pub(crate) fn column<T: Element>(&mut self, number: usize, column: Column<'_, T>) -> bool {
        let Some(values) = column.le_bytes() else { return false };
        let values = &values[..column.len() * size_of::<T>()];
        // The numbers lie at a multiple of their size, behind how many there are.
        let length_at = (self.message.len() + OFFSET).next_multiple_of(size_of::<T>().max(OFFSET)) - OFFSET;
        self.message.resize(length_at, 0);
        self.message.extend_from_slice(&(column.len() as u32).to_le_bytes());
        self.message.extend_from_slice(values);
        let at = self.heads[self.last].columns[number];
        let distance = (length_at - at) as u32;
        self.message[at..at + OFFSET].copy_from_slice(&distance.to_le_bytes());
        true
    }

    /// The message.
    pub(crate) fn message(&self) -> &[u8] {
        &self.message
    }
}
