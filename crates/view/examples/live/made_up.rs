//! Numbers that look random, what is drawn with them, and counters to go with it.

evforge_core::counters! {
    /// Counters of the made-up detector.
    pub(crate) struct MadeUpCounters: "made_up" {
        packets_received: Enters(Packets), Packets, "Packets handed to the pipeline.";
        packets_formed_from: Leaves(Packets), Packets, "Packets whose content was used.";
        packets_too_short: Discarded(Packets), Packets, "Packets too short for their header.";
        readouts: Enters(Readouts), Readouts, "Readouts in the packets used.";
        below_threshold: Discarded(Readouts), Readouts, "Readouts with too small an amplitude.";
        unmapped_channel: Discarded(Readouts), Readouts, "Readouts of channels that no strip is wired to.";
        hits: Joins(Readouts, Hits), Hits, "Readouts placed on the detector.";
        only_x: Discarded(Hits), Hits, "Hits of clusters on x without a partner on y.";
        hits_in_events: Leaves(Hits), Hits, "Hits of the events formed.";
        held: Held(Hits), Hits, "Hits that wait at this moment.";
        events: HandedOut, Events, "Events formed.";
    }
}

/// Numbers that look random (xorshift).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (((self.roll() >> 32) * limit as u64) >> 32) as usize
    }

    pub(crate) fn share(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Brightness at a place of the unit square, y upwards: an F with strokes of different brightness, a spot at
/// the lower right, a thin background.
pub(crate) fn brightness(x: f64, y: f64) -> f64 {
    let inside = |x0: f64, x1: f64, y0: f64, y1: f64| (x0..x1).contains(&x) && (y0..y1).contains(&y);
    let mut value = 0.02;
    if inside(0.12, 0.22, 0.42, 0.92) {
        value += 1.0;
    }
    if inside(0.22, 0.62, 0.82, 0.92) {
        value += 0.8;
    }
    if inside(0.22, 0.45, 0.62, 0.7) {
        value += 0.6;
    }
    let (dx, dy) = ((x - 0.78) / 0.07, (y - 0.22) / 0.05);
    value + 1.6 * (-dx * dx - dy * dy).exp()
}

/// Draws indices in proportion to weights: each slot of the table holds two indices and the share of the
/// first (the alias method).
pub(crate) struct Lottery(Vec<(f64, u32, u32)>);

impl Lottery {
    pub(crate) fn new(weights: &[f64]) -> Self {
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        let mut shares: Vec<f64> = weights.iter().map(|weight| weight / mean).collect();
        let mut slots: Vec<_> = (0..weights.len() as u32).map(|index| (1.0, index, index)).collect();
        let (mut poor, mut rich): (Vec<usize>, Vec<usize>) =
            (0..shares.len()).partition(|&index| shares[index] < 1.0);
        // What a poor index leaves of its slot is filled by a rich one, which may be poor thereafter.
        while let (Some(low), Some(high)) = (poor.pop(), rich.pop()) {
            slots[low] = (shares[low], low as u32, high as u32);
            shares[high] -= 1.0 - shares[low];
            if shares[high] < 1.0 { poor.push(high) } else { rich.push(high) }
        }
        Self(slots)
    }

    pub(crate) fn draw(&self, dice: &mut Dice) -> u32 {
        let (share, first, second) = self.0[dice.below(self.0.len())];
        if dice.share() < share { first } else { second }
    }
}

/// Counters that a detector might have for so many events; the laws hold.
pub(crate) fn account(counters: &mut MadeUpCounters, events: u64, dice: &mut Dice) {
    let (lonely, weak, unmapped) = (events / 50, events / 20, events / 400);
    counters.events += events;
    counters.hits_in_events += 5 * events;
    counters.only_x += lonely;
    let held = dice.roll() % 200;
    counters.hits = counters.hits_in_events + counters.only_x + held;
    counters.held = held;
    counters.below_threshold += weak;
    counters.unmapped_channel += unmapped;
    counters.readouts = counters.hits + counters.below_threshold + counters.unmapped_channel;
}
