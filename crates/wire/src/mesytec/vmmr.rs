//! Words of the VMMR modules (EFU formats of 2018, section 2.2).

use super::Trigger;

/// Largest amplitude: 12 bits.
pub const LARGEST_ADC: u16 = 4095;

/// Number of addresses: 16 buses of 4096 channels.
pub const ADDRESSES: usize = 1 << 16;

/// Number of [slots](DataWord::slot): twice that of addresses.
pub const SLOTS: usize = 2 * ADDRESSES;

/// Width of the time in an end-of-event word, in bits.
pub const LOW_TIME_BITS: u32 = 30;

/// Width of an extended time stamp, in bits. It counts turns of the low time.
pub const HIGH_TIME_BITS: u32 = 16;

/// One word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// The beginning of a module's event.
    Header {
        /// Number of the module, 0..=255.
        module: u8,
        /// Words that follow, 0..=1023.
        words: u16,
        /// The event was triggered externally (the pulse of the source).
        external_trigger: bool,
    },
    /// The upper part of the time.
    HighTime(u16),
    /// The bus of what follows, and its time since the trigger.
    TimeDifference {
        /// Bus, 0..=15.
        bus: u8,
        /// Time difference, 0..=65535.
        difference: u16,
    },
    /// One measurement of one channel.
    Readout {
        /// Bus, 0..=15.
        bus: u8,
        /// Channel, 0..=4095.
        channel: u16,
        /// Amplitude, 0..=[`LARGEST_ADC`].
        adc: u16,
    },
    /// Fills up to a whole number of 64-bit words.
    Fill,
    /// The end of a module's event, with the lower part of the time ([`LOW_TIME_BITS`]).
    EndOfEvent(u32),
    /// None of these; holds the word.
    Unknown(u32),
}

impl Word {
    /// The fields of a word.
    #[inline(always)]
    pub fn decode(word: u32) -> Self {
        let bus = (word >> 24 & 0xF) as u8;
        match word >> 28 {
            0x0 => Word::Fill,
            0x1 => Word::Readout { bus, channel: (word >> 12 & 0xFFF) as u16, adc: (word & 0xFFF) as u16 },
            0x2 => Word::HighTime(word as u16),
            0x3 => Word::TimeDifference { bus, difference: word as u16 },
            0x4 => Word::Header {
                module: (word >> 16) as u8,
                words: (word & 0x3FF) as u16,
                external_trigger: word >> 24 & 1 != 0,
            },
            0xC..=0xF => Word::EndOfEvent(word & ((1 << LOW_TIME_BITS) - 1)),
            _ => Word::Unknown(word),
        }
    }

    /// The word of these fields; what is wider than its field is cut to it.
    pub fn encode(self) -> u32 {
        let bus_bits = |bus: u8| u32::from(bus & 0xF) << 24;
        match self {
            Word::Fill => 0,
            Word::Readout { bus, channel, adc } => {
                0x1 << 28 | bus_bits(bus) | u32::from(channel & 0xFFF) << 12 | u32::from(adc & 0xFFF)
            }
            Word::HighTime(high) => 0x2 << 28 | u32::from(high),
            Word::TimeDifference { bus, difference } => 0x3 << 28 | bus_bits(bus) | u32::from(difference),
            Word::Header { module, words, external_trigger } => {
                0x4 << 28
                    | u32::from(external_trigger) << 24
                    | u32::from(module) << 16
                    | u32::from(words & 0x3FF)
            }
            Word::EndOfEvent(low) => 0b11 << LOW_TIME_BITS | low & ((1 << LOW_TIME_BITS) - 1),
            Word::Unknown(word) => word,
        }
    }
}

/// A readout or a fill word.
///
/// Fill words are handed out like readouts because whether one is there is a coin toss in real data, and a
/// branch on it costs more than a readout does: who takes readouts masks fill words out instead
/// ([`DataWord::is_readout`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataWord(u32);

impl DataWord {
    /// False for a fill word.
    #[inline(always)]
    pub fn is_readout(self) -> bool {
        self.0 >> 28 != 0
    }

    /// Bus (upper 4 bits) and channel (lower 12 bits); below [`ADDRESSES`].
    #[inline(always)]
    pub fn address(self) -> u16 {
        (self.0 >> 12) as u16
    }

    /// Place in a table of [`SLOTS`] entries: fill words in its lower half, readouts in the upper one by their
    /// address. Looking a fill word up is cheaper than asking whether it is one.
    #[inline(always)]
    pub fn slot(self) -> usize {
        (self.0 >> 12) as usize & (SLOTS - 1)
    }

    /// Amplitude, 0..=[`LARGEST_ADC`].
    #[inline(always)]
    pub fn adc(self) -> u16 {
        (self.0 & 0xFFF) as u16
    }
}

/// What earlier words of a trigger said about a readout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// The module of the last header.
    pub module: u8,
    /// The last time difference.
    pub time_difference: u16,
}

/// One measurement of one channel with all that is known of it before its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VmmrReadout {
    /// Number of the module.
    pub module: u8,
    /// Bus, 0..=15.
    pub bus: u8,
    /// Channel, 0..=4095.
    pub channel: u16,
    /// Amplitude, 0..=[`LARGEST_ADC`].
    pub adc: u16,
    /// Time since the trigger as the module gives it; 0 where it does not.
    pub time_difference: u16,
}

