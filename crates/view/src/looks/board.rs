//! Which looks are wanted now.

use super::cut;
use super::look::Look;
use super::pictured::Pictured;
use crate::lock::lock;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Most different looks at a time.
const MOST_LOOKS: usize = 128;
/// Most bytes that the counts of all selections and the frames of all looks take.
pub(crate) const MOST_BYTES: usize = 256 << 20;
/// How long the counts of a look are kept after the last browser that had it has left: a page that is loaded again finds them.
const KEPT: Duration = Duration::from_secs(60);
/// Time between two passes, however often somebody asks for one.
const SHORTEST_PASS: Duration = Duration::from_millis(30);

/// The text by which equal looks are known.
pub(crate) type Key = Arc<str>;

/// Looks, each with how many want it.
#[derive(Debug, Default)]
pub(crate) struct Board {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    looks: HashMap<Key, Entry>,
    is_urgent: bool,
}

#[derive(Debug)]
struct Entry {
    look: Arc<Look>,
    selection: Key,
    /// Of the counts of its selection.
    bytes: usize,
    /// Of its frame.
    frame_bytes: usize,
    wanted_by: usize,
    /// When nobody wanted it any more.
    left: Option<Instant>,
}

/// A look that is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) key: Key,
    /// The key of its selection: looks with the same one share their counts.
    pub(crate) selection: Key,
    pub(crate) look: Arc<Look>,
}

/// Wants a look until it is dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(crate) key: Key,
    board: Arc<Board>,
    /// Whether the counts stay for a while.
    pub(crate) is_kept: bool,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = lock(&self.board.state);
        if let Some(entry) = state.looks.get_mut(&self.key) {
            entry.wanted_by -= 1;
            if entry.wanted_by == 0 {
                entry.left = Some(Instant::now());
                if !self.is_kept {
                    state.looks.remove(&self.key);
                }
            }
        }
    }
}

/// Plain numbers and texts: their JSON cannot fail.
fn key_of(value: &impl serde::Serialize) -> Key {
    serde_json::to_string(value).unwrap_or_default().into()
}

impl Board {
    /// Wants a look from now on.
    ///
    /// # Errors
    /// If there is no room for it.
    pub(crate) fn want(self: &Arc<Self>, look: Look, pictured: &Pictured) -> Result<Ticket, String> {
        let key = key_of(&look);
        let mut state = lock(&self.state);
        if !state.looks.contains_key(&key) {
            let selection = key_of(&look.selection);
            let (bytes, frame_bytes) = (cut::bytes(&look.selection, pictured), look.frame_bytes());
            let has_room = |state: &State| {
                let mut known = HashSet::from([&selection]);
                let others = state.looks.values().filter(|entry| known.insert(&entry.selection));
                let counts = others.map(|entry| entry.bytes).sum::<usize>() + bytes;
                let frames = state.looks.values().map(|entry| entry.frame_bytes).sum::<usize>() + frame_bytes;
                state.looks.len() < MOST_LOOKS && counts + frames <= MOST_BYTES
            };
            if !has_room(&state) {
                state.looks.retain(|_, entry| entry.left.is_none());
            }
            if !has_room(&state) {
                return Err(format!(
                    "there is no room for it: {} other looks are open, and {MOST_LOOKS} may be, with {} MiB of counts together. Fewer \
                     different slices, regions or windows in all browsers make room",
                    state.looks.len(),
                    MOST_BYTES >> 20
                ));
            }
            let entry =
                Entry { look: Arc::new(look), selection, bytes, frame_bytes, wanted_by: 0, left: None };
            state.looks.insert(Arc::clone(&key), entry);
            state.is_urgent = true;
            self.changed.notify_all();
        }
        if let Some(entry) = state.looks.get_mut(&key) {
            entry.wanted_by += 1;
            entry.left = None;
        }
        Ok(Ticket { key, board: Arc::clone(self), is_kept: false })
    }

    /// What is wanted now, or was not long ago.
    pub(crate) fn wanted(&self) -> Vec<Wanted> {
        let mut state = lock(&self.state);
        state.looks.retain(|_, entry| entry.left.is_none_or(|left| left.elapsed() < KEPT));
        let wanted = |(key, entry): (&Key, &Entry)| Wanted {
            key: Arc::clone(key),
            selection: Arc::clone(&entry.selection),
            look: Arc::clone(&entry.look),
        };
        state.looks.iter().map(wanted).collect()
    }

    /// Makes the next pass come at once.
    pub(crate) fn hurry(&self) {
        lock(&self.state).is_urgent = true;
        self.changed.notify_all();
    }

    /// Waits until `next`, or until somebody is in a hurry.
    pub(crate) fn wait(&self, next: Instant) {
        let earliest = Instant::now() + SHORTEST_PASS;
        let mut state = lock(&self.state);
        loop {
            let now = Instant::now();
            let until = if state.is_urgent { earliest.min(next) } else { next };
            let Some(left) = until.checked_duration_since(now).filter(|left| !left.is_zero()) else { break };
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_urgent = false;
    }
}

#[cfg(test)]
mod tests {
    use super::super::wanted::LookWanted;
    use super::*;
    use crate::spectrum::SpectrumBins;
    use evforge_core::geometry::LogicalGeometry;
    use evforge_core::pulse::PulseTrain;
    use evforge_picture::PictureSet;

    /// A slice of a detector of 2000 x 2000 pixels: counts of 32 MB, in a frame of less.
    fn slice(pictured: &Pictured, to: u32) -> Look {
        let wanted = LookWanted {
            picture: "xy".into(),
            slice_ns: Some([0, to]),
            points: Some([500, 500]),
            ..LookWanted::default()
        };
        Look::new(wanted, pictured).unwrap()
    }

    #[test]
    fn looks_have_a_bounded_room_and_make_room_when_they_are_left() {
        let geometry = LogicalGeometry::flat(2000, 2000).unwrap();
        let bins = SpectrumBins::new(&PulseTrain::ess(), None);
        let pictured = Pictured::new(PictureSet::of_geometry(&geometry), &geometry, bins, true);
        let board = Arc::new(Board::default());
        let mut tickets: Vec<Ticket> = Vec::new();
        let refused = loop {
            match board.want(slice(&pictured, 1 + tickets.len() as u32), &pictured) {
                Ok(ticket) => tickets.push(ticket),
                Err(refused) => break refused,
            }
        };
        assert!(refused.contains("there is no room for it: 8 other looks are open"), "{refused}");
        assert_eq!(tickets.len(), 8);
        // An equal look needs no room, and ends with the last one who has it.
        let again = board.want(slice(&pictured, 3), &pictured).unwrap();
        assert_eq!(board.wanted().len(), 8);
        drop(again);
        assert_eq!(board.wanted().len(), 8);
        // What is kept for who may come back goes when somebody needs the room.
        tickets[0].is_kept = true;
        tickets.remove(0);
        assert_eq!(board.wanted().len(), 8);
        tickets.push(board.want(slice(&pictured, 99), &pictured).unwrap());
        assert_eq!(board.wanted().len(), 8);
        // What is not kept goes at once.
        tickets.clear();
        assert!(board.wanted().is_empty());
    }
}
