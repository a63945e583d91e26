//! A breakdown as every report has it in JSON.

use evforge_core::losses::LossBreakdown;
use serde_json::{Map, Value, json};

/// Adds the breakdown to the `packets` of a report: `places` and `inferred_places` (packets by the name of the place),
/// `unlocated`, and `lost_after_the_last` if there are such.
pub fn add_to_json(losses: &LossBreakdown, packets: &mut Value) {
    let places = |inferred: bool| -> Map<String, Value> {
        let places = losses.places.iter().filter(|loss| loss.inferred == inferred);
        places.map(|loss| (loss.place.name().to_owned(), json!(loss.packets))).collect()
    };
    packets["places"] = Value::Object(places(false));
    packets["inferred_places"] = Value::Object(places(true));
    packets["unlocated"] = json!(losses.unlocated);
    if losses.after_the_last > 0 {
        packets["lost_after_the_last"] = json!(losses.after_the_last);
    }
}
