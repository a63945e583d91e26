//! What is proposed for each group, and what stands out.

use super::fit::{ends, polynomial};
use super::peaks::{Peak, find};
use super::spectra::Spectra;
use evforge_detect::helium3::{
    CalibratedTube, CalibrationPart, Charges, Group, GroupCalibration, Groups, Helium3Settings,
};
use std::fmt::Write;

/// Half the window of a peak, as a share of the distance of neighbouring slits.
const REACH: f64 = 0.4;
/// The least gap that intervals of a group must have, with room for what is cut from numbers in a file.
const GAP: f64 = 0.0001;
/// Squared deviations from a calibration, in units of squared errors, from which on another one can be the right one.
const CLEARLY_OFF: f64 = 25.0;

/// A tube, measured.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredTube {
    /// The peak of each slit; none where there is none.
    pub peaks: Vec<Option<Peak>>,
    /// Its interval: where its ends are seen, or across a bundle of straws where it begins and ends.
    pub interval: [f64; 2],
    /// Standard errors of both.
    pub errors: [f64; 2],
    /// Its correction.
    pub polynomial: [f64; 4],
    /// The largest distance of a slit from where the calibration puts it, in pixels: of that which is proposed, and of that which is
    /// configured.
    pub residuals: [f64; 2],
}

/// A group, measured.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredGroup {
    /// Which it is.
    pub group: Group,
    /// Its tubes; none if a slit is missing in one of them.
    pub tubes: Option<Vec<MeasuredTube>>,
    /// Slits found, of all tubes.
    pub slits: usize,
    /// Its charge relative to the mean of all groups, with its standard error.
    pub gain: Option<(f64, f64)>,
    /// Readouts with a place.
    pub readouts: u64,
}

/// What a capture proposes.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// Every group of the wiring.
    pub groups: Vec<MeasuredGroup>,
    /// Pairs of places in [`Proposal::groups`] whose calibrations fit when they change places.
    pub swapped: Vec<(usize, usize)>,
    slits: usize,
    /// As it is, and as it would be.
    configured: Vec<GroupCalibration>,
}

impl Proposal {
    /// Measures all groups.
    pub(super) fn new(
        settings: &Helium3Settings,
        groups: &Groups,
        spectra: &Spectra<'_>,
        slits: &[f64],
    ) -> Self {
        let means: Vec<f64> =
            (0..groups.all().len()).filter_map(|group| Some(spectra.sums(group).mean()?.0)).collect();
        let mean = means.iter().sum::<f64>() / means.len().max(1) as f64;
        let measure = |(place, group): (usize, &Group)| {
            let configured: Vec<CalibratedTube> = settings.calibrated_tubes(group).collect();
            let peaks: Vec<Vec<Option<Peak>>> = configured
                .iter()
                .enumerate()
                .map(|(number, tube)| peaks_of(settings, tube, spectra.along(place, number), slits))
                .collect();
            let found = peaks.iter().flatten().flatten().count();
            let tubes = (found == slits.len() * configured.len())
                .then(|| tubes(settings, &configured, peaks, spectra.across(place), slits));
            let gain = spectra.sums(place).mean().map(|(own, error)| (own / mean, error / mean));
            MeasuredGroup { group: *group, tubes, slits: found, gain, readouts: spectra.sums(place).count }
        };
        let measured: Vec<MeasuredGroup> = groups.all().iter().enumerate().map(measure).collect();
        let swapped = swapped(settings, &measured, slits);
        let configured = groups.all().iter().map(|group| as_configured(settings, group)).collect();
        Self { groups: measured, swapped, slits: slits.len() * settings.tubes.len(), configured }
    }

    /// The calibration of all groups, in the order of their places in it: measured, or as configured where slits are missing.
    pub fn calibration(&self) -> Vec<GroupCalibration> {
        let mut calibration: Vec<GroupCalibration> = self
            .groups
            .iter()
            .zip(&self.configured)
            .map(|(measured, configured)| match &measured.tubes {
                Some(tubes) => GroupCalibration {
                    group: configured.group,
                    intervals: tubes.iter().map(|tube| tube.interval).collect(),
                    polynomials: tubes.iter().map(|tube| tube.polynomial).collect(),
                },
                None => configured.clone(),
            })
            .collect();
        calibration.sort_by_key(|entry| entry.group);
        calibration.dedup_by_key(|entry| entry.group);
        calibration
    }

