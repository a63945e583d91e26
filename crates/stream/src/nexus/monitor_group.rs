//! Beam monitors in a file: class NXmonitor, a histogram over time of flight.
//!
//! The events of a monitor are not inside its group but next to it: scippnexus (26.1.1) makes a histogram of an
//! NXmonitor only if there are no events in it, and complains otherwise. Fields that would say what is not known
//! (`mode`, `preset`, `distance`, `efficiency`) are left out; the NeXus definition requires none.

use evforge_core::beam_monitor::{BeamMonitorData, BeamMonitorKind, BeamMonitorPlan};
use hdf5_metno::{Dataset, Group, Result};

use super::transformations::{along_the_beam, write_chain};
use crate::storage::dataset::{class, preallocated, scalar};
use crate::storage::text::{create_text, set_attribute, set_list_attribute};

/// The group of one beam monitor.
#[derive(Debug)]
pub(crate) struct MonitorGroup {
    plan: BeamMonitorPlan,
    data: Dataset,
    integral: Dataset,
    below_range: Dataset,
    above_range: Dataset,
    readouts: Dataset,
    pulses: Dataset,
    /// What has been observed since the last commit.
    observed: Option<BeamMonitorData>,
}

/// What the group with the events of a monitor is called.
pub(crate) fn events_name(plan: &BeamMonitorPlan) -> String {
    format!("{}_events", plan.name)
}

/// True if the events of the monitor are to be in the file.
pub(crate) fn has_events(plan: &BeamMonitorPlan) -> bool {
    plan.kind != BeamMonitorKind::Integrating && !plan.pixels().is_empty()
}

/// Creates the group of a monitor with what is known of it before it counts, but for its histogram.
pub(crate) fn create_monitor(
    entry: &Group,
    number: usize,
    plan: &BeamMonitorPlan,
    place: Option<f64>,
) -> Result<Group> {
    let group = class(entry, &plan.name, "NXmonitor")?;
    if let Some(metres) = place {
        write_chain(&group, &[along_the_beam(metres)])?;
    }
    set_attribute(&group, "signal", "data")?;
    // A list of one, as the manual has it: scippnexus takes a single text for a list of letters.
    set_list_attribute(&group, "axes", &["time_of_flight"])?;
    if has_events(plan) {
        set_attribute(&group, "events", &format!("/entry/{}", events_name(plan)))?;
    }
    create_text(&group, "kind", plan.kind.name(), 0)?;
    scalar(&group, "monitor_number", i32::try_from(number).unwrap_or(i32::MAX))?;
    // Mantid wants an id (streaming-and-nexus.md, section 5); a monitor without pixels gets a negative one,
    // which no pixel has.
    let number = i32::try_from(number).unwrap_or(i32::MAX);
    let has_pixels = !plan.pixels().is_empty();
    let id = if has_pixels { i32::try_from(plan.first_pixel).unwrap_or(0) } else { -number };
    scalar(&group, "detector_id", id)?;
    if plan.kind == BeamMonitorKind::Event2D {
        // Two numbers, not a list: scippnexus complains of a list that is not over time of flight.
        for (name, side) in [("columns", plan.nx), ("rows", plan.ny)] {
            scalar(&group, name, i32::try_from(side).unwrap_or(i32::MAX))?;
        }
    }
    Ok(group)
}

impl MonitorGroup {
    /// Creates the group of the monitor with this number, from 1, in the entry. `place` is where it stands along the beam,
    /// in metres from the sample.
    pub(crate) fn create(
        entry: &Group,
        number: usize,
        plan: &BeamMonitorPlan,
        place: Option<f64>,
    ) -> Result<Self> {
        let group = create_monitor(entry, number, plan, place)?;
        let is_integrating = plan.kind == BeamMonitorKind::Integrating;
        // The values of an integrating monitor have no physical unit.
        let unit = if is_integrating { "dimensionless" } else { "counts" };
        let data = if is_integrating {
            preallocated::<f64>(&group, "data", plan.histogram.bins())?
        } else {
            preallocated::<i64>(&group, "data", plan.histogram.bins())?
        };
        data.write_raw(&vec![0_i64; plan.histogram.bins()])?;
        set_attribute(&data, "units", unit)?;
        let edges: Vec<f64> = plan.histogram.edges_ns().collect();
        let time_of_flight = preallocated::<f64>(&group, "time_of_flight", edges.len())?;
        time_of_flight.write_raw(&edges)?;
        set_attribute(&time_of_flight, "units", "ns")?;
        let sum = |name: &str| -> Result<Dataset> {
            let dataset =
                if is_integrating { scalar(&group, name, 0_f64)? } else { scalar(&group, name, 0_i64)? };
            set_attribute(&dataset, "units", unit)?;
            Ok(dataset)
        };
        let count = |name: &str, unit: &str| -> Result<Dataset> {
            let dataset = scalar(&group, name, 0_i64)?;
            set_attribute(&dataset, "units", unit)?;
            Ok(dataset)
        };
        Ok(Self {
            plan: plan.clone(),
            data,
            integral: sum("integral")?,
            below_range: sum("below_range")?,
            above_range: sum("above_range")?,
            readouts: count("readouts", "counts")?,
            pulses: count("pulses", "counts")?,
            observed: None,
        })
    }

    /// Takes note of what has been counted. Data of another monitor are left alone.
    pub(crate) fn observe(&mut self, data: &BeamMonitorData) {
        if *data.plan() == self.plan {
            self.observed = Some(data.clone());
        }
    }

    /// Brings what was observed last to the file.
    ///
    /// # Errors
    /// If HDF5 refuses.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let Some(observed) = &self.observed else { return Ok(()) };
        let is_integrating = self.plan.kind == BeamMonitorKind::Integrating;
        if is_integrating {
            let values: Vec<f64> = observed.counts().iter().map(|&parts| observed.value(parts)).collect();
            self.data.write_raw(&values)?;
        } else {
            let counts: Vec<i64> = observed.counts().iter().copied().map(whole).collect();
            self.data.write_raw(&counts)?;
        }
        self.data.flush()?;
        let inside = observed.counts().iter().fold(0_u64, |sum, &count| sum.saturating_add(count));
        for (dataset, value) in [
            (&self.integral, inside),
            (&self.below_range, observed.below()),
            (&self.above_range, observed.above()),
        ] {
            // The sums of an integrating monitor are means over samples, and need not be whole.
            if is_integrating {
                dataset.write_scalar(&observed.value(value))?;
            } else {
                dataset.write_scalar(&whole(value))?;
            }
            dataset.flush()?;
        }
        for (dataset, value) in [(&self.readouts, observed.readouts()), (&self.pulses, observed.pulses())] {
            dataset.write_scalar(&whole(value))?;
            dataset.flush()?;
        }
        self.observed = None;
        Ok(())
    }
}

fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
