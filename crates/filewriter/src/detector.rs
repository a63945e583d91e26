//! The structure of a file for a detector of ours: what `evforge run --nexus` would write, from topics.
//!
//! The static part is made by the same code as that of a run ([`evforge_stream::nexus::write_static_part`]); here is which groups
//! of it get which messages.

use evforge_core::beam_monitor::BeamMonitorKind;
use evforge_kafka::producer::{Destinations, EventSchema, MonitorSchemas};
use evforge_stream::nexus::{EventGroupName, NexusOptions, event_group_names};
use serde_json::{Value, json};

/// The structure (NeXus structure JSON) of a file with these options, whose events come from there.
pub fn structure_of_detector(options: &NexusOptions, from: &Destinations) -> Value {
    let mut root = Tree::default();
    root.add("/entry", json!({"module": "mdat", "config": {"items": ["start_time", "end_time"]}}));
    for EventGroupName { parent, name, pixels } in event_group_names(options) {
        let mut config = json!({
            "topic": from.topic,
            "source": from.sources,
            "layout": "evforge",
        });
        if let Some((first, last)) = pixels {
            config["pixels"] = json!([first, last]);
        }
        if !options.vetoes.is_empty() {
            config["vetoes"] = json!(options.vetoes);
        }
        let module = match from.schema {
            EventSchema::Ev44 => "ev44",
            EventSchema::Ev42 => "ev42",
        };
        root.add(&format!("{parent}/{name}"), json!({"module": module, "config": config}));
    }
    if let Some((topic, schemas)) = &from.monitors {
        for plan in &options.beam_monitors {
            let is_integrating = plan.kind == BeamMonitorKind::Integrating;
            let edges: Vec<f64> = plan.histogram.edges_ns().collect();
            let mut config = json!({
                "topic": topic,
                "source": plan.name,
                "shape": [plan.histogram.bins()],
                "dtype": if is_integrating { "float64" } else { "int64" },
                "edges": edges,
            });
            // Totals where there are some: nothing is lost with a message that does not come.
            let module = if *schemas == MonitorSchemas::Da00 {
                config["accumulate"] = json!(true);
                json!({"module": "da00", "config": config})
            } else {
                json!({"module": "hs01", "config": config})
            };
            let path = format!("/entry/{}", plan.name);
            root.add(&path, module);
            root.class(&path, "NXmonitor");
        }
    }
    if let Some(topic) = &from.ledger {
        let config = json!({"topic": topic, "source": from.sources});
        root.add("/entry/event_formation", json!({"module": "evforge_ledger", "config": config}));
    }
    root.into_json()
}

/// Groups by their paths.
#[derive(Default)]
struct Tree {
    class: Option<&'static str>,
    groups: Vec<(String, Tree)>,
    modules: Vec<Value>,
}

impl Tree {
    /// Adds a module to the group at a path.
    fn add(&mut self, path: &str, module: Value) {
        self.group(path).modules.push(module);
    }

    /// Says the class of a group, where a module would say another one.
    fn class(&mut self, path: &str, class: &'static str) {
        self.group(path).class = Some(class);
    }

    fn group(&mut self, path: &str) -> &mut Self {
        let mut group = self;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            let place = group.groups.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
                group.groups.push((name.to_owned(), Tree::default()));
                group.groups.len() - 1
            });
            group = &mut group.groups[place].1;
        }
        group
    }

    fn children(self) -> Vec<Value> {
        let groups = self.groups.into_iter().map(|(name, tree)| {
            let attributes = tree.class.map(|class| json!({"NX_class": class}));
            let mut group = json!({"type": "group", "name": name, "children": tree.children()});
            if let (Some(group), Some(attributes)) = (group.as_object_mut(), attributes) {
                group.insert("attributes".into(), attributes);
            }
            group
        });
        groups.chain(self.modules).collect()
    }

    fn into_json(self) -> Value {
        json!({"children": self.children()})
    }
}
