//! How far the time of a board has come, and what is to be thought of a jump in it.
//!
//! A message whose reference time is far from that of the one before is put aside: the board's next message confirms the jump, or
//! does not. So one damaged time neither makes later messages late nor opens a frame that never was.

use evforge_wire::isis::{Header, LARGEST_MESSAGE_WORDS};

/// A time: how often the clock has started over, and the reference time of a frame in nanoseconds since 1970.
pub type At = (u32, u64);

/// What counts as a jump, in nanoseconds.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
pub struct JumpRules {
    /// Ahead by more than this.
    pub forward_ns: u64,
    /// Back by more than this.
    pub restart_ns: u64,
}

/// A message that was put aside.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
pub struct Suspect {
    /// Its reference time.
    pub reference_ns: u64,
    /// Its header.
    #[get_size(ignore)]
    pub header: Header,
}

/// What a message means for the one that was put aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// None was put aside.
    Nothing,
    /// It was right: it is to be taken, before the message.
    Confirmed,
    /// It was wrong, or stood alone: it is to be left out.
    Refuted,
}

/// The clock of a board.
#[derive(Debug, get_size2::GetSize)]
pub struct BoardClock {
    front: Option<At>,
    /// First reference time since the clock started over.
    epoch_start_ns: u64,
    /// True from the end of a run until the next message.
    has_ended: bool,
    suspect: Option<Suspect>,
    /// The events of the message that was put aside.
    events: Vec<u8>,
    /// Confirmed jumps: ahead, and back.
    pub jumps: (u64, u64),
}

impl Default for BoardClock {
    /// One that has shown nothing yet.
    fn default() -> Self {
        Self {
            front: None,
            epoch_start_ns: 0,
            has_ended: false,
            suspect: None,
            events: Vec::with_capacity(4 * LARGEST_MESSAGE_WORDS),
            jumps: (0, 0),
        }
    }
}

impl BoardClock {
    /// The newest time; none before the first message.
    pub fn front(&self) -> Option<At> {
        self.front
    }

    /// The first reference time since the clock started over.
    pub fn epoch_start_ns(&self) -> u64 {
        self.epoch_start_ns
    }

    /// True if the board has said that the run has ended, and has sent nothing since.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// The board says that the run has ended.
    pub fn end(&mut self) {
        self.has_ended = true;
    }

    /// True if a message is put aside.
    pub fn has_suspect(&self) -> bool {
        self.suspect.is_some()
    }

    /// Events of the message that is put aside.
    pub fn suspected_events(&self) -> usize {
        self.suspect.map_or(0, |_| self.events.len() / 8)
    }

    /// What a message at `reference_ns` means for the one that was put aside, if there is one.
    #[inline]
    pub fn look_back(&self, reference_ns: u64, rules: JumpRules) -> Finding {
        match self.suspect {
            None => Finding::Nothing,
            Some(suspect) if reference_ns.abs_diff(suspect.reference_ns) <= rules.forward_ns => {
                Finding::Confirmed
            }
            Some(_) => Finding::Refuted,
        }
    }

    /// The time of a message that is near the one before, or the first: it is taken. None if it jumps.
    #[inline]
    pub fn follow(&mut self, reference_ns: u64, rules: JumpRules) -> Option<At> {
        let Some((epoch, front)) = self.front else {
            self.epoch_start_ns = reference_ns;
            self.front = Some((0, reference_ns));
            self.has_ended = false;
            return self.front;
        };
        let is_near = reference_ns <= front.saturating_add(rules.forward_ns)
            && reference_ns >= front.saturating_sub(rules.restart_ns);
        if !is_near {
            return None;
        }
        self.front = Some((epoch, front.max(reference_ns)));
        self.has_ended = false;
        Some((epoch, reference_ns))
    }

    /// Puts a message aside.
    #[cold]
    pub fn put_aside(&mut self, reference_ns: u64, header: &Header, events: &[[u8; 8]]) {
        self.suspect = Some(Suspect { reference_ns, header: *header });
        self.events.clear();
        self.events.extend_from_slice(events.as_flattened());
    }

    /// Takes the jump of the message that was put aside: the board's time goes on from there.
    #[cold]
    pub fn jump(&mut self) -> Option<At> {
        let Suspect { reference_ns, .. } = self.suspect?;
        let (epoch, front) = self.front.unwrap_or_default();
        let is_back = reference_ns < front;
        if is_back {
            self.epoch_start_ns = reference_ns;
        }
        *if is_back { &mut self.jumps.1 } else { &mut self.jumps.0 } += 1;
        self.front = Some((epoch.saturating_add(u32::from(is_back)), reference_ns));
        self.has_ended = false;
        self.front
    }

    /// The message that was put aside, and its events, which are given back with [`BoardClock::keep`].
    #[cold]
    pub fn take_suspect(&mut self) -> Option<(Suspect, Vec<u8>)> {
        let suspect = self.suspect.take()?;
        Some((suspect, std::mem::take(&mut self.events)))
    }

    /// Gives the memory back.
    pub fn keep(&mut self, memory: Vec<u8>) {
        self.events = memory;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: JumpRules = JumpRules { forward_ns: 100, restart_ns: 50 };

    #[test]
    fn a_jump_is_taken_when_the_next_message_is_near_it() {
        let mut clock = BoardClock::default();
        assert_eq!(
            (clock.follow(1000, RULES), clock.follow(1100, RULES)),
            (Some((0, 1000)), Some((0, 1100)))
        );
        assert_eq!((clock.follow(1050, RULES), clock.front()), (Some((0, 1050)), Some((0, 1100))));
        assert_eq!((clock.follow(1201, RULES), clock.follow(1049, RULES)), (None, None));

        clock.put_aside(9000, &Header::default(), &[[7; 8]; 3]);
        assert_eq!((clock.suspected_events(), clock.look_back(1110, RULES)), (3, Finding::Refuted));
        assert_eq!(clock.look_back(9010, RULES), Finding::Confirmed);
        assert_eq!((clock.jump(), clock.jumps), (Some((0, 9000)), (1, 0)));
        let (suspect, events) = clock.take_suspect().unwrap();
        assert_eq!((suspect.reference_ns, events.len(), clock.suspected_events()), (9000, 24, 0));
        clock.keep(events);
        assert_eq!(clock.look_back(9010, RULES), Finding::Nothing);

        clock.put_aside(5, &Header::default(), &[]);
        assert_eq!((clock.jump(), clock.epoch_start_ns(), clock.jumps), (Some((1, 5)), 5, (1, 1)));
        clock.end();
        assert!(clock.has_ended() && clock.follow(6, RULES).is_some() && !clock.has_ended());
    }
}
