//! Which value how many neutrons do not exceed.

/// Values in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    values: Vec<u64>,
    /// How many of them are two neutrons by chance: their values may be any.
    by_chance: f64,
}

impl Distribution {
    /// Of these values.
    pub fn new(values: impl IntoIterator<Item = u64>) -> Self {
        let mut values: Vec<u64> = values.into_iter().collect();
        values.sort_unstable();
        Self { values, by_chance: 0.0 }
    }

    /// The same values, of which so many are of two neutrons by chance: those are taken for the largest.
    #[must_use]
    pub fn with_chance(self, by_chance: f64) -> Self {
        Self { by_chance, ..self }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The smallest value that at most this share of the values exceeds; 0 without values.
    pub fn quantile(&self, beyond: f64) -> u64 {
        let own = self.values.len() as f64 - self.by_chance;
        let allowed = (own * beyond + self.by_chance).max(0.0) as usize;
        let index = self.values.len().checked_sub(1 + allowed);
        index.and_then(|index| self.values.get(index)).copied().unwrap_or(0)
    }

    /// How many exceed a value.
    pub fn beyond(&self, value: u64) -> usize {
        self.values.len() - self.values.partition_point(|other| *other <= value)
    }

    /// As [`Distribution::quantile`], without what comes from two neutrons by chance: all values up to `longest` are then
    /// equally likely, and from half of that on there is nothing else.
    pub fn quantile_without_chance(&self, beyond: f64, longest: u64) -> u64 {
        let by_chance = (2 * self.beyond(longest / 2)) as f64;
        let number = (self.values.len() as f64 - by_chance).max(0.0);
        let is_enough = |value: u64| {
            let share = 1.0 - value as f64 / longest.max(1) as f64;
            self.beyond(value) as f64 - by_chance * share.max(0.0) <= beyond * number
        };
        let candidates = self.values.chunk_by(|one, other| one == other).filter_map(|run| run.first());
        candidates.copied().find(|value| is_enough(*value)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values() {
        let of = Distribution::new((1..=1000).rev());
        assert_eq!([0.5, 0.01, 0.001, 0.0].map(|beyond| of.quantile(beyond)), [500, 990, 999, 1000]);
        assert_eq!((of.beyond(990), of.beyond(0), of.len()), (10, 1000, 1000));
        assert_eq!(of.with_chance(20.0).quantile(0.001), 980);
        assert_eq!(Distribution::default().quantile(0.5), 0);
        assert!(Distribution::default().is_empty());
        assert_eq!(Distribution::default().quantile_without_chance(0.01, 100), 0);
    }

    /// A thousand gaps of up to 50, and a hundred pairs by chance at all gaps up to 2000: chance alone moves the quantile.
    #[test]
    fn what_comes_by_chance_is_taken_off() {
        let own = (0..10_000).map(|number| number % 50);
        let by_chance = (0..1000).map(|number| 2 * number);
        let of = Distribution::new(own.chain(by_chance));
        assert!(of.quantile(0.01) > 1000);
        let found = of.quantile_without_chance(0.01, 2000);
        assert!((45..=60).contains(&found), "{found}");
    }
}
