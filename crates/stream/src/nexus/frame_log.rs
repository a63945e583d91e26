//! What the readout says of each frame: `framelog`, with a row for each pulse record, and the totals of the entry.
//!
//! The rows are as many as the pulse records, in the same order, and come to the file before them. A pulse of which something
//! else becomes known while it goes on keeps its row, which is changed.

use evforge_core::frame::{Frame, FrameState, FrameTotals, FrameVeto, ProtonCharge};
use hdf5_metno::{Dataset, File, Group, H5Type, Result};

use super::column::{Column, OBJECT, cache_of};
use super::options::{Compression, NexusOptions};
use crate::storage::dataset::{class, mark_as_time, scalar};
use crate::storage::text::{set_attribute, set_list_attribute};

/// The group, in the entry.
pub(super) const FRAME_LOG: &str = "framelog";
/// The series in it; each has a `value` for each frame.
pub(super) const PERIOD: &str = "period_log";
pub(super) const CHARGE: &str = "proton_charge";
pub(super) const VETOES: &str = "veto_log";
pub(super) const GOOD: &str = "is_good";
pub(super) const STATE: &str = "frame_state";
/// Of the vetoes that have a name: the bit of each, its name, and whether a frame with it is not good.
pub(super) const BITS: &str = "bits";
pub(super) const NAMES: &str = "names";
pub(super) const COUNTS: &str = "counts";

/// Rows per chunk.
const CHUNK_ROWS: usize = 256;
/// As ISIS's files have it.
const CHARGE_UNIT: &str = "uAh";
/// What the entry says of all frames together, besides their charge.
const FRAMES: [&str; 2] = ["raw_frames", "good_frames"];
const CHARGES: [&str; 2] = ["proton_charge_raw", "proton_charge"];

/// The rows and totals of a file.
#[derive(Debug)]
pub(crate) struct FrameLog {
    time: Column<i64>,
    period: Column<i32>,
    charge: Column<f64>,
    vetoes: Column<i64>,
    good: Column<i32>,
    state: Column<i32>,
    totals: TotalsOfEntry,
    /// Of all frames but the open one, in the file and waiting.
    ended: FrameTotals,
    /// The frame that may go on.
    open: Option<Frame>,
}

/// The totals in the entry.
#[derive(Debug)]
struct TotalsOfEntry {
    frames: [Dataset; 2],
    charges: [Dataset; 2],
}

impl FrameLog {
    /// Creates the empty rows in the entry, with the names of `vetoes`.
    pub(crate) fn create(entry: &Group, vetoes: &[FrameVeto]) -> Result<Self> {
        let group = class(entry, FRAME_LOG, "NXcollection")?;
        let time = Column::create(&group, "time", CHUNK_ROWS, Compression::None)?;
        mark_as_time(time.dataset(), "start")?;
        let times = format!("{}/time", group.name());
        let log = Self {
            time,
            period: series(&group, PERIOD, "Period, counted from 1; 0 where nobody has said it.", &times)?,
            charge: series(&group, CHARGE, "Charge of the protons; NaN where nobody has said it.", &times)?,
            vetoes: series(&group, VETOES, "Vetoes that were present, a bit for each.", &times)?,
            good: series(&group, GOOD, "1 if no veto is present that counts, else 0.", &times)?,
            state: series(&group, STATE, "Whether everything that was announced has come.", &times)?,
            totals: TotalsOfEntry::create(entry)?,
            ended: FrameTotals::default(),
            open: None,
        };
        set_attribute(log.charge.dataset(), "units", CHARGE_UNIT)?;
        let states = FrameState::ALL.map(FrameState::name);
        set_list_attribute(log.state.dataset(), "states", &states)?;
        let of_vetoes = log.vetoes.dataset();
        if !vetoes.is_empty() {
            let names: Vec<&str> = vetoes.iter().map(|veto| veto.name.as_str()).collect();
            let bits: Vec<i32> = vetoes.iter().map(|veto| i32::from(veto.bit)).collect();
            let counts: Vec<i32> = vetoes.iter().map(|veto| i32::from(veto.counts)).collect();
            set_list_attribute(of_vetoes, NAMES, &names)?;
            for (name, values) in [(BITS, &bits), (COUNTS, &counts)] {
                of_vetoes.new_attr::<i32>().shape(values.len()).create(name)?.write_raw(values)?;
            }
        }
        Ok(log)
    }

