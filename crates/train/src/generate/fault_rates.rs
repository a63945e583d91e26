//! How likely faults are, as people write it.

use std::fmt;
use std::str::FromStr;

/// How likely faults are: of each packet, or of each train. From 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FaultRates {
    /// A packet is lost.
    pub lost: f64,
    /// A packet is repeated.
    pub repeated: f64,
    /// A packet is displaced.
    pub displaced: f64,
    /// By how many packets (at least 1).
    pub displaced_by: u32,
    /// A datagram is truncated to 1 to 7 bytes, which is no room for its trailer.
    pub truncated: f64,
    /// The data of a packet are cut to 1 byte or more.
    pub shortened: f64,
    /// The first packet of a train is missing.
    pub missing_first: f64,
    /// The last packet of a train is missing.
    pub missing_last: f64,
    /// A train begins with a wrong magic number.
    pub wrong_begin: f64,
    /// A train ends with a wrong magic number.
    pub wrong_end: f64,
    /// A train has a wrong number: its own with bit 63 inverted.
    pub wrong_number: f64,
    /// A train is sent behind the next one.
    pub late: f64,
    /// A train takes turns with the next one.
    pub interleaved: f64,
}

impl Default for FaultRates {
    /// None.
    fn default() -> Self {
        Self {
            lost: 0.0,
            repeated: 0.0,
            displaced: 0.0,
            displaced_by: 3,
            truncated: 0.0,
            shortened: 0.0,
            missing_first: 0.0,
            missing_last: 0.0,
            wrong_begin: 0.0,
            wrong_end: 0.0,
            wrong_number: 0.0,
            late: 0.0,
            interleaved: 0.0,
        }
    }
}

impl FaultRates {
    /// All probabilities with their names.
    fn named(&mut self) -> [(&'static str, &mut f64); 12] {
        [
            ("lost", &mut self.lost),
            ("repeated", &mut self.repeated),
            ("displaced", &mut self.displaced),
            ("truncated", &mut self.truncated),
            ("shortened", &mut self.shortened),
            ("missing-first", &mut self.missing_first),
            ("missing-last", &mut self.missing_last),
            ("wrong-begin", &mut self.wrong_begin),
            ("wrong-end", &mut self.wrong_end),
            ("wrong-number", &mut self.wrong_number),
            ("late", &mut self.late),
            ("interleaved", &mut self.interleaved),
        ]
    }
}

/// A text has no probabilities of faults.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` has no probabilities of faults: expected names and numbers from 0 to 1, as in lost=1e-5,late=0.01; the names are lost, \
     repeated, displaced, truncated, shortened (of each packet), missing-first, missing-last, wrong-begin, wrong-end, wrong-number, \
     late, interleaved (of each train), and displaced-by, which is a number of packets"
)]
pub struct FaultRatesError(String);

impl FromStr for FaultRates {
    type Err = FaultRatesError;

    /// Of the probabilities that are not named each is 0. A name that comes twice counts as it comes last.
    fn from_str(text: &str) -> Result<Self, FaultRatesError> {
        let wrong = || FaultRatesError(text.to_owned());
        let mut rates = Self::default();
        for part in text.split(',') {
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let (name, value) = (name.trim(), value.trim());
            if name == "displaced-by" {
                rates.displaced_by = value.parse().ok().filter(|&by| by > 0).ok_or_else(wrong)?;
                continue;
            }
            let value = value.parse().ok().filter(|value| (0.0..=1.0).contains(value)).ok_or_else(wrong)?;
            let place = rates.named().into_iter().find(|(known, _)| *known == name);
            *place.ok_or_else(wrong)?.1 = value;
        }
        Ok(rates)
    }
}

impl fmt::Display for FaultRates {
    /// Only those above 0; nothing if there is none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rates = *self;
        let mut parts: Vec<_> = rates
            .named()
            .into_iter()
            .filter(|(_, rate)| **rate > 0.0)
            .map(|(name, rate)| format!("{name}={rate}"))
            .collect();
        if self.displaced > 0.0 {
            parts.push(format!("displaced-by={}", self.displaced_by));
        }
        f.write_str(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_read_from_text_and_others_are_explained() {
        for text in
            ["lost=0.00001,late=0.01", "displaced=0.5,wrong-number=1,displaced-by=7", "interleaved=0.25"]
        {
            let rates: FaultRates = text.parse().unwrap();
            assert_eq!(rates.to_string(), text);
        }
        let rates: FaultRates = "lost=1e-5, missing-last = 0.5".parse().unwrap();
        assert_eq!(rates, FaultRates { lost: 1e-5, missing_last: 0.5, ..FaultRates::default() });
        assert_eq!(FaultRates::default().to_string(), "");
        for wrong in
            ["", "lost", "lost=x", "lost=1.1", "lost=NaN", "flipped=0.1", "displaced-by=0", "lost=0,"]
        {
            let Err(error) = wrong.parse::<FaultRates>() else {
                assert_eq!(wrong, "{wrong}");
                continue;
            };
            assert!(error.to_string().contains("as in lost=1e-5"), "{wrong}: {error}");
        }
    }

    /// Each name is its own probability.
    #[test]
    fn every_name_is_another_probability() {
        let mut all = Vec::new();
        for (name, _) in FaultRates::default().named() {
            let rates: FaultRates = format!("{name}=0.5").parse().unwrap();
            assert!(!all.contains(&rates), "{name}");
            all.push(rates);
        }
        assert_eq!(all[0].lost + all[4].shortened + all[8].wrong_end + all[11].interleaved, 2.0);
    }
}
