//! A look as it is asked for behind the `?` of an address.

use super::look::Look;
use super::pictured::Pictured;
use super::wanted::{LookWanted, RegionWanted, WindowWanted};
use crate::spectrum::TimeBins;
use axum::http::Uri;
use std::str::FromStr;

/// Reads a query; parameters that others look at are passed over.
///
/// # Errors
/// With the parameter, what was found and what was expected.
pub(crate) fn look(asked: &Uri, pictured: &Pictured) -> Result<Look, String> {
    let mut wanted = LookWanted { picture: pictured.name(0), ..LookWanted::default() };
    for (name, value) in form_urlencoded::parse(asked.query().unwrap_or_default().as_bytes()) {
        match &*name {
            "look" => wanted = serde_json::from_str(&value).map_err(|error| format!("look: {error}"))?,
            "picture" => wanted.picture = value.into_owned(),
            "part" => wanted.part = Some(numbers("part", &value, ',')?),
            "points" => wanted.points = Some(numbers("points", &value, ',')?),
            "layers" => wanted.layers = Some(numbers("layers", &value, ',')?),
            "slice_ns" => wanted.slice_ns = Some(numbers("slice_ns", &value, ',')?),
            "vetoed" => wanted.vetoed = Some(value.into_owned()),
            "period" => wanted.period = Some(number("period", &value, "a number from 1")?),
            "frames" => wanted.frames = Some(value.into_owned()),
            "complete" => wanted.complete = Some(number("complete", &value, "true or false")?),
            "window" => wanted.window = Some(window(&value)?),
            "bins" => {
                let [from_ns, width_ns, count] = numbers("bins", &value, ',')?;
                wanted.bins = Some(TimeBins { from_ns, width_ns, count });
            }
            "region" => wanted.regions.push(region(&value)?),
            _ => {}
        }
    }
    Look::new(wanted, pictured)
}

/// A single value.
fn number<T: FromStr>(name: &str, text: &str, expected: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| format!("{name}: found {text:?}, expected {expected}"))
}

/// As many numbers as expected.
fn numbers<T: FromStr, const N: usize>(name: &str, text: &str, between: char) -> Result<[T; N], String> {
    let found: Option<Vec<T>> = text.split(between).map(|number| number.trim().parse().ok()).collect();
    let found = found.and_then(|found| found.try_into().ok());
    found.ok_or_else(|| format!("{name}: found {text:?}, expected {N} numbers with {between:?} in between"))
}

/// `all`, `last:10`, `since:1764115200000`.
fn window(text: &str) -> Result<WindowWanted, String> {
    let (kind, number) = text.split_once(':').unwrap_or((text, ""));
    let wrong = || format!("window: found {text:?}, expected all, last:SECONDS or since:MILLISECONDS");
    let mut window = WindowWanted { kind: kind.to_owned(), ..WindowWanted::default() };
    match kind {
        "all" if number.is_empty() => {}
        "last" => window.seconds = Some(number.parse().map_err(|_| wrong())?),
        "since" => window.ms = Some(number.parse().map_err(|_| wrong())?),
        _ => return Err(wrong()),
    }
    Ok(window)
}

/// `beam;rectangle;2,1;5,3`.
fn region(text: &str) -> Result<RegionWanted, String> {
    let mut parts = text.split(';');
    let mut next = || parts.next().unwrap_or_default().to_owned();
    let (name, shape) = (next(), next());
    let points = parts.map(|point| numbers("region", point, ',')).collect::<Result<_, _>>()?;
    Ok(RegionWanted { name, shape, points })
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::geometry::LogicalGeometry;
    use evforge_core::pulse::PulseTrain;
    use evforge_picture::PictureSet;

    #[test]
    fn a_query_and_the_object_are_the_same_look() {
        let geometry = LogicalGeometry::flat(8, 4).unwrap();
        let bins = crate::spectrum::SpectrumBins::new(&PulseTrain::ess(), None);
        let pictured = Pictured::new(PictureSet::of_geometry(&geometry), &geometry, bins, true);
        let asked = |query: &str| look(&format!("/api/x?{query}").parse().unwrap(), &pictured);
        let short = asked(
            "picture=xy&part=1,1,5,4&slice_ns=10,20&window=last:5&bins=0,100,7&vetoed=accepted&period=2&frames=good&complete=true&region=a;rectangle;2,1;5,3&points=16,16",
        );
        let object = r#"{"picture":"xy","part":[1,1,5,4],"points":[16,16],"slice_ns":[10,20],"window":{"kind":"last","seconds":5},
            "bins":{"from_ns":0,"width_ns":100,"count":7},"vetoed":"accepted","period":2,"frames":"good","complete":true,
            "regions":[{"name":"a","shape":"rectangle","points":[[2,1],[5,3]]}]}"#;
        let query: String =
            form_urlencoded::Serializer::new(String::new()).append_pair("look", object).finish();
        assert_eq!(short.unwrap(), asked(&query).unwrap());
        assert_eq!(asked("").unwrap().selection.picture, 0);
        for (query, words) in [
            ("part=1,2", "part: found \"1,2\", expected 4 numbers"),
            ("period=0", "period: found 0, expected 1 or more"),
            ("period=x", "period: found \"x\", expected a number from 1"),
            ("frames=bad", "frames: found \"bad\", expected \"all\", \"good\""),
            ("complete=1", "complete: found \"1\", expected true or false"),
            ("window=last", "expected all, last:SECONDS"),
            ("window=last:0", "window"),
            ("region=a;rectangle;x,y;1,1", "region: found \"x,y\""),
            ("look={", "look: EOF"),
        ] {
            let refused = asked(query).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