    /// The calibration as entries of the configuration.
    pub fn toml(&self, section: &str) -> String {
        let mut text = String::new();
        for GroupCalibration { group, intervals, polynomials } in self.calibration() {
            // Writing into a text cannot fail.
            let _ = writeln!(
                text,
                "[[{section}.calibration]]\ngroup = {group}\nintervals = {intervals:?}\npolynomials = {polynomials:?}\n"
            );
        }
        text
    }

    /// What was found, for people.
    pub fn text(&self) -> String {
        let mut text = String::from(
            "ring FEN group  readouts  slits   gain          largest residual in pixels: configured, proposed\n",
        );
        for measured in &self.groups {
            let Group { ring, fen, group, .. } = measured.group;
            let gain = measured
                .gain
                .map_or_else(|| "-".to_owned(), |(gain, error)| format!("{gain:.3} +- {error:.3}"));
            let largest = |which: usize| {
                let residuals = measured.tubes.iter().flatten().map(|tube| tube.residuals[which]);
                residuals.fold(None, |largest: Option<f64>, next| {
                    Some(largest.map_or(next, |largest| largest.max(next)))
                })
            };
            let residuals = match (largest(1), largest(0)) {
                (Some(configured), Some(proposed)) => format!("{configured:.2}, {proposed:.2}"),
                _ => format!("{} slits are missing: as configured", self.slits - measured.slits),
            };
            let _ = writeln!(
                text,
                "{ring:4} {fen:3} {group:5} {:9} {:6}   {gain:15} {residuals}",
                measured.readouts, measured.slits
            );
        }
        for &(one, other) in &self.swapped {
            let name = |place: usize| {
                let Group { ring, fen, group, .. } = self.groups[place].group;
                format!("group {group} of ring {ring}, FEN {fen}")
            };
            let _ = writeln!(
                text,
                "{} and {} have changed places: each fits the calibration of the other. Check their cables",
                name(one),
                name(other)
            );
        }
        text
    }
}

/// Where a share of a tube is seen: raw, as charges divide.
fn seen(settings: &Helium3Settings, tube: &CalibratedTube, share: f64) -> f64 {
    let raw = tube.before_correction(share);
    match settings.charges {
        Charges::Two => tube.interval[0] + raw * (tube.interval[1] - tube.interval[0]),
        Charges::Four => raw,
    }
}

/// The peaks of a tube, by the slits.
fn peaks_of(
    settings: &Helium3Settings,
    tube: &CalibratedTube,
    bins: &[u32],
    slits: &[f64],
) -> Vec<Option<Peak>> {
    let expected: Vec<f64> = slits.iter().map(|&slit| seen(settings, tube, slit)).collect();
    let nearest = expected.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(f64::INFINITY, f64::min);
    expected.iter().map(|&place| find(bins, place, REACH * nearest)).collect()
}

/// The tubes of a group all of whose slits are seen.
fn tubes(
    settings: &Helium3Settings,
    configured: &[CalibratedTube],
    peaks: Vec<Vec<Option<Peak>>>,
    across: Option<&[u32]>,
    slits: &[f64],
) -> Vec<MeasuredTube> {
    let straws = across.map(|bins| straws(configured, bins));
    let has_polynomials = settings.calibrated_by.contains(&CalibrationPart::Polynomials);
    let pixels = f64::from(settings.pixels) - 1.0;
    let measure = |(number, (tube, peaks)): (usize, (&CalibratedTube, Vec<Option<Peak>>))| {
        let places: Vec<(f64, f64)> = peaks.iter().flatten().map(|peak| (peak.place, peak.error)).collect();
        let line = ends(slits, &places);
        let interval = match (&straws, line) {
            (Some(straws), _) => straws[number],
            (None, Some(line)) => line.interval,
            (None, None) => tube.interval,
        };
        // Of two charges, the polynomial is about what the ends leave over.
        let along = |place: f64| match settings.charges {
            Charges::Two => (place - interval[0]) / (interval[1] - interval[0]),
            Charges::Four => place,
        };
        let shares: Vec<f64> = places.iter().map(|(place, _)| along(*place)).collect();
        let off: Vec<f64> = shares.iter().zip(slits).map(|(share, slit)| share - slit).collect();
        let weights: Vec<f64> = places.iter().map(|(_, error)| 1.0 / (error * error)).collect();
        let found = if has_polynomials { polynomial(&shares, &off, &weights) } else { [0.0; 4] };
        let measured = CalibratedTube {
            interval: if straws.is_some() { tube.interval } else { interval },
            polynomial: found,
            ..*tube
        };
        let largest = |tube: &CalibratedTube| {
            let of_slit = |(slit, (place, _)): (&f64, &(f64, f64))| {
                let slope = match settings.charges {
                    Charges::Two => (tube.interval[1] - tube.interval[0]).abs(),
                    Charges::Four => 1.0,
                };
                (place - seen(settings, tube, *slit)).abs() / slope * pixels
            };
            slits.iter().zip(&places).map(of_slit).fold(0.0, f64::max)
        };
        MeasuredTube {
            interval: interval.map(|end| end.clamp(0.0, 1.0)),
            errors: line.map_or([0.0; 2], |line| line.errors),
            polynomial: found,
            residuals: [largest(&measured), largest(tube)],
            peaks,
        }
    };
    configured.iter().zip(peaks).enumerate().map(measure).collect()
}

