//! Who sends trains, and which of each sender's trains have been there.

use super::settings::{AssemblySettings, TrainContent};
use super::train_numbers::TrainNumbers;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

/// Who sends trains: frames of different sources have nothing to do with one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrainSource {
    /// By the address and port of the sender.
    Sender(SocketAddr),
    /// By the module, where each has a port of its own at the receiver: whoever sends.
    Module(u16),
}

/// What happened to a frame that is remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Remembered {
    /// Its train was closed.
    #[default]
    Closed,
    /// Its train was not opened, for want of a buffer.
    WithoutBuffer,
}

/// One source.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: TrainSource,
    /// Its open trains, the oldest first: frame, and slot.
    pub(crate) open: Vec<(u32, u32)>,
    pub(crate) numbers: Option<TrainNumbers>,
    last_ns: u64,
    past: PastFrames,
}

/// The frames that were closed last. They are remembered one by one, and not as all those behind the newest: then one flipped bit in a
/// frame's number would make all that follow late.
#[derive(Debug)]
struct PastFrames {
    frames: Vec<u32>,
    /// Of each: when, and what happened to it.
    ends: Vec<(u64, Remembered)>,
    next: usize,
    most: usize,
    for_ns: u64,
}

impl PastFrames {
    fn new(settings: &AssemblySettings) -> Self {
        let most = settings.remembered_trains;
        Self {
            frames: Vec::with_capacity(most),
            ends: Vec::with_capacity(most),
            next: 0,
            most,
            for_ns: nanoseconds(settings.remembered_for),
        }
    }

    fn remember(&mut self, frame: u32, now_ns: u64, what: Remembered) {
        if self.frames.len() < self.most {
            self.frames.push(frame);
            self.ends.push((now_ns, what));
            return;
        }
        (self.frames[self.next], self.ends[self.next]) = (frame, (now_ns, what));
        self.next = (self.next + 1) % self.most;
    }

    fn recall(&self, frame: u32, now_ns: u64) -> Option<Remembered> {
        let of_frame = self.frames.iter().zip(&self.ends).filter(|(past, _)| **past == frame);
        let mut recent = of_frame.filter(|(_, (end_ns, _))| now_ns.saturating_sub(*end_ns) <= self.for_ns);
        recent.next().map(|(_, (_, what))| *what)
    }
}

impl Source {
    fn new(name: TrainSource, settings: &AssemblySettings) -> Self {
        let numbers = match settings.content {
            TrainContent::Images(images) => images.stride.map(|stride| (stride, images.largest_gap)),
            TrainContent::Packets(_) => None,
        };
        Self {
            name,
            open: Vec::with_capacity(settings.open_trains_of_source),
            numbers: numbers.map(|(stride, largest_gap)| TrainNumbers::new(stride, largest_gap)),
            last_ns: 0,
            past: PastFrames::new(settings),
        }
    }

    /// The slot of an open train.
    #[inline]
    pub(crate) fn slot(&self, frame: u32) -> Option<u32> {
        self.open.iter().find(|(open, _)| *open == frame).map(|(_, slot)| *slot)
    }

    /// What happened to a frame that is not open; none if it is new, or was forgotten.
    pub(crate) fn recall(&self, frame: u32, now_ns: u64) -> Option<Remembered> {
        self.past.recall(frame, now_ns)
    }

    /// Remembers a frame.
    pub(crate) fn remember(&mut self, frame: u32, now_ns: u64, what: Remembered) {
        self.past.remember(frame, now_ns, what);
    }
}

/// The sources, as many as may be.
#[derive(Debug)]
pub(crate) struct Sources {
    all: Vec<Source>,
    places: HashMap<TrainSource, usize>,
    /// The one that the packet before came from: packets of a train come in a row.
    latest: Option<(TrainSource, usize)>,
    /// Before this time, no source has been silent for long enough to be forgotten.
    none_silent_before_ns: u64,
    silence_ns: u64,
    forgotten: u64,
    settings: AssemblySettings,
}

/// A source of which nothing came for so long, and which has no open train, makes room for a new one: senders that are started again
/// have another port.
const SILENCE: Duration = Duration::from_secs(60);

impl Sources {
    pub(crate) fn new(settings: AssemblySettings) -> Self {
        Self {
            all: Vec::with_capacity(settings.sources),
            // Twice as many: room for those that were forgotten, so that it never grows.
            places: HashMap::with_capacity(2 * settings.sources),
            latest: None,
            none_silent_before_ns: 0,
            silence_ns: nanoseconds(SILENCE),
            forgotten: 0,
            settings,
        }
    }

    /// The place of a source, a new one if there is room; none if there is not.
    #[inline]
    pub(crate) fn place(&mut self, name: TrainSource, now_ns: u64) -> Option<usize> {
        let place = match self.latest {
            Some((latest, place)) if latest == name => place,
            _ => {
                let known = self.places.get(&name).copied();
                let place = known.or_else(|| self.add(name, now_ns))?;
                self.latest = Some((name, place));
                place
            }
        };
        self.all[place].last_ns = now_ns;
        Some(place)
    }

    fn add(&mut self, name: TrainSource, now_ns: u64) -> Option<usize> {
        let place = if self.all.len() < self.settings.sources {
            self.all.push(Source::new(name, &self.settings));
            self.all.len() - 1
        } else {
            self.forget_one(name, now_ns)?
        };
        self.places.insert(name, place);
        Some(place)
    }

    /// Gives the place of the source that has been silent for longest, and for long enough, to another one.
    fn forget_one(&mut self, name: TrainSource, now_ns: u64) -> Option<usize> {
        if now_ns < self.none_silent_before_ns {
            return None;
        }
        let idle = self.all.iter_mut().enumerate().filter(|(_, source)| source.open.is_empty());
        let oldest = idle.min_by_key(|(_, source)| source.last_ns);
        if let Some((place, source)) =
            oldest.filter(|(_, s)| now_ns.saturating_sub(s.last_ns) >= self.silence_ns)
        {
            self.places.remove(&source.name);
            *source = Source::new(name, &self.settings);
            self.forgotten += 1;
            return Some(place);
        }
        // Looked at again after a while, so that a flood of new senders costs little.
        self.none_silent_before_ns = now_ns.saturating_add(self.silence_ns / 64);
        None
    }

    pub(crate) fn get(&self, place: usize) -> &Source {
        &self.all[place]
    }

    pub(crate) fn get_mut(&mut self, place: usize) -> &mut Source {
        &mut self.all[place]
    }

    /// How many are known, and how many made room for another one.
    pub(crate) fn counts(&self) -> [u64; 2] {
        [self.all.len() as u64, self.forgotten]
    }
}

pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
