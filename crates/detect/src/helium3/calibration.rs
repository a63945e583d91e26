//! Calibrations of charge division: in which interval a tube is, and by how much positions along it are off.

use super::settings::{CalibrationPart, GroupCalibration, Helium3Settings, MOST_TUBES, ascending};
use super::wiring::Groups;
use crate::settings::SettingsError;
use crate::vmm_files::content::{FileContent, Unused};
use crate::vmm_files::json::{Document, Table, Value};
use evforge_wire::ess::detector_type;
use std::fmt::Write;

/// The least gap between the intervals of a group (ESS's other instruments, section 1.3).
const LEAST_GAP: f64 = 0.00001;
/// Groups that a file may have: all that rings, FENs and group numbers can name.
const MOST_GROUPS: i64 = 12 * 24 * 256;

impl Helium3Settings {
    /// Checks the calibration with the wiring; keys are `calibration[n].key`.
    pub(super) fn check_calibration(&self, wiring: &Groups) -> Result<(), SettingsError> {
        let mut known = vec![false; self.calibration.len()];
        for (index, entry) in self.calibration.iter().enumerate() {
            let refuse = |key: &str, problem: String| {
                SettingsError::refuse(format!("calibration[{index}].{key}"), problem)
            };
            let tubes = self.tubes.len();
            for (key, count) in
                [("intervals", entry.intervals.len()), ("polynomials", entry.polynomials.len())]
            {
                if count != tubes && !self.calibrated_by.is_empty() {
                    return refuse(
                        key,
                        format!("found {count}, expected {tubes}: one for each of the tubes of a group"),
                    );
                }
            }
            if let Err((key, problem)) = check_entry(entry) {
                return refuse(key, problem);
            }
            if self.calibration[..index].iter().any(|other| other.group == entry.group) {
                return refuse("group", format!("group {} is calibrated twice", entry.group));
            }
            known[index] = wiring.all().iter().any(|group| group.calibration == entry.group);
        }
        if self.calibration_file.is_none()
            && let Some(index) = known.iter().position(|known| !known)
        {
            let problem =
                format!("no tube is wired to group {} of the calibration", self.calibration[index].group);
            return SettingsError::refuse(format!("calibration[{index}].group"), problem);
        }
        Ok(())
    }

    /// Takes the calibration from the file of an instrument. The wiring must be there. Gives notes.
    ///
    /// # Errors
    /// What in the file is wrong, where, and what is expected.
    pub fn take_calibration(&mut self, text: &str) -> Result<FileContent<()>, String> {
        let document = Document::parse(text)?;
        let file = document.table()?;
        let table = file.required("Calibration")?.table()?;
        let instrument = table.required("instrument")?;
        let expected = detector_type::name(self.ess.header.detector_type).unwrap_or("the type in [ess]");
        if instrument.text()? != expected {
            return instrument.refuse(&format!("{expected:?}, as the type in [ess] says"));
        }
        let groups = table.required("groups")?.whole(1..=MOST_GROUPS)? as usize;
        let tubes = table.required("groupsize")?.whole(1..=MOST_TUBES as i64)? as usize;
        if tubes != self.tubes.len() && !self.calibrated_by.is_empty() {
            let expected = format!("{}, the number of tubes of a group", self.tubes.len());
            return table.required("groupsize")?.refuse(&expected);
        }
        let parameters = table.required("Parameters")?;
        let entries = parameters.list()?;
        if entries.len() != groups {
            return parameters.refuse(&format!("{groups} entries, as groups says"));
        }
        let mut unused = Unused::default();
        unused.look(&file, "", &["Calibration"]);
        unused.look(&table, "Calibration.", &["instrument", "groups", "groupsize", "Parameters", "version"]);
        let mut calibration = Vec::with_capacity(groups);
        for (number, entry) in entries.iter().enumerate() {
            let entry = entry.table()?;
            unused.look(&entry, "Parameters[].", &["groupindex", "intervals", "polynomials"]);
            calibration.push(group(&entry, number as u32, tubes)?);
        }
        let mut notes: Vec<String> = unused.note().into_iter().collect();
        self.check_groups(&calibration)?;
        notes.extend(self.unused_parts(&calibration));
        if self.calibrated_by.is_empty() {
            calibration.clear();
        }
        self.calibration = calibration;
        Ok(FileContent { content: (), notes })
    }

    /// Refuses a file that lacks a group of the wiring.
    fn check_groups(&self, calibration: &[GroupCalibration]) -> Result<(), String> {
        if self.calibrated_by.is_empty() {
            return Ok(());
        }
        let wiring = self.expand().map_err(|error| error.to_string())?;
        let missing = wiring.all().iter().find(|group| group.calibration as usize >= calibration.len());
        missing.map_or(Ok(()), |group| {
            Err(format!(
                "Calibration.Parameters: found {} groups, expected one for each group of the wiring: group {} (ring {}, FEN {}, group {}) is \
                 missing",
                calibration.len(),
                group.calibration,
                group.ring,
                group.fen,
                group.group
            ))
        })
    }