    /// Begins the row of a pulse record that began at `start` (nanoseconds since 1970).
    pub(crate) fn begin(&mut self, start: u64, frame: &Frame) {
        self.end();
        self.open = Some(*frame);
        let row = Row::of(frame);
        self.time.pending.push(start.cast_signed());
        self.period.pending.push(row.period);
        self.charge.pending.push(row.charge);
        self.vetoes.pending.push(row.vetoes);
        self.good.pending.push(row.good);
        self.state.pending.push(row.state);
    }

    /// The pulse of the newest row goes on, and this is what is known of it by now.
    pub(crate) fn go_on(&mut self, frame: &Frame) {
        if self.open == Some(*frame) {
            return;
        }
        self.open = Some(*frame);
        let row = Row::of(frame);
        self.period.change_last(row.period);
        self.charge.change_last(row.charge);
        self.vetoes.change_last(row.vetoes);
        self.good.change_last(row.good);
        self.state.change_last(row.state);
    }

    fn end(&mut self) {
        if let Some(frame) = self.open.take() {
            self.ended.add(&frame, 0);
        }
    }

    /// Totals of all rows, without events.
    pub(crate) fn totals(&self) -> FrameTotals {
        let mut totals = self.ended;
        if let Some(frame) = &self.open {
            totals.add(frame, 0);
        }
        totals
    }

    /// Bytes by which the file grows at most with the next [`FrameLog::flush`].
    pub(crate) fn growth(&self) -> u64 {
        self.time.growth(0)
            + self.period.growth(0)
            + self.charge.growth(0)
            + self.vetoes.growth(0)
            + self.good.growth(0)
            + self.state.growth(0)
    }

    /// Brings what waits to the file: the times that announce the rows last. Of a row that has changed, the state comes last: in the
    /// file of a writer that was killed in between, the newest row has a state only with everything else.
    ///
    /// # Errors
    /// If HDF5 refuses.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.period.flush()?;
        self.charge.flush()?;
        self.vetoes.flush()?;
        self.good.flush()?;
        self.state.flush()?;
        self.time.flush().map(|_| ())
    }

    /// Says in the entry what these are together.
    ///
    /// # Errors
    /// If HDF5 refuses.
    pub(crate) fn write_totals(&self, totals: &FrameTotals) -> Result<()> {
        self.totals.write(totals)
    }
}

/// What a row has of a frame.
struct Row {
    period: i32,
    charge: f64,
    vetoes: i64,
    good: i32,
    state: i32,
}

impl Row {
    fn of(frame: &Frame) -> Self {
        let from_one = |period: u32| i32::try_from(period).unwrap_or(i32::MAX).saturating_add(1);
        Self {
            period: frame.period.map_or(0, from_one),
            charge: frame.charge.map_or(f64::NAN, |charge| charge.uah),
            vetoes: i64::from(frame.vetoes),
            good: i32::from(!frame.is_vetoed),
            state: i32::from(frame.state.code()),
        }
    }
}

impl TotalsOfEntry {
    fn create(entry: &Group) -> Result<Self> {
        let [raw, good] = FRAMES.map(|name| scalar(entry, name, 0_u64));
        let charge = |name| -> Result<Dataset> {
            let charge = scalar(entry, name, 0.0_f64)?;
            set_attribute(&charge, "units", CHARGE_UNIT)?;
            Ok(charge)
        };
        let [raw_charge, good_charge] = CHARGES.map(charge);
        Ok(Self { frames: [raw?, good?], charges: [raw_charge?, good_charge?] })
    }

