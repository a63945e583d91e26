//! Boards as Grafana reads them (its JSON, schema 39): panels with queries to Prometheus.

use serde_json::{Value, json};

/// Version of Grafana's schema.
const SCHEMA: u32 = 39;
/// Columns of a board.
const COLUMNS: u32 = 24;
/// Columns and rows of a panel.
const PANEL: (u32, u32) = (8, 8);

/// A query: expression, and what the legend says.
#[derive(Clone, Debug)]
pub(super) struct Query {
    pub(super) expression: String,
    pub(super) legend: String,
}

/// A panel with a graph.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) about: String,
    /// In Grafana's words: "short", "Bps", "pps", "s", "percentunit".
    pub(super) unit: &'static str,
    pub(super) queries: Vec<Query>,
}

/// A row of panels, which may be folded.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) title: String,
    pub(super) is_folded: bool,
    pub(super) panels: Vec<Panel>,
}

/// A board.
#[derive(Clone, Debug)]
pub(super) struct Board {
    /// Its identity in Grafana, and the name of its file.
    pub(super) uid: &'static str,
    pub(super) title: &'static str,
    pub(super) about: &'static str,
    /// The metric whose instances can be chosen.
    pub(super) instances_of: String,
    pub(super) rows: Vec<Row>,
}

fn source() -> Value {
    json!({"type": "prometheus", "uid": "${datasource}"})
}

impl Board {
    pub(super) fn json(&self) -> Value {
        let mut panels = Vec::new();
        let (mut id, mut y) = (0, 0);
        let mut next = || {
            id += 1;
            id
        };
        for row in &self.rows {
            let mut head = json!({
                "id": next(), "type": "row", "title": row.title, "collapsed": row.is_folded,
                "gridPos": {"x": 0, "y": y, "w": COLUMNS, "h": 1}, "panels": [],
            });
            y += 1;
            let per_line = COLUMNS / PANEL.0;
            let place = |number: u32| ((number % per_line) * PANEL.0, y + number / per_line * PANEL.1);
            let made: Vec<Value> =
                (0..).zip(&row.panels).map(|(number, panel)| panel.json(next(), place(number))).collect();
            if row.is_folded {
                head["panels"] = Value::Array(made);
                panels.push(head);
            } else {
                y += (row.panels.len() as u32).div_ceil(per_line) * PANEL.1;
                panels.push(head);
                panels.extend(made);
            }
        }
        json!({
            "uid": self.uid,
            "title": self.title,
            "description": self.about,
            "tags": ["evforge"],
            "schemaVersion": SCHEMA,
            "version": 1,
            "editable": true,
            "refresh": "5s",
            "timezone": "browser",
            "graphTooltip": 1,
            "time": {"from": "now-1h", "to": "now"},
            "links": [{"type": "dashboards", "tags": ["evforge"], "title": "evforge", "asDropdown": true, "includeVars": true,
                       "keepTime": true, "icon": "external link", "tooltip": "", "targetBlank": false, "url": ""}],
            "annotations": {"list": []},
            "templating": {"list": [
                {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus",
                 "hide": 0, "skipUrlSync": false, "multi": false, "includeAll": false},
                {"name": "instance", "label": "Program", "type": "query", "datasource": source(),
                 "query": {"query": format!("label_values({}, instance)", self.instances_of), "refId": "instance"},
                 "refresh": 2, "sort": 1, "hide": 0, "skipUrlSync": false, "multi": true, "includeAll": true},
            ]},
            "panels": panels,
        })
    }
}

impl Panel {
    fn json(&self, id: u32, (x, y): (u32, u32)) -> Value {
        let target = |(number, query): (usize, &Query)| {
            json!({
                "refId": reference(number), "datasource": source(), "expr": query.expression,
                "legendFormat": query.legend, "range": true,
            })
        };
        json!({
            "id": id,
            "type": "timeseries",
            "title": self.title,
            "description": self.about,
            "datasource": source(),
            "gridPos": {"x": x, "y": y, "w": PANEL.0, "h": PANEL.1},
            "fieldConfig": {
                "defaults": {"unit": self.unit, "min": 0, "custom": {"fillOpacity": 10, "showPoints": "never", "lineWidth": 1}},
                "overrides": [],
            },
            "options": {
                "legend": {"displayMode": "list", "placement": "bottom", "showLegend": true, "calcs": []},
                "tooltip": {"mode": "multi", "sort": "desc"},
            },
            "targets": self.queries.iter().enumerate().map(target).collect::<Vec<_>>(),
        })
    }
}

/// A, B, …, Z, AA, AB, …
fn reference(number: usize) -> String {
    let letter = |place: usize| char::from(b'A' + (place % 26) as u8);
    match number / 26 {
        0 => letter(number).to_string(),
        before => format!("{}{}", reference(before - 1), letter(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_lettered() {
        let letters: Vec<_> = [0, 25, 26, 27, 51, 52].map(reference).into();
        assert_eq!(letters, ["A", "Z", "AA", "AB", "AZ", "BA"]);
    }
}
