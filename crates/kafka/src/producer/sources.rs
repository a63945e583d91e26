//! Which source an event is sent under.

use evforge_core::event::PixelId;
use evforge_core::geometry::LogicalGeometry;
use std::ops::RangeInclusive;

/// The sources of an output, each with the pixels whose events it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sources {
    names: Vec<String>,
    /// First and last pixel of each, in ascending order; empty if all events are of one source.
    pixels: Vec<(PixelId, PixelId)>,
}

impl Sources {
    /// One source for everything, events without a pixel among them.
    pub(crate) fn one(name: &str) -> Self {
        Self { names: vec![name.to_owned()], pixels: Vec::new() }
    }

    /// A source for each panel, whose number (from 0) is put after the name.
    pub(crate) fn panels(name: &str, geometry: LogicalGeometry) -> Self {
        let per_panel = geometry.pixel_count() / geometry.panels();
        let names = (0..geometry.panels()).map(|panel| format!("{name}_panel{panel}")).collect();
        let pixels = (0..geometry.panels()).map(|panel| (panel * per_panel + 1, (panel + 1) * per_panel));
        Self { names, pixels: pixels.collect() }
    }

    /// Named ranges of pixels.
    ///
    /// # Errors
    /// If one is empty, two overlap or two have the same name.
    pub(crate) fn ranges(banks: &[(String, RangeInclusive<PixelId>)]) -> Result<Self, String> {
        let mut banks = banks.to_vec();
        banks.sort_by_key(|(_, pixels)| *pixels.start());
        for (name, pixels) in &banks {
            if pixels.is_empty() || *pixels.start() == 0 {
                let (from, to) = (pixels.start(), pixels.end());
                return Err(format!(
                    "`{name}` has the pixels {from} to {to}: expected two ids from 1 on, the smaller first"
                ));
            }
            if name.is_empty() || banks.iter().filter(|(other, _)| other == name).count() > 1 {
                return Err(format!("the source name `{name}` is empty, or used twice"));
            }
        }
        for pair in banks.windows(2) {
            if let [(name, pixels), (next, others)] = pair
                && others.start() <= pixels.end()
            {
                return Err(format!(
                    "`{name}` and `{next}` share pixels: {} to {}",
                    others.start(),
                    pixels.end()
                ));
            }
        }
        let pixels = banks.iter().map(|(_, pixels)| (*pixels.start(), *pixels.end())).collect();
        Ok(Self { names: banks.into_iter().map(|(name, _)| name).collect(), pixels })
    }

    /// Their names.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// True if all events are of one source, whatever their pixel.
    pub(crate) fn is_one(&self) -> bool {
        self.pixels.is_empty()
    }

    /// The source of a pixel; none if it belongs to no source.
    #[inline]
    pub(crate) fn of(&self, pixel: PixelId) -> Option<usize> {
        if self.pixels.is_empty() {
            return Some(0);
        }
        let index = self.pixels.partition_point(|&(first, _)| first <= pixel).checked_sub(1)?;
        (pixel <= self.pixels[index].1).then_some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_and_ranges_own_their_pixels_and_no_others() {
        let geometry = LogicalGeometry::new(10, 5, 1, 3).unwrap();
        let panels = Sources::panels("nmx", geometry);
        assert_eq!(panels.names(), ["nmx_panel0", "nmx_panel1", "nmx_panel2"]);
        let seen: Vec<_> = [0, 1, 50, 51, 100, 150, 151].iter().map(|&pixel| panels.of(pixel)).collect();
        assert_eq!(seen, [None, Some(0), Some(0), Some(1), Some(1), Some(2), None]);
        let banks = [("b".to_owned(), 20..=30), ("a".to_owned(), 1..=10)];
        let banks = Sources::ranges(&banks).unwrap();
        let seen: Vec<_> = [0, 1, 10, 11, 20, 30, 31].iter().map(|&pixel| banks.of(pixel)).collect();
        assert_eq!(seen, [None, Some(0), Some(0), None, Some(1), Some(1), None]);
        assert_eq!(banks.names(), ["a", "b"]);
        assert_eq!(Sources::one("x").of(0), Some(0));
    }

    #[test]
    fn ranges_that_cannot_be_meant_are_refused() {
        let bank = |name: &str, from, to| (name.to_owned(), from..=to);
        for (banks, words) in [
            (vec![bank("a", 5, 4)], "the smaller first"),
            (vec![bank("a", 0, 4)], "from 1 on"),
            (vec![bank("a", 1, 4), bank("a", 5, 6)], "used twice"),
            (vec![bank("a", 1, 4), bank("b", 4, 6)], "share pixels: 4 to 4"),
        ] {
            assert!(Sources::ranges(&banks).is_err_and(|problem| problem.contains(words)), "{banks:?}");
        }
    }
}