    fn open(file: &File) -> Result<Self> {
        let [raw, good] = FRAMES.map(|name| file.dataset(&format!("/entry/{name}")));
        let [raw_charge, good_charge] = CHARGES.map(|name| file.dataset(&format!("/entry/{name}")));
        Ok(Self { frames: [raw?, good?], charges: [raw_charge?, good_charge?] })
    }

    fn write(&self, totals: &FrameTotals) -> Result<()> {
        for (dataset, value) in self.frames.iter().zip([totals.raw, totals.good]) {
            dataset.write_scalar(&value)?;
            dataset.flush()?;
        }
        for (dataset, charge) in self.charges.iter().zip([totals.raw_charge, totals.good_charge]) {
            dataset.write_scalar(&charge.uah)?;
            dataset.flush()?;
        }
        Ok(())
    }
}

/// Creates the series called `name`, with the array of times that is at `times`.
fn series<T: H5Type>(group: &Group, name: &str, help: &str, times: &str) -> Result<Column<T>> {
    let log = class(group, name, "NXlog")?;
    set_attribute(&log, "description", help)?;
    log.link_hard(times, "time")?;
    Column::create(&log, "value", CHUNK_ROWS, Compression::None)
}

/// What a file has besides its events if it has frames: bytes at most of its objects.
pub(crate) fn length_at_the_beginning(options: &NexusOptions) -> u64 {
    let names = |vetoes: &Vec<FrameVeto>| vetoes.iter().map(|veto| veto.name.len() as u64 + 64).sum::<u64>();
    options.frames.as_ref().map_or(0, |vetoes| 24 * OBJECT + names(vetoes))
}

/// Memory at most of the rows, if so many `pulses` wait: what waits, and what HDF5 keeps of each array.
pub(crate) fn memory_bound(options: &NexusOptions, pulses: usize) -> usize {
    const ROW: usize = 3 * size_of::<i64>() + 3 * size_of::<i32>();
    if options.frames.is_none() {
        return 0;
    }
    pulses * ROW + 3 * (cache_of::<i64>(CHUNK_ROWS) + cache_of::<i32>(CHUNK_ROWS))
}

/// The rows of a file that is repaired.
pub(super) struct RowsToMend {
    charge: Dataset,
    good: Dataset,
    all: Vec<Dataset>,
    totals: TotalsOfEntry,
}

impl RowsToMend {
    /// None if the file has no frames.
    pub(super) fn find(file: &File) -> Result<Option<Self>> {
        let path = format!("/entry/{FRAME_LOG}");
        if !file.link_exists(&path) {
            return Ok(None);
        }
        let value = |name: &str| file.dataset(&format!("{path}/{name}/value"));
        let (charge, good) = (value(CHARGE)?, value(GOOD)?);
        let mut all = vec![file.dataset(&format!("{path}/time"))?];
        for name in [PERIOD, CHARGE, VETOES, GOOD, STATE] {
            all.push(value(name)?);
        }
        Ok(Some(Self { charge, good, all, totals: TotalsOfEntry::open(file)? }))
    }

    /// The arrays.
    pub(super) fn arrays(&self) -> &[Dataset] {
        &self.all
    }

    /// Rows that are there as a whole.
    pub(super) fn rows(&self) -> usize {
        self.all.iter().map(|array| array.size()).min().unwrap_or(0)
    }

    /// Totals of the first `rows` of them.
    pub(super) fn totals_of(&self, rows: usize) -> Result<FrameTotals> {
        let good = self.good.read_slice_1d::<i32, _>(..rows)?;
        let charges = self.charge.read_slice_1d::<f64, _>(..rows)?;
        let mut totals = FrameTotals::default();
        for (&good, &uah) in good.iter().zip(&charges) {
            let charge = (!uah.is_nan()).then_some(ProtonCharge { uah });
            totals.add(&Frame { is_vetoed: good == 0, charge, ..Frame::default() }, 0);
        }
        Ok(totals)
    }

    /// Says in the entry what they are together.
    pub(super) fn write_totals(&self, totals: &FrameTotals) -> Result<()> {
        self.totals.write(totals)
    }
}