impl VmmrReadout {
    /// The readout in a data word, or none in a fill word.
    pub fn of(word: DataWord, context: Context) -> Option<Self> {
        word.is_readout().then(|| Self {
            module: context.module,
            bus: (word.address() >> 12) as u8,
            channel: word.address() & 0xFFF,
            adc: word.adc(),
            time_difference: context.time_difference,
        })
    }
}

/// Why a trigger is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerFault {
    /// A header announces more words than the trigger has.
    WordsMissing,
    /// A word of no known type. Holds its top four bits.
    UnknownWord(u8),
    /// No end-of-event word, so that the trigger has no time.
    NoTime,
}

/// What is known of a trigger after its last word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriggerEnd {
    /// Time of all readouts of the trigger in ticks of the modules' clock (62.5 ns at 16 MHz).
    pub time: u64,
    /// The trigger was external.
    pub external_trigger: bool,
}

/// The modules' clock from trigger to trigger: the upper part of the time is not in every trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriggerClock {
    counted: bool,
    high: u64,
    last_low: u32,
}

impl TriggerClock {
    /// A clock whose upper part is that of the last extended time stamp.
    pub fn extended() -> Self {
        Self { counted: false, high: 0, last_low: 0 }
    }

    /// A clock that ignores extended time stamps and counts the turns of the low time itself: one more
    /// whenever it runs backwards. For set-ups in which the extended time stamps are not to be trusted.
    pub fn counted() -> Self {
        Self { counted: true, ..Self::extended() }
    }

    #[inline(always)]
    fn set_high(&mut self, high: u16) {
        if !self.counted {
            self.high = u64::from(high);
        }
    }

    #[inline(always)]
    fn time(&mut self, low: u32) -> u64 {
        self.high += u64::from(self.counted && low < self.last_low);
        self.last_low = low;
        (self.high << LOW_TIME_BITS) + u64::from(low)
    }
}

impl Trigger<'_> {
    /// Walks the words in order and hands every readout and fill word to `take`, together with `state`, which is
    /// returned. The time is known at the end only, and what was handed out before a fault is of no use.
    ///
    /// As the reference does it, the last end-of-event word gives the time of the whole trigger, and neither
    /// the order of the words nor the number that a header announces is checked any further.
    ///
    /// # Errors
    /// What makes the trigger useless. Its neighbours are not concerned: the clock has followed as far as the
    /// words could be read.
    #[inline(always)]
    pub fn read<S>(
        &self,
        clock: &mut TriggerClock,
        mut state: S,
        mut take: impl FnMut(&mut S, DataWord, Context),
    ) -> (S, Result<TriggerEnd, TriggerFault>) {
        // What modules send: a header, the high time, readouts and fill words, and an end. Looking at all words
        // first leaves no branch in the loop over the readouts but that at its end.
        if let [header, high, data @ .., end] = self.words {
            let [header, high, end] = [header, high, end].map(|word| u32::from_le_bytes(*word));
            let data_bits = data.iter().fold(0, |bits, word| bits | u32::from_le_bytes(*word));
            let announced = (header & 0x3FF) as usize;
            let usual = (header >> 28 == 0x4)
                & (high >> 28 == 0x2)
                & (end >> 30 == 0b11)
                & (data_bits >> 29 == 0)
                & (announced <= self.words.len());
            if usual {
                let context = Context { module: (header >> 16) as u8, time_difference: 0 };
                for word in data {
                    take(&mut state, DataWord(u32::from_le_bytes(*word)), context);
                }
                clock.set_high(high as u16);
                let time = clock.time(end & ((1 << LOW_TIME_BITS) - 1));
                let end = TriggerEnd { time, external_trigger: header >> 24 & 1 != 0 };
                return (state, Ok(end));
            }
        }
        // State and clock travel by value, so that they can stay in registers above.
        let (state, end, after) = self.read_any(*clock, state, take);
        *clock = after;
        (state, end)
    }

    /// As [`Trigger::read`], word by word, whatever they are.
    #[inline(never)]
    fn read_any<S>(
        &self,
        mut clock: TriggerClock,
        mut state: S,
        mut take: impl FnMut(&mut S, DataWord, Context),
    ) -> (S, Result<TriggerEnd, TriggerFault>, TriggerClock) {
        let mut context = Context::default();
        let mut external_trigger = false;
        let mut time = None;
        let mut rest = self.words;
        while let [word, after @ ..] = rest {
            let word = u32::from_le_bytes(*word);
            // Nearly all words: readouts and fill words alike.
            if word >> 29 == 0 {
                take(&mut state, DataWord(word), context);
            } else {
                match Word::decode(word) {
                    Word::EndOfEvent(low) => time = Some(clock.time(low)),
                    Word::Header { module, words, external_trigger: external } => {
                        if usize::from(words) > rest.len() {
                            return (state, Err(TriggerFault::WordsMissing), clock);
                        }
                        context.module = module;
                        external_trigger |= external;
                    }
                    Word::HighTime(high) => clock.set_high(high),
                    Word::TimeDifference { difference, .. } => context.time_difference = difference,
                    Word::Readout { .. } | Word::Fill | Word::Unknown(_) => {
                        return (state, Err(TriggerFault::UnknownWord((word >> 28) as u8)), clock);
                    }
                }
            }
            rest = after;
        }
        let end = time.map(|time| TriggerEnd { time, external_trigger }).ok_or(TriggerFault::NoTime);
        (state, end, clock)
    }

    /// The words one by one, whatever they are.
    pub fn words(&self) -> impl ExactSizeIterator<Item = Word> + '_ {
        self.words.iter().map(|&word| Word::decode(u32::from_le_bytes(word)))
    }
}
