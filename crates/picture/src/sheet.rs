//! The sheet: caption and all pictures, as one PNG.

use crate::binning::fit;
use crate::canvas::{Anchor, Area, Canvas, Font};
use crate::caption::Caption;
use crate::image::Image;
use crate::picture_plan::PicturePlan;
use crate::picture_set::total;
use crate::plot::{INK, Plot};
use crate::png_file::{PictureError, encode_png};
use evforge_core::quantity::grouped;
use serde::{Deserialize, Serialize};

pub(crate) const PAPER: [u8; 3] = [255, 255, 255];
const WARNING: [u8; 3] = [176, 24, 24];
pub(crate) const MARGIN: i32 = 16;
/// Between lines of the caption.
pub(crate) const LINE_GAP: i32 = 4;
/// Between pictures.
const GAP: i32 = 20;
const SHORTEST_ROW: i32 = 420;
/// Longer lines are cut in the picture: titles may be of any length. The texts of the PNG have them in full.
const LONGEST_LINE: usize = 160;
/// Pictures follow one another in a row as long as it is not wider.
const WIDEST_ROW: i32 = 1720;
/// What the longer side of the only picture should take, in points, and that of one of several.
const WANTED: [u32; 2] = [768, 640];
/// No side takes more points: pixels are drawn one by one up to here.
const MOST: u32 = 2560;

/// Pictures with what stands above them.
#[derive(Clone, Copy, Debug)]
pub struct Sheet<'a> {
    /// Which pictures.
    pub plans: &'a [PicturePlan],
    /// Their images.
    pub images: &'a [Image],
    /// What stands above them.
    pub caption: &'a Caption,
    /// Events that no picture has.
    pub outside: u64,
}

/// What a PNG says of itself, in JSON in its text `evforge`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SheetRecord {
    /// Events in the pictures, each once.
    pub events: u64,
    /// Events that no picture has.
    pub outside: u64,
    /// The pictures.
    pub pictures: Vec<DrawnPicture>,
}

/// A picture on a sheet, and where its cells are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrawnPicture {
    /// What programs call it.
    pub name: String,
    /// Columns.
    pub nx: u32,
    /// Rows.
    pub ny: u32,
    /// Sum of its counts.
    pub sum: u64,
    /// Where its cells begin: points from the left and from the top. None where it is written as a number.
    pub corner: Option<[u32; 2]>,
    /// Pixels that share a cell, in a row and in a column.
    pub block: [u32; 2],
    /// Points that a cell takes, to the right and upwards.
    pub factor: [u32; 2],
}

