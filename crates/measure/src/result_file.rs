//! `result.json`: a result, to be read again in years, also by other programs.
//!
//! It is a file that may come from anywhere: its size is bounded, and all that is in it is checked before it is believed.

use crate::error::MeasureError;
use crate::measurement::Measurement;
use evforge_core::printable::printable;
use evforge_core::whole_file;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Name of the file in the folder of a result.
pub const NAME: &str = "result.json";
/// Number of the format. It changes where older readers would misread a file, and not where something is added.
pub const SCHEMA: u32 = 1;
/// What the file says that it is.
const FORMAT: &str = "evforge measurement";
/// Bytes that a file can have at most.
const MOST: u64 = 64 << 20;
/// What helps if a file is none.
const EXPECTED: &str =
    "expected a result that `evforge measure … --output FOLDER` has written, or its folder";

/// What is in the file: `format` and `schema` first, then the result.
#[derive(Serialize)]
struct Written<'a> {
    format: &'static str,
    schema: u32,
    #[serde(flatten)]
    result: &'a Measurement,
}

/// What every schema has.
#[derive(Deserialize)]
struct Head {
    format: String,
    schema: u64,
}

/// The result as JSON.
///
/// # Errors
/// If it could not be read again ([`Measurement::check`]).
pub fn to_json(result: &Measurement) -> Result<String, MeasureError> {
    result.check()?;
    let mut text = serde_json::to_string_pretty(&Written { format: FORMAT, schema: SCHEMA, result })
        .map_err(|error| MeasureError::Wrong(format!("the result as JSON: {error}")))?;
    text.push('\n');
    if text.len() as u64 > MOST {
        let problem = format!("the result has {} bytes as JSON: at most {MOST}", text.len());
        return Err(MeasureError::Wrong(problem));
    }
    Ok(text)
}

/// The result in a text.
///
/// # Errors
/// If it is none, of another schema, or damaged; with what is wrong and where.
pub fn of_json(text: &str) -> Result<Measurement, MeasureError> {
    let head: Head = serde_json::from_str(text)
        .map_err(|error| MeasureError::Wrong(format!("it is no result: {error}; {EXPECTED}")))?;
    if head.format != FORMAT {
        return Err(MeasureError::Wrong(format!(
            "it is of the format `{}`; {EXPECTED}",
            printable(&head.format, 40)
        )));
    }
    if head.schema != u64::from(SCHEMA) {
        let what = if head.schema > u64::from(SCHEMA) {
            "use the evforge that wrote it, or a newer one"
        } else {
            "measure again"
        };
        return Err(MeasureError::Wrong(format!(
            "it has schema {}; this evforge reads schema {SCHEMA}: {what}",
            head.schema
        )));
    }
    let result: Measurement =
        serde_json::from_str(text).map_err(|error| MeasureError::Wrong(format!("it is damaged: {error}")))?;
    result.check().map_err(|error| MeasureError::Wrong(format!("it is damaged: {error}")))?;
    Ok(result)
}

/// The file that a path means: itself, or `result.json` in the folder.
pub fn path_of(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(NAME) } else { path.to_owned() }
}

/// Reads a result: its file, or the folder it is in.
///
/// # Errors
/// As [`of_json`], and if there is no such file, or it has more than 64 MiB. All name the file.
pub fn read(path: &Path) -> Result<Measurement, MeasureError> {
    let path = path_of(path);
    let text = bounded(&path).map_err(|problem| MeasureError::of_file(&path, problem))?;
    of_json(&text).map_err(|error| MeasureError::of_file(&path, error))
}

