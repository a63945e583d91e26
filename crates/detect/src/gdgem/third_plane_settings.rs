//! Settings of a third plane of strips.

use crate::hit::STRIP_LIMIT;
use crate::matched_clusters::PLANES;
use crate::pairing::Ambiguous;
use crate::plane_matching::MatchBy;
use crate::settings::SettingsError;
use crate::settings::table::{Form, Over, Signed, Table, table};
use crate::third_plane::{MILLIONTHS, MILLISTRIPS};
use evforge_core::geometry::LogicalGeometry;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeSeed, Deserializer, MapAccess};
use serde_json::{Value, json};

/// Where a neutron is on a third plane, u, and how well that must fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThirdPlaneSettings {
    /// Strips of u per strip of x and of y, in millionths.
    pub from: [i64; PLANES],
    /// Strip of u at the first strips of x and y, in millistrips.
    pub offset: i64,
    /// By how much u may differ from what x and y say, in millistrips.
    pub tolerance: i64,
    /// By how much u comes after x, in picoseconds. It counts in no difference of times.
    pub delay: i64,
}

table! { ThirdPlaneSettings {
    /// How strips of u go with those of x.
    "from_x" => (.from[0]) Parts<MILLIONTHS> { "minimum": -100, "maximum": 100, "not": { "const": 0 }, "default": null, "x-unit": "strips of u per strip", "x-range": "not 0, at most 100 either way" },
    /// How strips of u go with those of y.
    "from_y" => (.from[1]) Parts<MILLIONTHS> { "minimum": -100, "maximum": 100, "not": { "const": 0 }, "default": null, "x-unit": "strips of u per strip", "x-range": "not 0, at most 100 either way" },
    /// Strip of u that goes with the strips 0 of x and y.
    "offset" => (.offset) Parts<MILLISTRIPS> { "x-unit": "strips" },
    /// How far u may be from that.
    "tolerance" => (.tolerance) Parts<MILLISTRIPS> { "minimum": 0, "maximum": STRIP_LIMIT, "x-unit": "strips" },
    /// By how much u comes after x, as `matching.y_delay` says of y.
    "delay" => (.delay) Signed { "x-range": "may be below zero" },
} }

/// A number that is kept in whole parts of 1. Casts of floats saturate.
enum Parts<const OF_ONE: i64> {}

impl<const OF_ONE: i64> Form<i64> for Parts<OF_ONE> {
    fn read<'de, A: MapAccess<'de>>(_: &i64, values: &mut A) -> Result<i64, A::Error> {
        Ok((values.next_value::<f64>()? * OF_ONE as f64).round() as i64)
    }

    fn schema(_: &i64, _: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number" })
    }

    fn written(current: &i64) -> Value {
        json!(*current as f64 / OF_ONE as f64)
    }
}

evforge_core::written_as! {
    ThirdPlaneSettings: |generator| Self::usual().schema(generator);
}

/// Strips by which u may differ unless told otherwise: x, y and u are each a strip off at most, as a rule.
const USUAL_TOLERANCE: i64 = 3 * MILLISTRIPS;

/// Strips of u per strip of x or y are no more than this, in millionths.
const LARGEST_COEFFICIENT: i64 = 100 * MILLIONTHS;

impl ThirdPlaneSettings {
    /// Reads the table.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn read<'de, D: Deserializer<'de>>(table: D) -> Result<Option<Self>, D::Error> {
        Over(Self::usual()).deserialize(table).map(Some)
    }

    /// What holds for keys that are left out.
    fn usual() -> Self {
        Self { tolerance: USUAL_TOLERANCE, ..Self::default() }
    }

    pub(super) fn check(
        &self,
        by: MatchBy,
        ambiguous: Ambiguous,
        geometry: &LogicalGeometry,
    ) -> Result<(), SettingsError> {
        for (name, coefficient) in ["from_x", "from_y"].iter().zip(self.from) {
            if coefficient == 0 || coefficient.abs() > LARGEST_COEFFICIENT {
                let problem = "strips of u per strip: neither 0 nor beyond 100 either way";
                return SettingsError::refuse(format!("third_plane.{name}"), problem);
            }
        }
        let most = i64::from(STRIP_LIMIT) * MILLISTRIPS;
        if self.offset.abs() > 100 * most {
            return SettingsError::refuse("third_plane.offset", "lies far beyond all strips");
        }
        if !(0..=most).contains(&self.tolerance) {
            return SettingsError::refuse(
                "third_plane.tolerance",
                format!("is not in 0..={STRIP_LIMIT} strips"),
            );
        }
        if ambiguous == Ambiguous::Join {
            let problem = "u tells pairs of x and y apart: needs ambiguous = \"nearest\" or \"drop\"";
            return SettingsError::refuse("matching.ambiguous", problem);
        }
        if by != MatchBy::End {
            let problem = "clusters of three planes are matched by their ends: needs by = \"end\"";
            return SettingsError::refuse("matching.by", problem);
        }
        let limit = u32::from(STRIP_LIMIT);
        if geometry.nx() > limit || geometry.ny() > limit {
            let problem = format!("at most {limit} columns and rows with a third plane");
            return SettingsError::refuse("geometry", problem);
        }
        Ok(())
    }
}