impl Sheet<'_> {
    /// The sheet as a PNG.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn to_png(&self) -> Result<Vec<u8>, PictureError> {
        let (canvas, record) = self.draw();
        let (width, height, points) = canvas.into_points();
        let json = serde_json::to_string(&record).unwrap_or_default();
        let description = [&self.caption.lines[..], &self.caption.warnings].concat().join("; ");
        let texts = [
            ("Title", self.caption.title.clone()),
            ("Description", description),
            ("Software", format!("evforge {}", env!("CARGO_PKG_VERSION"))),
            ("evforge", json),
        ];
        encode_png(width, height, &points, &texts)
    }

    fn draw(&self) -> (Canvas, SheetRecord) {
        let drawn: Vec<(&PicturePlan, &Image)> =
            self.plans.iter().zip(self.images).filter(|(plan, _)| !plan.is_number()).collect();
        let wanted = WANTED[usize::from(drawn.len() > 1)];
        let plots: Vec<Plot<'_>> = drawn
            .into_iter()
            .map(|(plan, image)| {
                let pitch = plan.across.pitch.zip(plan.up.pitch).map(|(across, up)| [across, up]);
                Plot { plan, image, fit: fit([image.nx, image.ny], pitch, wanted, MOST) }
            })
            .collect();
        let lines = self.lines();
        let above = MARGIN + lines.iter().map(|(_, font, _)| font.height() + LINE_GAP).sum::<i32>() + 12;
        let places = places(plots.iter().map(Plot::size), above);
        let text_width = lines.iter().map(|(text, font, _)| font.width(text)).max().unwrap_or(0);
        let mut width = (text_width + 2 * MARGIN).max(SHORTEST_ROW);
        let mut height = above;
        for (plot, (left, top)) in plots.iter().zip(&places) {
            let (across, up) = plot.size();
            width = width.max(left + across + MARGIN);
            height = height.max(top + up + MARGIN);
        }
        let mut canvas = Canvas::new(width as u32, height as u32, PAPER);
        let mut top = MARGIN;
        for (text, font, colour) in &lines {
            canvas.text(text, (MARGIN, top + font.height() / 2), Anchor::Left, *font, *colour);
            top += font.height() + LINE_GAP;
        }
        let mut areas = plots.iter().zip(places).map(|(plot, at)| (plot.fit, plot.draw(&mut canvas, at)));
        let pictures = self.plans.iter().zip(self.images).map(|(plan, image)| {
            let area = if plan.is_number() { None } else { areas.next() };
            let corner = area.map(|(_, Area { left, top, .. })| [left as u32, top as u32]);
            let fit = area.map(|(fit, _)| fit);
            DrawnPicture {
                name: plan.name.clone(),
                nx: image.nx,
                ny: image.ny,
                sum: image.total(),
                corner,
                block: fit.map_or([1, 1], |fit| fit.map(|axis| axis.block)),
                factor: fit.map_or([1, 1], |fit| fit.map(|axis| axis.factor)),
            }
        });
        let pictures = pictures.collect();
        (canvas, SheetRecord { events: total(self.plans, self.images), outside: self.outside, pictures })
    }

    /// The caption, and monitors that are a number.
    fn lines(&self) -> Vec<CaptionLine> {
        let numbers = self.plans.iter().zip(self.images).filter(|(plan, _)| plan.is_number());
        let numbers =
            numbers.map(|(plan, image)| format!("{}: {} events", plan.name, grouped(image.total())));
        caption_lines(self.caption, &numbers.collect::<Vec<_>>())
    }
}

/// A line of text, with its font and its colour.
pub(crate) type CaptionLine = (String, Font, [u8; 3]);

/// A caption, line by line; `further` stand below its lines, and its warnings below those.
pub(crate) fn caption_lines(caption: &Caption, further: &[String]) -> Vec<CaptionLine> {
    let title = (caption.title.clone(), Font::Title, INK);
    let plain = caption.lines.iter().chain(further).cloned();
    let warnings = caption.warnings.iter().cloned();
    let below = plain.map(|line| (line, INK)).chain(warnings.map(|line| (line, WARNING)));
    let mut lines: Vec<_> =
        std::iter::once(title).chain(below.map(|(line, ink)| (line, Font::Normal, ink))).collect();
    for (line, ..) in &mut lines {
        if let Some((end, _)) = line.char_indices().nth(LONGEST_LINE) {
            line.replace_range(end.., " ...");
        }
    }
    lines
}