fn bounded(path: &Path) -> Result<String, String> {
    whole_file::text(path, MOST).map_err(|error| format!("{error}; {EXPECTED}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Verdict;
    use crate::plot::{Axis, Line, Look, Plot, Point};
    use crate::session::Session;
    use crate::table::{Cell, Column, Table};
    use proptest::prelude::*;

    fn cell() -> impl Strategy<Value = Cell> {
        // Such numbers come back to the last bit; others may change in their last digit.
        let number = any::<i32>().prop_map(|number| f64::from(number) / 8.0);
        let half = (0..8_000_000_i32).prop_map(|number| f64::from(number) / 8.0);
        prop_oneof![
            number.clone().prop_map(Cell::Number),
            (number, half.clone(), half).prop_map(|(value, below, above)| Cell::Measured {
                value,
                low: value - below,
                high: value + above
            }),
            ".{0,12}".prop_map(Cell::Text),
            Just(Cell::Missing),
        ]
    }

    fn result() -> impl Strategy<Value = Measurement> {
        let rows = prop::collection::vec(prop::collection::vec(cell(), 3), 0..6);
        (rows, ".{0,20}", prop::collection::vec((1..1_000_000_i32, 0..8_i32), 0..5)).prop_map(
            |(rows, sentence, points)| {
                let session =
                    Session::without_host("sweep", "Sweep", &["evforge".to_owned(), sentence.clone()]);
                let mut result = session.setting("size", sentence.clone()).end(Verdict::good(sentence));
                let columns = vec![
                    Column::key("a", "A", "B"),
                    Column::exact("b", "B", ""),
                    Column::measured("c", "C", "s").decimals(2),
                ];
                result.tables.push(Table { rows, ..Table::new("t", "T", columns) });
                let points = points
                    .into_iter()
                    .map(|(x, y)| {
                        let (x, y) = (f64::from(x), f64::from(y) / 8.0);
                        Point { high: Some(y + 1.0), ..Point::at(x, y) }
                    })
                    .collect();
                let plot = Plot::new("p", "P", Axis::logarithmic("A", "B"), Axis::logarithmic("C", "s"));
                result.plots.push(plot.with(Line::new("c", Look::Measured, points)));
                result
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(result in result()) {
            let read = of_json(&to_json(&result).unwrap()).unwrap();
            prop_assert_eq!(read, result);
        }

        /// A damaged file is read or refused in words, and what is read is sound.
        #[test]
        fn damage_is_refused_or_harmless(
            result in result(),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            end in any::<prop::sample::Index>(),
            cut in any::<bool>(),
        ) {
            let mut bytes = to_json(&result).unwrap().into_bytes();
            for (place, byte) in damage {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            if cut {
                bytes.truncate(end.index(bytes.len()));
            }
            match of_json(&String::from_utf8_lossy(&bytes)) {
                Ok(read) => {
                    read.check().unwrap();
                    to_json(&read).unwrap();
                    crate::report::html(&read).unwrap();
                }
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }

        #[test]
        fn arbitrary_text_is_no_result(text in "\\PC{0,300}") {
            prop_assert!(of_json(&text).is_err());
        }
    }

    #[test]
    fn what_cannot_be_read_is_explained() {
        let result = Session::without_host("link", "Link", &[]).end(Verdict::good("good"));
        let good = to_json(&result).unwrap();
        assert!(good.starts_with("{\n  \"format\": \"evforge measurement\",\n  \"schema\": 1,"), "{good}");
        let said = |text: &str| of_json(text).unwrap_err().to_string();
        for (text, expected) in [
            ("", "it is no result"),
            ("[1]", "it is no result"),
            ("{\"format\": \"x\", \"schema\": 1}", "format `x`"),
            (
                &good.replace("\"schema\": 1", "\"schema\": 2"),
                "schema 2; this evforge reads schema 1: use the evforge that wrote it",
            ),
            (&good.replace("\"schema\": 1", "\"schema\": 0"), "measure again"),
            (&good.replace("\"seconds\": ", "\"seconds\": -1"), "seconds -"),
            (&good.replace("\"link\"", "\"../link\""), "kind `../link`"),
            (&good.replace("\"verdict\"", "\"else\""), "missing field `verdict`"),
        ] {
            assert!(said(text).contains(expected), "{expected}: {}", said(text));
        }
    }

    #[test]
    fn a_file_of_any_size_asks_for_no_more_memory_than_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        std::fs::File::create(&path).unwrap().set_len(MOST + 1).unwrap();
        let said = read(folder.path()).unwrap_err().to_string();
        assert!(said.contains("result.json: it has 67108865 bytes, and at most 67108864 bytes"), "{said}");
        let missing = read(&folder.path().join("absent")).unwrap_err().to_string();
        assert!(missing.contains("absent: No such file") && missing.contains("--output"), "{missing}");
    }
}
