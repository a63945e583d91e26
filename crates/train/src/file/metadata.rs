//! What a file says of itself: `METADATA`, and the place where the writer keeps what a repair needs.

use std::time::{SystemTime, UNIX_EPOCH};

use evforge_stream::storage::dataset::{preallocated, write_grid};
use evforge_stream::storage::text::create_text;
use hdf5_metno::types::{FixedAscii, VarLenUnicode};
use hdf5_metno::{Dataset, Error, File, Group, Result};
use jiff::Timestamp;

use super::options::TrainFileOptions;
use super::table::{IMAGES, PARTS, path_for};

/// The version of the format: the last one that readers of today know with `INDEX/flag` as it is here.
const VERSION: &str = "1.2";
/// The group of the writer's own; readers ignore it.
pub(super) const OWN: &str = "evforge";
/// In it: trains and images of the last commit, u64 each.
pub(super) const COMMITTED: &str = "committed";
/// In it: the source whose trains are in the file.
pub(super) const SOURCE: &str = "source";

/// A moment as `20261121T231500Z`.
pub(super) type Moment = FixedAscii<16>;

/// Now.
pub(super) fn now() -> Result<Moment> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or_default();
    moment(seconds)
}

fn moment(seconds: i64) -> Result<Moment> {
    let moment = Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH);
    let text = moment.strftime("%Y%m%dT%H%M%SZ").to_string();
    Moment::from_ascii(&text).map_err(|error| Error::from(format!("{text}: {error}")))
}

/// Makes all groups of a file, and `METADATA`. Returns the place of the last commit, and when the file was changed.
pub(super) fn create(
    file: &File,
    options: &TrainFileOptions,
    source: &str,
    sequence: u32,
) -> Result<(Dataset, Dataset)> {
    for part in PARTS {
        file.create_group(&format!("INDEX/{source}/{part}"))?;
        file.create_group(&format!("INSTRUMENT/{source}/{part}"))?;
    }
    for empty in ["CONTROL", "RUN"] {
        file.create_group(empty)?;
    }
    let metadata = file.create_group("METADATA")?;
    let sources = metadata.create_group("dataSources")?;
    let devices: Vec<String> = PARTS.iter().map(|part| format!("{source}/{part}")).collect();
    texts(&sources, "dataSourceId", devices.iter().map(|device| format!("INSTRUMENT/{device}")))?;
    texts(&sources, "root", devices.iter().map(|_| "INSTRUMENT".to_owned()))?;
    texts(&sources, "deviceId", devices.iter().cloned())?;

    let name = format!("evforge {}", env!("CARGO_PKG_VERSION"));
    let single = [
        ("dataFormatVersion", VERSION),
        ("daqLibrary", &name),
        ("karaboFramework", "none"),
        ("runType", "raw"),
        ("sample", &options.sample),
    ];
    for (name, text) in single {
        texts(&metadata, name, [text.to_owned()])?;
    }
    let numbers =
        [("proposalNumber", options.proposal), ("runNumber", options.run), ("sequenceNumber", sequence)];
    for (name, number) in numbers {
        write_grid(&metadata, name, &[1], &[number])?;
    }
    let now = now()?;
    write_grid(&metadata, "creationDate", &[1], &[now])?;
    let updated = preallocated::<Moment>(&metadata, "updateDate", 1)?;
    updated.write_raw(&[now])?;

    let own = file.create_group(OWN)?;
    create_text(&own, SOURCE, source, 0)?;
    let committed = preallocated::<u64>(&own, COMMITTED, 2)?;
    committed.write_raw(&[0_u64, 0])?;
    Ok((committed, updated))
}

/// The group in which the images are.
pub(super) fn image_group(file: &File, source: &str) -> Result<Group> {
    let path = path_for(IMAGES, source);
    file.group(path.rsplit_once('/').map_or("/", |(group, _)| group))
}

/// A list of texts of any length; all are in the file before anybody may follow it.
fn texts(group: &Group, name: &str, texts: impl IntoIterator<Item = String>) -> Result<()> {
    let parse = |text: String| text.parse::<VarLenUnicode>();
    let texts: std::result::Result<Vec<_>, _> = texts.into_iter().map(parse).collect();
    let texts = texts.map_err(|_| Error::from(format!("a text of {name} contains a zero byte")))?;
    write_grid(group, name, &[texts.len()], &texts).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_facility() {
        assert_eq!(moment(1_795_302_900).unwrap().as_str(), "20261121T231500Z");
        assert_eq!(moment(0).unwrap().as_str(), "19700101T000000Z");
    }
}
