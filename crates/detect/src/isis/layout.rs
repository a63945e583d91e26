//! Where the ids of an instrument are in a picture: a row for each board or channel.

use super::settings::{IsisSettings, PixelSettings};
use crate::settings::SettingsError;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::pixel_ids::{IdRange, PixelIds};
use std::sync::Arc;

/// Columns that a picture has at most: channels with more ids take several rows.
const MOST_COLUMNS: u32 = 1024;

/// The picture, and the pixel of each id.
#[derive(Clone, Debug)]
pub struct PixelLayout {
    /// Rows and columns.
    pub geometry: LogicalGeometry,
    /// Which pixel an id is.
    pub ids: Arc<PixelIds>,
}

impl IsisSettings {
    /// Where the ids are in pictures.
    ///
    /// # Errors
    /// If they cannot be numbered.
    pub fn layout(&self) -> Result<PixelLayout, SettingsError> {
        of(self)
    }
}

/// That of these settings: of the wiring table where there is one.
fn of(settings: &IsisSettings) -> Result<PixelLayout, SettingsError> {
    let (key, ranges, nx, ny) = if settings.rows.is_empty() {
        let PixelSettings { first_id, nx, ny } = settings.pixels;
        ("pixels", vec![IdRange { first_id, count: nx.saturating_mul(ny), first_pixel: 1 }], nx, ny)
    } else {
        let longest = settings.rows.iter().map(|row| row.ids).max().unwrap_or(1);
        // 65 536 positions of fibres are 256 rows of 256.
        let nx = if longest > MOST_COLUMNS { 256 } else { longest };
        let mut ny = 0_u32;
        let mut ranges = Vec::with_capacity(settings.rows.len());
        for row in &settings.rows {
            ranges.push(IdRange {
                first_id: row.first_id,
                count: row.ids,
                first_pixel: ny.saturating_mul(nx) + 1,
            });
            ny = ny.saturating_add(row.ids.div_ceil(nx));
        }
        ("wiring", ranges, nx, ny)
    };
    let refuse = |problem: String| SettingsError { key: key.into(), problem };
    let geometry = LogicalGeometry::flat(nx, ny).map_err(|error| refuse(error.to_string()))?;
    let ids = PixelIds::new(&ranges).map_err(|_| refuse("two rows have ids in common".into()))?;
    Ok(PixelLayout { geometry, ids: Arc::new(ids) })
}
