//! The wiring of LOKI, BIFROST, MIRACLES, CSPEC and TBL3HE from the files that they have for the event formation unit (EFU). What is
//! code there (how groups lie on the detector) is wiring here: ESS's other instruments, sections 1.4 to 1.8.

use super::settings::{
    Axis, CalibrationPart, Charges, Helium3Settings, Rounding, Steps, TubeSettings, WiringEntry,
};
use crate::ess::settings::{FENS, RINGS};
use crate::ess::ticks;
use crate::vmm_files::content::{FileContent, Unused};
use crate::vmm_files::json::{Document, Table};
use evforge_core::geometry::LogicalGeometry;
use std::collections::BTreeMap;

/// Straws of a tube of LOKI.
const STRAWS: u32 = 7;

/// Pixels of a tube at most.
const MOST_PIXELS: i64 = 4096;

impl Helium3Settings {
    /// Takes the wiring from the file of an instrument. Gives notes.
    ///
    /// # Errors
    /// What in the file is wrong, where, and what is expected.
    pub fn take_wiring(&mut self, text: &str) -> Result<FileContent<()>, String> {
        let document = Document::parse(text)?;
        let file = document.table()?;
        let detector = file.required("Detector")?;
        let known = match detector.text()? {
            "loki" => self.loki(&file)?,
            "bifrost" => self.bifrost(&file)?,
            "miracles" => self.miracles(&file)?,
            "cspec" => self.cspec(&file)?,
            "tbl3he" => self.tbl3he(&file)?,
            _ => return detector.refuse("loki, bifrost, miracles, cspec or tbl3he"),
        };
        let mut notes = Vec::new();
        let longest = self.ess.max_time_of_flight as f64 / 1000.0;
        if let Some(value) = file.optional("MaxTOFNS")
            && value.number()? != longest
        {
            notes.push(format!(
                "MaxTOFNS = {} is not taken over: ess.max_time_of_flight in ns is {longest}",
                value.shown()
            ));
        }
        if let Some(value) = file.optional("MaxPulseTimeNS") {
            let ticks = ticks::in_duration((value.number()? * 1000.0) as u64) / ticks::UNITS_PER_TICK;
            if ticks != self.ess.header.max_pulse_distance {
                notes.push(format!(
                    "MaxPulseTimeNS = {} is not taken over: ess.max_pulse_distance is another one",
                    value.shown()
                ));
            }
        }
        let mut unused = Unused::default();
        // Rings and FENs that are not wired are refused anyway.
        unused.look(
            &file,
            "",
            &[known, &["Detector", "Resolution", "MaxTOFNS", "MaxPulseTimeNS", "MaxFEN", "MaxRing"]].concat(),
        );
        notes.extend(unused.note());
        Ok(FileContent { content: (), notes })
    }

    /// Sets what all but LOKI have in common: tubes read at their two ends.
    fn of_two(
        &mut self,
        (nx, ny): (u32, u32),
        along: Axis,
        pixels: u16,
        tubes: Vec<TubeSettings>,
    ) -> Result<(), String> {
        self.geometry = LogicalGeometry::flat(nx, ny).map_err(|error| error.to_string())?;
        // The reference reads charges with a sign: what is larger was never recorded, and would be below 0 there.
        self.saturation = Some(1 << 15);
        (self.charges, self.along, self.pixels, self.tubes) = (Charges::Two, along, pixels, tubes);
        Ok(())
    }