/// Corners of pictures of these sizes, in rows from the top.
fn places(sizes: impl Iterator<Item = (i32, i32)>, top: i32) -> Vec<(i32, i32)> {
    let (mut left, mut top, mut deepest) = (MARGIN, top, 0);
    let mut places = Vec::new();
    for (width, height) in sizes {
        if left > MARGIN && left + width > WIDEST_ROW {
            (left, top, deepest) = (MARGIN, top + deepest + GAP, 0);
        }
        places.push((left, top));
        left += width + GAP;
        deepest = deepest.max(height);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colours::{EMPTY_COLOUR, colours};
    use crate::picture_set::PictureSet;
    use evforge_core::geometry::LogicalGeometry;

    type Decoded = (u32, Vec<u8>, SheetRecord);

    fn decoded(bytes: &[u8]) -> Decoded {
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("a PNG");
        let texts = &reader.info().utf8_text;
        let own = texts.iter().find(|text| text.keyword == "evforge").expect("our text");
        let record = serde_json::from_str(&own.get_text().expect("text")).expect("a record");
        let mut points = vec![0; reader.output_buffer_size().expect("a size")];
        let width = reader.next_frame(&mut points).expect("a picture").width;
        (width, points, record)
    }

    fn sheet(geometry: LogicalGeometry, counts: &[u64]) -> Decoded {
        let set = PictureSet::of_geometry(&geometry);
        let mut images = set.images();
        set.add(&mut images, counts.iter().copied());
        let caption = Caption { title: "Test".into(), lines: vec!["1 event".into()], warnings: vec![] };
        decoded(
            &Sheet { plans: set.plans(), images: &images, caption: &caption, outside: 3 }
                .to_png()
                .expect("a PNG"),
        )
    }

    /// The colour in the middle of a pixel, column and row from the bottom left.
    fn colour_of((width, points, record): &Decoded, picture: usize, [column, row]: [u32; 2]) -> [u8; 3] {
        let drawn = &record.pictures[picture];
        let [left, top] = drawn.corner.expect("it is drawn");
        let x = left + column / drawn.block[0] * drawn.factor[0] + drawn.factor[0] / 2;
        let rows = drawn.ny.div_ceil(drawn.block[1]);
        let y = top + (rows - 1 - row / drawn.block[1]) * drawn.factor[1] + drawn.factor[1] / 2;
        let at = 3 * (y * width + x) as usize;
        points[at..at + 3].try_into().expect("a point")
    }

    #[test]
    fn pixel_1_is_at_the_bottom_left_and_counts_have_their_colours() {
        let drawn = sheet(LogicalGeometry::flat(2, 2).unwrap(), &[9, 0, 0, 1]);
        let found = [[0, 0], [1, 0], [0, 1], [1, 1]].map(|place| colour_of(&drawn, 0, place));
        let one = Scale::logarithmic(9.0, 1.0).colour(1.0);
        assert_eq!(found, [colours()[255], EMPTY_COLOUR, EMPTY_COLOUR, one]);
        let picture = &drawn.2.pictures[0];
        assert_eq!((drawn.2.events, drawn.2.outside, picture.sum), (10, 3, 10));
        assert_eq!((picture.block, picture.factor), ([1, 1], [384, 384]));
    }

    use crate::scale::Scale;

    #[test]
    fn layers_and_panels_are_all_there() {
        let geometry = LogicalGeometry::new(2, 2, 2, 2).unwrap();
        let mut counts = [0; 16];
        // Panel 1, layer 1, row 1, column 0.
        counts[8 + 4 + 2] = 5;
        let drawn = sheet(geometry, &counts);
        let lit = |picture: usize, [nx, ny]: [u32; 2]| -> Vec<[u32; 2]> {
            let all = (0..ny).flat_map(|row| (0..nx).map(move |column| [column, row]));
            all.filter(|&place| colour_of(&drawn, picture, place) == colours()[255]).collect()
        };
        assert_eq!([lit(0, [4, 2]), lit(1, [4, 2]), lit(2, [4, 2])], [[[2, 1]], [[2, 1]], [[3, 1]]]);
        assert!(drawn.2.pictures.iter().all(|picture| picture.sum == 5));
    }

    #[test]
    fn a_picture_that_is_too_large_is_a_mean_on_that_axis_alone() {
        let mut counts = vec![0; 5000 * 2];
        counts[4999] = 4;
        let drawn = sheet(LogicalGeometry::flat(5000, 2).unwrap(), &counts);
        let picture = &drawn.2.pictures[0];
        assert_eq!((picture.block, picture.factor[0]), ([2, 1], 1));
        assert_eq!(colour_of(&drawn, 0, [4999, 0]), colours()[255]);
        assert_eq!(colour_of(&drawn, 0, [4997, 0]), EMPTY_COLOUR);
    }
}