/// The intervals of straws: halfway between the middles of neighbours.
fn straws(configured: &[CalibratedTube], bins: &[u32]) -> Vec<[f64; 2]> {
    let middle = |tube: &CalibratedTube| {
        let [from, to] = tube.interval;
        let reach = (to - from).abs() / 2.0;
        let expected = f64::midpoint(from, to);
        find(bins, expected, reach).map_or(expected, |peak| peak.place)
    };
    let middles: Vec<f64> = configured.iter().map(middle).collect();
    let between = |one: usize, other: usize| f64::midpoint(middles[one], middles[other]);
    (0..middles.len())
        .map(|straw| {
            let low = if straw == 0 { 0.0 } else { between(straw - 1, straw) + GAP / 2.0 };
            let high = if straw + 1 == middles.len() { 1.0 } else { between(straw, straw + 1) - GAP / 2.0 };
            [low, high]
        })
        .collect()
}

/// Squared deviations of the peaks of a group from a calibration, in units of their squared errors, per slit.
fn deviation(
    settings: &Helium3Settings,
    measured: &MeasuredGroup,
    calibration: &Group,
    slits: &[f64],
) -> Option<f64> {
    let tubes = measured.tubes.as_ref()?;
    let (mut sum, mut count) = (0.0, 0.0);
    for (tube, configured) in tubes.iter().zip(settings.calibrated_tubes(calibration)) {
        for (slit, peak) in slits.iter().zip(tube.peaks.iter().flatten()) {
            sum += ((peak.place - seen(settings, &configured, *slit)) / peak.error).powi(2);
            count += 1.0;
        }
    }
    Some(sum / count)
}

/// Pairs of groups each of which fits the calibration of the other, and not its own.
fn swapped(settings: &Helium3Settings, measured: &[MeasuredGroup], slits: &[f64]) -> Vec<(usize, usize)> {
    let of = |one: usize, other: usize| deviation(settings, &measured[one], &measured[other].group, slits);
    let off: Vec<(usize, f64)> = (0..measured.len())
        .filter_map(|place| Some((place, of(place, place)?)))
        .filter(|(_, deviation)| *deviation > CLEARLY_OFF)
        .collect();
    let fits = |(one, own): (usize, f64), (other, _): (usize, f64)| {
        of(one, other).is_some_and(|deviation| deviation * CLEARLY_OFF < own)
    };
    let mut pairs = Vec::new();
    for (number, &one) in off.iter().enumerate() {
        for &other in &off[number + 1..] {
            if fits(one, other) && fits(other, one) {
                pairs.push((one.0, other.0));
            }
        }
    }
    pairs
}

/// The calibration that a group has now.
fn as_configured(settings: &Helium3Settings, group: &Group) -> GroupCalibration {
    let tubes: Vec<CalibratedTube> = settings.calibrated_tubes(group).collect();
    GroupCalibration {
        group: group.calibration,
        intervals: tubes.iter().map(|tube| tube.interval).collect(),
        polynomials: tubes.iter().map(|tube| tube.polynomial).collect(),
    }
}
