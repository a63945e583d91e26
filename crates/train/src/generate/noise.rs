//! Images as a detector without light has them: a pedestal for each pixel, and noise.

use super::pattern::pieces;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use thiserror::Error;

/// Images that are made before the first train is sent; those of the trains are taken from them in turn.
pub const NOISE_IMAGES: usize = 16;
/// Bytes of all of them at most, unless one has more; of large images fewer are made.
const MOST_BYTES: usize = 64 << 20;

/// Pedestals and noise, in units of the converter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseSettings {
    /// Mean of the pedestals.
    pub pedestal: f32,
    /// Pedestals lie evenly within so much of their mean.
    pub spread: f32,
    /// Standard deviation of the gaussian noise.
    pub noise: f32,
    /// Largest value; larger ones are cut off, and those below 0, too.
    pub largest: u16,
    /// Seed of pedestals and noise.
    pub seed: u64,
}

impl Default for NoiseSettings {
    /// A converter of 12 bits, with pedestals from 900 to 1100 and a noise of 10.
    fn default() -> Self {
        Self { pedestal: 1000.0, spread: 100.0, noise: 10.0, largest: 4095, seed: 1 }
    }
}

/// Pedestals or noise are impossible.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum NoiseError {
    /// No number, or below 0.
    #[error("{name} of {found} is not possible: expected a number of 0 or more")]
    Number {
        /// Which one.
        name: &'static str,
        /// What it is.
        found: f32,
    },
    /// Half a value at the end.
    #[error(
        "images of {0} bytes are not possible with noise: expected an even number, two bytes for each value"
    )]
    OddImages(usize),
}

/// Some images with pedestals and noise, and their pedestals.
#[derive(Clone, Debug)]
pub struct NoiseImages {
    image_bytes: usize,
    pedestals: Vec<f32>,
    /// The images, one behind the other.
    images: Vec<u8>,
}

impl NoiseImages {
    /// Makes the images.
    ///
    /// # Errors
    /// If a setting is no number of 0 or more, or an image has an odd number of bytes.
    pub fn new(settings: &NoiseSettings, image_bytes: usize) -> Result<Self, NoiseError> {
        let NoiseSettings { pedestal, spread, noise, largest, seed } = *settings;
        for (name, found) in [("a pedestal", pedestal), ("a spread of pedestals", spread), ("a noise", noise)]
        {
            if !(found.is_finite() && found >= 0.0) {
                return Err(NoiseError::Number { name, found });
            }
        }
        if !image_bytes.is_multiple_of(2) {
            return Err(NoiseError::OddImages(image_bytes));
        }
        let mut random = SmallRng::seed_from_u64(seed);
        let values = image_bytes / 2;
        let pedestals: Vec<f32> =
            (0..values).map(|_| pedestal + spread * random.random_range(-1.0..=1.0_f32)).collect();
        let count = (MOST_BYTES / image_bytes.max(1)).clamp(1, NOISE_IMAGES);
        let mut images = Vec::with_capacity(count * image_bytes);
        for _ in 0..count {
            for pedestal in &pedestals {
                let deviation: f32 = StandardNormal.sample(&mut random);
                let value = (pedestal + noise * deviation).round().clamp(0.0, f32::from(largest)) as u16;
                images.extend(value.to_le_bytes());
            }
        }
        Ok(Self { image_bytes, pedestals, images })
    }

    /// Pedestals of the values of an image, in their order.
    pub fn pedestals(&self) -> &[f32] {
        &self.pedestals
    }

    /// Images made.
    pub fn count(&self) -> usize {
        self.images.len() / self.image_bytes.max(1)
    }

    /// Which of them is this image of the train with this index. The step from train to train is another one than from image to
    /// image, so that an image differs from the same one of the train before.
    #[inline]
    pub fn which(&self, index: u64, image: u64) -> usize {
        let count = self.count().max(1) as u64;
        ((index.wrapping_mul(7).wrapping_add(image)) % count) as usize
    }

    /// Writes a piece of the images of the train with this index, which lie one behind the other.
    #[inline]
    pub fn fill(&self, index: u64, offset: usize, out: &mut [u8]) {
        for (image, place, piece) in pieces(self.image_bytes, offset, out.len()) {
            let from = self.which(index, image) * self.image_bytes + place;
            let length = piece.len();
            out[piece].copy_from_slice(&self.images[from..from + length]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(bytes: &[u8]) -> Vec<f64> {
        bytes.as_chunks().0.iter().map(|&value| f64::from(u16::from_le_bytes(value))).collect()
    }

    #[test]
    fn noise_is_gaussian_around_the_pedestals() {
        let settings = NoiseSettings::default();
        let images = NoiseImages::new(&settings, 131_072).unwrap();
        assert_eq!((images.count(), images.pedestals().len()), (16, 65_536));
        let mut image = vec![0; 131_072];
        let (mut sum, mut squares, mut beyond, mut count) = (0.0, 0.0, 0.0, 0.0);
        for train in 0..4 {
            images.fill(train, 0, &mut image);
            for (value, &pedestal) in values(&image).into_iter().zip(images.pedestals()) {
                let deviation = value - f64::from(pedestal);
                (sum, squares, count) = (sum + deviation, squares + deviation * deviation, count + 1.0);
                beyond += f64::from(u8::from(deviation.abs() > 20.0));
            }
        }
        let (mean, deviation) = (sum / count, (squares / count).sqrt());
        assert!(mean.abs() < 0.1 && (deviation - 10.0).abs() < 0.1, "{mean} ± {deviation}");
        // A gaussian has 4.55 % beyond two standard deviations.
        assert!((beyond / count - 0.0455_f64).abs() < 0.003, "{}", beyond / count);
        let (lowest, highest) = images
            .pedestals()
            .iter()
            .fold((f32::MAX, 0.0_f32), |(low, high), &pedestal| (low.min(pedestal), high.max(pedestal)));
        assert!(
            (900.0..901.0).contains(&lowest) && (1099.0..=1100.0).contains(&highest),
            "{lowest}, {highest}"
        );
    }

    #[test]
    fn the_seed_makes_the_images_and_values_stay_in_range() {
        let settings =
            NoiseSettings { pedestal: 100.0, noise: 200.0, largest: 255, ..NoiseSettings::default() };
        let fill = |settings: &NoiseSettings, index| {
            let mut image = vec![0; 3 * 2000];
            NoiseImages::new(settings, 2000).unwrap().fill(index, 0, &mut image);
            image
        };
        let image = fill(&settings, 5);
        assert_eq!(image, fill(&settings, 5));
        assert_ne!(image, fill(&NoiseSettings { seed: 2, ..settings }, 5));
        assert_ne!(image[..2000], fill(&settings, 6)[..2000], "the next train has other images");
        assert_ne!(image[..2000], image[2000..4000], "the next image is another one");
        let found = values(&image);
        assert!(found.contains(&0.0) && found.contains(&255.0) && found.iter().all(|&value| value <= 255.0));
    }

    #[test]
    fn images_of_any_size_are_made_of_few_and_refused_with_a_reason() {
        let settings = NoiseSettings::default();
        let megapixels = NoiseImages::new(&settings, 34 << 20).unwrap();
        assert_eq!(megapixels.count(), 1);
        assert_eq!(NoiseImages::new(&settings, 3).unwrap_err(), NoiseError::OddImages(3));
        for wrong in [-1.0, f32::NAN, f32::INFINITY] {
            let settings = NoiseSettings { noise: wrong, ..settings };
            let error = NoiseImages::new(&settings, 2).unwrap_err().to_string();
            assert!(error.starts_with("a noise of"), "{error}");
        }
    }
}
