//! What was added up of images.

use evforge_core::settings::SettingsError;

/// What was added up: for each value of an image, and for each pulse. Masked pixels do not count.
#[derive(Clone, Debug, PartialEq)]
pub struct IntegratedImages {
    images: u64,
    sums: Vec<f64>,
    counts: Vec<u64>,
    largest: Vec<f32>,
    pulses: Vec<PulseIntensity>,
    beyond: u64,
}

/// The images of one pulse, over all trains.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PulseIntensity {
    /// Images.
    pub images: u64,
    /// Sum of all their values.
    pub sum: f64,
}

impl IntegratedImages {
    /// Nothing, of images of this many values and this many pulses.
    pub(super) fn new(values: usize, pulses: usize) -> Self {
        Self {
            images: 0,
            sums: vec![0.0; values],
            counts: vec![0; values],
            largest: vec![f32::NEG_INFINITY; values],
            pulses: vec![PulseIntensity::default(); pulses],
            beyond: 0,
        }
    }

    /// Images.
    pub const fn images(&self) -> u64 {
        self.images
    }

    /// The sum of each value.
    pub fn sums(&self) -> &[f64] {
        &self.sums
    }

    /// In how many images each value was a number.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The largest of each value; minus infinity where none was a number.
    pub fn largest(&self) -> &[f32] {
        &self.largest
    }

    /// The intensity of each pulse, by its number.
    pub fn pulses(&self) -> &[PulseIntensity] {
        &self.pulses
    }

    /// Images of pulses with a number beyond [`IntegratedImages::pulses`]: they are in everything else.
    pub const fn beyond_pulses(&self) -> u64 {
        self.beyond
    }

    /// Adds what another one has, of the same numbers of values and pulses: each thread may have one of its own.
    ///
    /// # Errors
    /// If it has other numbers of them.
    pub fn merge(&mut self, other: &Self) -> Result<(), SettingsError> {
        let sizes = |images: &Self| (images.sums.len(), images.pulses.len());
        if sizes(self) != sizes(other) {
            let ((values, pulses), (others, of)) = (sizes(self), sizes(other));
            let problem = format!("{others} values and {of} pulses, expected {values} and {pulses}");
            return SettingsError::refuse("integrated images", problem);
        }
        self.images += other.images;
        self.beyond += other.beyond;
        self.sums.iter_mut().zip(&other.sums).for_each(|(own, other)| *own += other);
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, other)| *own += other);
        self.largest.iter_mut().zip(&other.largest).for_each(|(own, other)| *own = own.max(*other));
        for (own, other) in self.pulses.iter_mut().zip(&other.pulses) {
            own.images += other.images;
            own.sum += other.sum;
        }
        Ok(())
    }

    /// Adds an image.
    pub(super) fn add(&mut self, pulse: u64, values: &[f32]) {
        self.images += 1;
        let places = self.sums.iter_mut().zip(&mut self.counts).zip(&mut self.largest);
        for (((sum, count), largest), value) in places.zip(values) {
            let is_number = !value.is_nan();
            *sum += if is_number { f64::from(*value) } else { 0.0 };
            *count += u64::from(is_number);
            // The larger one, and what was there if the new one is not a number.
            *largest = largest.max(*value);
        }
        let Some(of_pulse) = usize::try_from(pulse).ok().and_then(|pulse| self.pulses.get_mut(pulse)) else {
            self.beyond += 1;
            return;
        };
        of_pulse.images += 1;
        of_pulse.sum += total(values);
    }
}

/// The sum of all that are numbers, in eight lanes: one addition need not wait for the one before.
fn total(values: &[f32]) -> f64 {
    let number = |value: f32| if value.is_nan() { 0.0 } else { f64::from(value) };
    let (chunks, rest) = values.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += number(*value);
        }
    }
    lanes.iter().sum::<f64>() + rest.iter().map(|value| number(*value)).sum::<f64>()
}
