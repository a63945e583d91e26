//! A breakdown as every report has it in JSON.

use evforge_core::losses::{LossBreakdown, LossLocation};
use serde_json::{Map, Value, json};

/// Adds the breakdown to the `packets` of a report: `locations` and `inferred_locations` (packets by the name of the
/// location), `unlocated`, and `lost_after_the_last` if there are such.
///
/// Until release 0.3 the first two are also there under their former names, `places` and `inferred_places`.
pub fn add_to_json(losses: &LossBreakdown, packets: &mut Value) {
    let locations = |inferred: bool| -> Map<String, Value> {
        let locations = losses.locations.iter().filter(|loss| loss.inferred == inferred);
        locations.map(|loss| (loss.location.name().to_owned(), json!(loss.packets))).collect()
    };
    for (key, former, inferred) in
        [("locations", "places", false), ("inferred_locations", "inferred_places", true)]
    {
        packets[key] = Value::Object(locations(inferred));
        packets[former] = packets[key].clone();
    }
    packets["unlocated"] = json!(losses.unlocated);
    if losses.after_the_last > 0 {
        packets["lost_after_the_last"] = json!(losses.after_the_last);
    }
}

/// Sets the packets lost at a location that a report names whether anything was lost there or not.
pub fn set_in_json(location: LossLocation, lost: u64, packets: &mut Value) {
    for key in ["locations", "places"] {
        packets[key][location.name()] = json!(lost);
    }
}
