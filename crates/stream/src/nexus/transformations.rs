//! Where a component stands: a chain of transformations from it to the sample.

use evforge_core::placement::{Transformation, TransformationKind};
use hdf5_metno::{Group, Result};

use crate::storage::dataset::{class, scalar};
use crate::storage::text::{create_text, set_attribute};

/// Writes the steps from a component to the sample, and where they begin.
pub(crate) fn write_chain(component: &Group, steps: &[Transformation]) -> Result<()> {
    let group = class(component, "transformations", "NXtransformations")?;
    // Absolute paths: Mantid takes no others (streaming-and-nexus.md, section 5).
    let path = |step: Option<&Transformation>| {
        step.map_or_else(|| ".".to_owned(), |step| format!("{}/{}", group.name(), step.name))
    };
    create_text(component, "depends_on", &path(steps.first()), 0)?;
    for (index, step) in steps.iter().enumerate() {
        let (kind, unit) = match step.kind {
            TransformationKind::Translation => ("translation", "m"),
            TransformationKind::Rotation => ("rotation", "deg"),
        };
        let dataset = scalar(&group, step.name, step.amount)?;
        set_attribute(&dataset, "units", unit)?;
        set_attribute(&dataset, "transformation_type", kind)?;
        set_attribute(&dataset, "depends_on", &path(steps.get(index + 1)))?;
        dataset.new_attr::<f64>().shape(3).create("vector")?.write_raw(&step.axis)?;
    }
    Ok(())
}

/// A place along the beam, in metres from the sample.
pub(crate) fn along_the_beam(metres: f64) -> Transformation {
    Transformation {
        name: "location",
        kind: TransformationKind::Translation,
        amount: metres,
        axis: [0.0, 0.0, 1.0],
    }
}
