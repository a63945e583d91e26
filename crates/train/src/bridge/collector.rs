//! Whole trains of the trains of single modules, which come at different times.

use std::collections::VecDeque;

use super::message::Message;

/// Trains at most that wait for modules; a further one takes the place of the one that has waited longest.
const MOST_HELD: usize = 4;
/// Trains that were shown last, whose modules may still come twice.
const REMEMBERED: usize = 16;

/// What became of a train of one module.
#[derive(Debug)]
pub(super) enum Added {
    /// It came twice, or its whole train was shown already.
    Late,
    /// It waits for other modules.
    Held,
    /// It was the last one.
    Whole(Message),
}

#[derive(Debug)]
struct Held {
    train: u64,
    parts: Vec<Option<Message>>,
}

impl Held {
    fn there(&self) -> u64 {
        self.parts.iter().flatten().count() as u64
    }
}

/// Collects the modules of a train. Numbers of trains need not ascend: whole trains are given in the order in which they began, and
/// those that began before one that is whole are given up.
#[derive(Debug)]
pub(super) struct Collector {
    modules: usize,
    held: VecDeque<Held>,
    shown: VecDeque<u64>,
}

impl Collector {
    /// For so many modules.
    pub(super) fn new(modules: u8) -> Self {
        Self { modules: modules.into(), held: VecDeque::new(), shown: VecDeque::new() }
    }

    /// Trains of single modules that wait.
    pub(super) fn held(&self) -> u64 {
        self.held.iter().map(Held::there).sum()
    }

    /// Takes the train of a module below the number of modules. Also how many trains of single modules were given up.
    pub(super) fn add(&mut self, module: usize, train: u64, message: Message) -> (Added, u64) {
        if self.shown.contains(&train) {
            return (Added::Late, 0);
        }
        let mut given_up = 0;
        let at = match self.held.iter().position(|held| held.train == train) {
            Some(at) => at,
            None => {
                if self.held.len() >= MOST_HELD {
                    given_up += self.held.pop_front().map_or(0, |held| held.there());
                }
                self.held.push_back(Held { train, parts: vec![None; self.modules] });
                self.held.len() - 1
            }
        };
        let held = &mut self.held[at];
        if held.parts[module].is_some() {
            return (Added::Late, given_up);
        }
        held.parts[module] = Some(message);
        if held.there() < self.modules as u64 {
            return (Added::Held, given_up);
        }
        let mut whole = Message::default();
        for held in self.held.drain(..=at) {
            if held.train == train {
                whole = Message::joined(held.parts.into_iter().flatten());
            } else {
                given_up += held.there();
            }
        }
        self.shown.push_back(train);
        if self.shown.len() > REMEMBERED {
            self.shown.pop_front();
        }
        (Added::Whole(whole), given_up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trains_are_whole_when_all_modules_are_there() {
        let mut collector = Collector::new(2);
        let mut add = |module, train| {
            let (added, given_up) = collector.add(module, train, Message::default());
            let name = match added {
                Added::Late => "late",
                Added::Held => "held",
                Added::Whole(_) => "whole",
            };
            (name, given_up, collector.held())
        };
        assert_eq!(add(0, 7), ("held", 0, 1));
        assert_eq!(add(0, 7), ("late", 0, 1));
        assert_eq!(add(1, 8), ("held", 0, 2));
        // Train 7 began before, and is given up.
        assert_eq!(add(0, 8), ("whole", 1, 0));
        assert_eq!(add(1, 8), ("late", 0, 0));
        for (waiting, train) in (20..24).enumerate() {
            assert_eq!(add(0, train), ("held", 0, waiting as u64 + 1));
        }
        // A number that is wrong does no lasting harm.
        assert_eq!(add(0, u64::MAX), ("held", 1, 4));
        assert_eq!(add(1, 23), ("whole", 2, 1));
        assert_eq!(add(1, 3), ("held", 0, 2));
        assert_eq!(add(0, 3), ("whole", 1, 0));
    }
}
