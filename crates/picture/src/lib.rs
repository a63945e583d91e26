//! From counts per pixel to pictures, in one place for everybody who shows them: the PNG at the end of a run, the page of
//! the live view, the histograms of words.
//!
//! ```text
//! counts per pixel ──► PictureSet ──► images ──► cells ──► colours ──► page
//!                      (projection)            (binning)  (scale)  └─► Sheet ──► PNG
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | which pictures a detector and its beam monitors have, with titles and axes | [`PictureSet`] |
//! | where panels are in a picture, pictures blade by blade | [`PanelLayout`], [`Blades`] |
//! | how pixels become a flat image | [`PictureSet::add`], [`Plane`] |
//! | where each pixel is in a picture, for counting straight into it | [`PictureSet::places`] |
//! | an image on fewer or more points than it has pixels | [`AxisFit`], [`Cells`] |
//! | colours of counts, which the page has from here | [`ColourMap`], [`COLOUR_STEPS`], [`colours`], [`Scale`] |
//! | what stands above a picture: counts, dates, losses | [`Caption`] |
//! | the PNG | [`Sheet`], [`encode_png`] |
//! | spectra as lines, with a PNG of their own | [`LineChart`] |
//! | other numbers in a square, such as how often each word came | [`Grid`] |

#![forbid(unsafe_code)]

mod axis;
mod binning;
mod blades;
mod canvas;
mod caption;
mod colours;
mod grid;
mod image;
mod line_chart;
mod panels;
mod picture_plan;
mod picture_set;
mod places;
mod plane;
mod plot;
mod png_file;
mod scale;
mod sheet;

pub use axis::{Axis, Unit};
pub use binning::{AxisFit, Cells, fit};
pub use blades::Blades;
pub use caption::{Caption, dates_text, heading, loss_text};
pub use colours::{COLOUR_STEPS, ColourMap, EMPTY_COLOUR, Rgb, colours, page_table};
pub use grid::Grid;
pub use image::{Image, block_sums};
pub use line_chart::{Curve, LineChart};
pub use panels::PanelLayout;
pub use picture_plan::PicturePlan;
pub use picture_set::PictureSet;
pub use places::{NOWHERE, long_axes};
pub use plane::Plane;
pub use png_file::{PictureError, encode_png};
pub use scale::Scale;
pub use sheet::{DrawnPicture, Sheet, SheetRecord};
