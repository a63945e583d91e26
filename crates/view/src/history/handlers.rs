//! The answers to questions for the history.

use super::answers::{HistoryAnswer, KeptState, SeriesList, SeriesPoint, SeriesPoints, SeriesState};
use super::asked::Asked;
use super::recorder::Recorder;
use super::series::{About, MINUTES, SECONDS};
use crate::at_work::at_work;
use crate::handlers::{Server, json};
use crate::lock::lock;
use crate::page::{self, plain};
use crate::shared::Shared;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode, Uri};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Why there is no answer.
type Refused = (StatusCode, String);

pub(crate) async fn series(State(server): State<Server>) -> Response<Body> {
    answer(server, |shared| {
        let recorder = lock(&shared.series.recorder);
        let kept = |step_s, number| KeptState { step_s, for_s: step_s * number };
        let list = SeriesList {
            now_ms: recorder.store.span.map(|(_, newest)| (newest + 1) * 1000),
            since_ms: recorder.store.span.map(|(first, _)| first * 1000),
            kept: vec![kept(1, SECONDS), kept(60, MINUTES)],
            series: recorder.store.all().into_iter().map(|(id, about)| state(id, about)).collect(),
            left_out: recorder.left_out(),
        };
        drop(recorder);
        Ok(json(&list))
    })
    .await
}

pub(crate) async fn history_json(State(server): State<Server>, uri: Uri) -> Response<Body> {
    answer(server, move |shared| Ok(json(&read(shared, &uri)?))).await
}

pub(crate) async fn history_csv(State(server): State<Server>, uri: Uri) -> Response<Body> {
    answer(server, move |shared| {
        let text = csv(&read(shared, &uri)?);
        Ok(page::with_type(StatusCode::OK, "text/csv; charset=utf-8", Body::from(text)))
    })
    .await
}

/// Looks for an answer in a thread that may wait: whoever records holds the history for some milliseconds.
async fn answer(
    server: Server,
    look: impl FnOnce(&Shared) -> Result<Response<Body>, Refused> + Send + 'static,
) -> Response<Body> {
    match at_work(move || look(&server.shared)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err((status, reason))) => plain(status, format!("{reason}\n")),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}

fn state(id: &str, about: &About) -> SeriesState {
    SeriesState {
        id: id.to_owned(),
        name: about.name.clone(),
        labels: about.labels.iter().cloned().collect::<BTreeMap<_, _>>(),
        title: about.title.clone(),
        unit: about.unit.clone(),
        kind: if about.is_rate { "rate" } else { "gauge" },
        group: about.group.to_string(),
        help: about.help.to_string(),
    }
}

fn read(shared: &Shared, uri: &Uri) -> Result<HistoryAnswer, Refused> {
    let refuse = |reason| (StatusCode::BAD_REQUEST, reason);
    let asked = Asked::read(uri.query().unwrap_or_default()).map_err(refuse)?;
    let recorder = lock(&shared.series.recorder);
    let now = recorder.store.span.map_or_else(|| shared.series.now_ms(), |(_, newest)| (newest + 1) * 1000);
    let (from_ms, to_ms) = asked.span(now).map_err(refuse)?;
    points(&recorder, &asked, from_ms, to_ms)
}

fn points(recorder: &Recorder, asked: &Asked, from_ms: u64, to_ms: u64) -> Result<HistoryAnswer, Refused> {
    let store = &recorder.store;
    let selection = store.select(from_ms / 1000, to_ms.div_ceil(1000), asked.points);
    let of_series = |id: &String| {
        let series = store.find(id).ok_or_else(|| {
            let reason = format!(
                "there is no series {id:?} (yet), or several have this name; /api/series.json has all of them"
            );
            (StatusCode::NOT_FOUND, reason)
        })?;
        let points = selection.into_iter().flat_map(|selection| store.points(series, selection));
        let points = points.map(|(second, point)| SeriesPoint {
            at_ms: second * 1000,
            min: point.min,
            mean: point.mean,
            max: point.max,
        });
        Ok(SeriesPoints { id: id.clone(), points: points.collect() })
    };
    let series = asked.series.iter().map(of_series).collect::<Result<_, Refused>>()?;
    Ok(HistoryAnswer {
        step_ms: selection.map_or(1000, |selection| selection.step * 1000),
        from_ms,
        to_ms,
        series,
    })
}

/// A line for each time at which a series has a point; what has none is empty.
fn csv(answer: &HistoryAnswer) -> String {
    let mut text = String::from("time_ms");
    for SeriesPoints { id, .. } in &answer.series {
        for what in ["min", "mean", "max"] {
            // Writing to a string cannot fail.
            let _ = write!(text, ",\"{} {what}\"", id.replace('"', "\"\""));
        }
    }
    text.push('\n');
    let mut lines: BTreeMap<u64, Vec<Option<SeriesPoint>>> = BTreeMap::new();
    for (place, series) in answer.series.iter().enumerate() {
        for point in &series.points {
            lines.entry(point.at_ms).or_insert_with(|| vec![None; answer.series.len()])[place] = Some(*point);
        }
    }
    for (at_ms, points) in lines {
        let _ = write!(text, "{at_ms}");
        for point in points {
            let _ = match point {
                Some(SeriesPoint { min, mean, max, .. }) => write!(text, ",{min},{mean},{max}"),
                None => write!(text, ",,,"),
            };
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_an_empty_cell() {
        let point = |at_ms| SeriesPoint { at_ms, min: 0.0, mean: 0.1, max: 2e6 };
        let series = |id: &str, points| SeriesPoints { id: id.into(), points };
        let answer = HistoryAnswer {
            step_ms: 1000,
            from_ms: 0,
            to_ms: 3000,
            series: vec![
                series("a{b=\"c\"}", vec![point(1000), point(3000)]),
                series("d", vec![point(2000), point(3000)]),
            ],
        };
        let expected = "time_ms,\"a{b=\"\"c\"\"} min\",\"a{b=\"\"c\"\"} mean\",\"a{b=\"\"c\"\"} max\",\"d min\",\"d mean\",\"d max\"\n\
                        1000,0,0.1,2000000,,,\n2000,,,,0,0.1,2000000\n3000,0,0.1,2000000,0,0.1,2000000\n";
        assert_eq!(csv(&answer), expected);
    }
}