    /// The note on what of a calibration has no effect.
    fn unused_parts(&self, calibration: &[GroupCalibration]) -> Option<String> {
        let uses = |part| self.calibrated_by.contains(&part);
        let has_polynomials = calibration
            .iter()
            .flat_map(|group| group.polynomials.iter().flatten())
            .any(|&number| number != 0.0);
        let mut unused = Vec::new();
        if !uses(CalibrationPart::Intervals) {
            unused.push("intervals");
        }
        if !uses(CalibrationPart::Polynomials) && has_polynomials {
            unused.push("polynomials");
        }
        (!unused.is_empty()).then(|| format!("without effect: {} (calibrated_by)", unused.join(", ")))
    }
}

/// Checks intervals and polynomials as a file must have them: the key and the problem.
fn check_entry(entry: &GroupCalibration) -> Result<(), (&'static str, String)> {
    let mut intervals: Vec<[f64; 2]> = entry.intervals.iter().map(|&interval| ascending(interval)).collect();
    if let Some([low, high]) = intervals.iter().find(|ends| !ends.iter().all(|end| (0.0..=1.0).contains(end)))
    {
        return Err(("intervals", format!("found [{low}, {high}], expected numbers from 0 to 1")));
    }
    intervals.sort_by(|one, other| one[0].total_cmp(&other[0]));
    if let Some([low, high]) = intervals.iter().find(|[low, high]| low == high) {
        return Err(("intervals", format!("found [{low}, {high}], which is no interval")));
    }
    if let Some(pair) = intervals.windows(2).find(|pair| pair[1][0] - pair[0][1] < LEAST_GAP) {
        let problem = format!("{:?} and {:?} overlap, or are closer than {LEAST_GAP}", pair[0], pair[1]);
        return Err(("intervals", problem));
    }
    if !entry.polynomials.iter().flatten().all(|number| number.is_finite()) {
        return Err(("polynomials", "found a number that is not finite".into()));
    }
    Ok(())
}

/// An entry of `Parameters`.
fn group(entry: &Table<'_>, number: u32, tubes: usize) -> Result<GroupCalibration, String> {
    entry.required("groupindex")?.whole(i64::from(number)..=i64::from(number))?;
    let numbers =
        |value: &Value<'_>| value.list()?.iter().map(Value::number).collect::<Result<Vec<f64>, String>>();
    let lists = |key: &str| {
        let value = entry.required(key)?;
        let list = value.list()?;
        match list.len() == tubes {
            true => Ok(list),
            false => value.refuse(&format!("a list of {tubes}, as groupsize says")),
        }
    };
    let mut made = GroupCalibration { group: number, intervals: Vec::new(), polynomials: Vec::new() };
    for value in lists("intervals")? {
        match numbers(&value)?[..] {
            [from, to] => made.intervals.push([from, to]),
            _ => return value.refuse("[from, to]"),
        }
    }
    for value in lists("polynomials")? {
        match numbers(&value)?[..] {
            [a, b, c, d] => made.polynomials.push([a, b, c, d]),
            _ => return value.refuse("[a, b, c, d]"),
        }
    }
    check_entry(&made).map_err(|(key, problem)| format!("{}.{key}: {problem}", entry.path()))?;
    Ok(made)
}

/// The calibration as the instrument's JSON has it: groups in order from 0, all with the same number of tubes.
pub fn as_json(instrument: &str, date: &str, info: &str, groups: &[GroupCalibration]) -> String {
    let tubes = groups.first().map_or(0, |group| group.intervals.len());
    let list = |numbers: &[f64]| {
        format!("[{}]", numbers.iter().map(|number| format!("{number:?}")).collect::<Vec<_>>().join(", "))
    };
    let lists = |lists: Vec<String>| format!("[{}]", lists.join(", "));
    let mut text = format!(
        "{{\n  \"Calibration\": {{\n    \"version\": 0,\n    \"date\": {date:?},\n    \"info\": {info:?},\n    \"instrument\": \
         {instrument:?},\n    \"groups\": {},\n    \"groupsize\": {tubes},\n    \"Parameters\": [\n",
        groups.len()
    );
    for (number, group) in groups.iter().enumerate() {
        let intervals = lists(group.intervals.iter().map(|ends| list(ends)).collect());
        let polynomials = lists(group.polynomials.iter().map(|numbers| list(numbers)).collect());
        let comma = if number + 1 < groups.len() { "," } else { "" };
        // Writing into a text cannot fail.
        let _ = writeln!(
            text,
            "      {{ \"groupindex\": {number}, \"intervals\": {intervals}, \"polynomials\": {polynomials} }}{comma}"
        );
    }
    text + "    ]\n  }\n}\n"
}