    /// Nine banks of tubes of seven straws, in four layers.
    fn loki(&mut self, file: &Table<'_>) -> Result<&'static [&'static str], String> {
        if let Some(panels) = file.optional("PanelConfig") {
            return panels.refuse(
                "Banks and Config: this file is of the layout before 2024, whose straws in bank 0 are other tubes than those of today",
            );
        }
        let pixels = resolution(file)?;
        let layers = file.required("GroupsZ")?.whole(1..=8)? as u16;
        let mut banks = BTreeMap::new();
        let mut rows = 0;
        for entry in file.required("Banks")?.list()? {
            let bank = entry.table()?;
            let number = bank.required("Bank")?.whole(0..=255)?;
            let columns = bank.required("GroupsN")?.whole(1..=1024)? as u32;
            let first = bank.required("YOffset")?.whole(0..=i64::from(u16::MAX))? as u32;
            rows = rows.max(first + columns * u32::from(layers) * STRAWS);
            if banks.insert(number, (columns, first)).is_some() {
                return bank.required("Bank")?.refuse("another number than the banks before");
            }
        }
        self.wiring.clear();
        for value in file.required("Config")?.list()? {
            let entry = value.table()?;
            let number = entry.required("Bank")?;
            let Some(&(columns, first)) = banks.get(&number.whole(0..=255)?) else {
                return number.refuse("the number of one of Banks");
            };
            let ring = entry.required("Ring")?.whole(0..=i64::from(RINGS) - 1)? as u8;
            let fens = entry.required("FENs")?.whole(1..=i64::from(FENS))? as u16;
            let offset = entry.required("FENOffset")?.whole(0..=1024)? as u32;
            if (offset + u32::from(fens)) * 2 > columns {
                return entry
                    .required("FENs")?
                    .refuse(&format!("FENs of {columns} tubes in a layer, two columns each"));
            }
            let tube = first / STRAWS + 2 * offset;
            self.wiring.push(WiringEntry {
                ring,
                y: first + 2 * STRAWS * offset,
                calibration: Some(tube),
                groups: vec![
                    Steps { count: layers, x: 0, y: STRAWS * columns, calibration: Some(columns) },
                    Steps { count: 2, x: 0, y: STRAWS, calibration: Some(1) },
                ],
                fens: Some(Steps { count: fens, x: 0, y: 2 * STRAWS, calibration: Some(2) }),
                ..WiringEntry::default()
            });
        }
        let straw =
            |straw: u32| tube([straw as f64 / 7.0, (straw + 1) as f64 / 7.0], 0, straw, Rounding::Nearest);
        self.of_two((u32::from(pixels), rows), Axis::X, pixels, (0..STRAWS).map(straw).collect())?;
        (self.charges, self.saturation) = (Charges::Four, None);
        self.calibrated_by = vec![CalibrationPart::Intervals, CalibrationPart::Polynomials];
        Ok(&["GroupsZ", "Banks", "Config"])
    }

    /// Triplets of tubes, fifteen a ring.
    fn bifrost(&mut self, file: &Table<'_>) -> Result<&'static [&'static str], String> {
        let ring_columns = u32::from(resolution(file)?);
        let third =
            |third: u32| tube([f64::from(third) / 3.0, f64::from(third + 1) / 3.0], 0, third, Rounding::Down);
        self.of_two((3 * ring_columns, 15), Axis::X, 100, (0..3).map(third).collect())?;
        let ring = |ring: u8| WiringEntry {
            ring,
            x: u32::from(ring) * ring_columns,
            groups: vec![steps(3, 100, 0), steps(5, 0, 3)],
            ..WiringEntry::default()
        };
        self.wiring = (0..3).map(ring).collect();
        self.largest_sum = Some(
            file.optional("MaxAmpl")
                .map_or(Ok(i64::from(i32::MAX)), |value| value.whole(1..=i64::from(i32::MAX)))?
                as u32,
        );
        self.calibrated_by = vec![CalibrationPart::Intervals];
        Ok(&["MaxAmpl", "MaxGroup"])
    }

    /// Pairs of tubes that are wired in a row, twelve a ring, each tube along half of a column.
    fn miracles(&mut self, file: &Table<'_>) -> Result<&'static [&'static str], String> {
        let half = u32::from(resolution(file)?) / 2;
        let pair = vec![tube([1.0, 0.5], 0, 0, Rounding::Nearest), tube([0.0, 0.5], 1, 0, Rounding::Down)];
        self.of_two((48, 2 * half), Axis::Y, half as u16, pair)?;
        let ring = |ring: u8| WiringEntry {
            ring,
            x: u32::from(ring % 2) * 24,
            y: u32::from(ring / 2) * half,
            groups: vec![steps(12, 2, 0)],
            // Nothing says which FENs there are.
            fens: Some(Steps { count: FENS.into(), x: 0, y: 0, calibration: Some(0) }),
            ..WiringEntry::default()
        };
        self.wiring = (0..4).map(ring).collect();
        self.calibrated_by = Vec::new();
        Ok(&[])
    }

    /// Single tubes. That the columns of groups come again after 24 of them, and that 180 rows are less than a tube has, is in the file's
    /// instrument: its places are not decided.
    fn cspec(&mut self, file: &Table<'_>) -> Result<&'static [&'static str], String> {
        const IN_A_ROW: u16 = 24;
        let pixels = resolution(file)?;
        let groups = file.optional("MaxGroup").map_or(Ok(0), |value| value.whole(0..=254))? as u16 + 1;
        self.of_two((900, 180), Axis::Y, pixels, vec![tube([0.0, 1.0], 0, 0, Rounding::Down)])?;
        let fens =
            file.optional("MaxFEN").map_or(Ok(0), |value| value.whole(0..=i64::from(FENS) - 1))? as u16 + 1;
        let step = u32::from(pixels / IN_A_ROW);
        let entry = |ring: u32, group: u16, groups: Vec<Steps>| WiringEntry {
            ring: ring as u8,
            group: group as u8,
            x: ring * u32::from(pixels),
            groups,
            fens: Some(Steps { count: fens, x: 0, y: 0, calibration: Some(0) }),
            ..WiringEntry::default()
        };
        let (whole, rest) = (groups / IN_A_ROW, groups % IN_A_ROW);
        self.wiring.clear();
        for ring in (0..3).filter(|ring| ring * u32::from(pixels) < 900) {
            if whole > 0 {
                self.wiring.push(entry(ring, 0, vec![steps(IN_A_ROW, step, 0), steps(whole, 0, 0)]));
            }
            if rest > 0 {
                self.wiring.push(entry(ring, whole * IN_A_ROW, vec![steps(rest, step, 0)]));
            }
        }
        self.calibrated_by = Vec::new();
        Ok(&["MaxGroup"])
    }

    /// Banks of four single tubes.
    fn tbl3he(&mut self, file: &Table<'_>) -> Result<&'static [&'static str], String> {
        resolution(file)?;
        let topology = file.required("Topology")?;
        let entries = topology.list()?;
        let count = file.required("NumOfFENs")?;
        if count.whole(0..=i64::from(RINGS) * i64::from(FENS))? != entries.len() as i64 {
            return count.refuse(&format!("{}, the number of entries of Topology", entries.len()));
        }
        self.of_two((100, 8), Axis::X, 100, vec![tube([0.0, 1.0], 0, 0, Rounding::Down)])?;
        self.wiring.clear();
        for value in entries {
            let entry = value.table()?;
            let bank = entry.required("Bank")?.whole(0..=1)? as u32;
            self.wiring.push(WiringEntry {
                ring: entry.required("Ring")?.whole(0..=i64::from(RINGS) - 1)? as u8,
                fen: entry.required("FEN")?.whole(0..=i64::from(FENS) - 1)? as u8,
                y: 4 * bank,
                calibration: Some(4 * bank),
                groups: vec![steps(4, 0, 1)],
                ..WiringEntry::default()
            });
        }
        self.least_charge = file.required("MinValidAmplitude")?.whole(0..=i64::from(u16::MAX))? as u16;
        self.calibrated_by = vec![CalibrationPart::Intervals, CalibrationPart::Polynomials];
        Ok(&["NumOfFENs", "MinValidAmplitude", "Topology", "MaxGroup"])
    }
}

fn resolution(file: &Table<'_>) -> Result<u16, String> {
    file.required("Resolution")?.whole(48..=MOST_PIXELS).map(|pixels| pixels as u16)
}

fn steps(count: u16, x: u32, y: u32) -> Steps {
    Steps { count, x, y, calibration: None }
}

fn tube(interval: [f64; 2], x: u32, y: u32, rounding: Rounding) -> TubeSettings {
    TubeSettings { interval, x, y, rounding }
}
