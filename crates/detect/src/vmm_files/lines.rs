//! Offsets and slopes of the 64 channels of a VMM.

use super::json::Table;
use crate::calibration::Line;

/// Channels of a VMM.
pub const CHANNELS: usize = 64;

/// The lines of the channels, from the lists `offsets` and `slopes` of a table; none where both are missing. `place`
/// is what errors begin with.
///
/// # Errors
/// If one of the lists is missing, has another length than 64, or has something else than numbers that a line can have.
pub fn lines(
    table: &Table<'_>,
    place: &str,
    offsets: &str,
    slopes: &str,
) -> Result<Option<Vec<Line>>, String> {
    let (offset_list, slope_list) = match (numbers(table, offsets)?, numbers(table, slopes)?) {
        (Some(offsets), Some(slopes)) => (offsets, slopes),
        (None, None) => return Ok(None),
        (Some(_), None) => return Err(format!("{place}: {offsets}, but no {slopes}")),
        (None, Some(_)) => return Err(format!("{place}: {slopes}, but no {offsets}")),
    };
    for (name, list) in [(offsets, &offset_list), (slopes, &slope_list)] {
        if list.len() != CHANNELS {
            let found = list.len();
            return Err(format!("{place}: found {found} {name}, expected {CHANNELS}, one for each channel"));
        }
    }
    let line = |(channel, (&offset, &slope))| {
        Line::new(offset, slope)
            .map_err(|error| format!("{place}: {offsets} and {slopes}, channel {channel}: {error}"))
    };
    offset_list.iter().zip(&slope_list).enumerate().map(line).collect::<Result<_, _>>().map(Some)
}

/// The numbers of a list, if there is one. The laboratory programs write an empty list for none.
fn numbers(table: &Table<'_>, key: &str) -> Result<Option<Vec<f64>>, String> {
    let Some(list) = table.optional(key) else { return Ok(None) };
    let values = list.list()?;
    let numbers = values.iter().map(|value| value.number()).collect::<Result<Vec<_>, _>>()?;
    Ok(Some(numbers).filter(|numbers| !numbers.is_empty()))
}
