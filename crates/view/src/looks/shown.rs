//! From counts to frames.

use super::board::{Key, Wanted};
use super::cut::{Cut, RegionCount, image_is_of_everything};
use super::look::{Look, Selection};
use super::pictured::Pictured;
use crate::beam::{Charge, microampere_hours};
use crate::look_frame::{HeadRegion, LookFrame, LookHead};
use crate::shared::Shared;
use bytes::Bytes;
use evforge_picture::{AxisFit, Image, block_sums};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A look as it was sent last.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShownLook {
    /// From 1; 0 is none.
    pub(crate) number: u32,
    pub(crate) frame: Bytes,
}

/// The newest frames, by the keys of their looks.
pub(crate) type ShownLooks = HashMap<Key, ShownLook>;

/// Counts that are kept, and frames that were made.
#[derive(Debug, Default)]
pub(crate) struct Studio {
    cuts: HashMap<Key, Cut>,
    /// Each with what it was made from.
    shown: HashMap<Key, (Origin, ShownLook)>,
}

/// What a frame was made from: equal ones make equal pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Origin {
    events: u64,
    replaced: u64,
    cut: u64,
    missed: u64,
    charge: Option<Charge>,
}

/// What is the same for all looks of a pass.
#[derive(Debug)]
pub(crate) struct Moment {
    events: u64,
    replaced: u64,
    charge: Option<Charge>,
    now_ms: u64,
    /// Images of all events, by picture.
    images: HashMap<usize, Arc<Image>>,
}

impl Moment {
    pub(crate) fn of(shared: &Shared) -> Self {
        // Counted before the pictures are made: events that come meanwhile make the next ones.
        Self {
            events: shared.events(),
            replaced: shared.replaced(),
            charge: shared.charge(),
            now_ms: shared.clock_ms(),
            images: HashMap::new(),
        }
    }

    fn image(&mut self, shared: &Shared, picture: usize) -> Arc<Image> {
        Arc::clone(self.images.entry(picture).or_insert_with(|| Arc::new(shared.image(picture))))
    }
}

/// Whether a selection has counts of its own.
fn has_cut(selection: &Selection, pictured: &Pictured) -> bool {
    !image_is_of_everything(selection, pictured)
        || !selection.regions.is_empty()
        || selection.bins != pictured.bins()
}

/// The frame of a look now, for whoever asks once.
pub(crate) fn look_once(shared: &Shared, look: &Look) -> LookFrame {
    let mut moment = Moment::of(shared);
    let cut = has_cut(&look.selection, &shared.pictured).then(|| {
        let mut cut = Cut::new(&look.selection, &shared.pictured);
        cut.catch_up(&shared.memories(), moment.now_ms);
        cut
    });
    // Scripts compare contents, not numbers: the number of events modulo 2^32 changes with the picture.
    let number = moment.events as u32;
    frame_of(shared, look, cut.as_ref(), &mut moment, number)
}

impl Studio {
    /// The frames of `wanted`, those that have changed made again.
    pub(crate) fn pass(&mut self, shared: &Shared, wanted: &[Wanted]) -> ShownLooks {
        let mut moment = Moment::of(shared);
        let selections: HashSet<&Key> = wanted.iter().map(|wanted| &wanted.selection).collect();
        self.cuts.retain(|key, _| selections.contains(key));
        let keys: HashSet<&Key> = wanted.iter().map(|wanted| &wanted.key).collect();
        self.shown.retain(|key, _| keys.contains(key));
        let memories = shared.memories();
        for Wanted { selection, look, .. } in wanted {
            if has_cut(&look.selection, &shared.pictured) && !self.cuts.contains_key(selection) {
                self.cuts.insert(Arc::clone(selection), Cut::new(&look.selection, &shared.pictured));
            }
        }
        self.cuts.values_mut().for_each(|cut| cut.catch_up(&memories, moment.now_ms));
        let mut frames = ShownLooks::new();
        for Wanted { key, selection, look } in wanted {
            let cut = self.cuts.get(selection);
            let origin = Origin {
                events: if cut.is_some() && !image_is_of_everything(&look.selection, &shared.pictured) {
                    0
                } else {
                    moment.events
                },
                replaced: moment.replaced,
                cut: cut.map_or(0, |cut| cut.version),
                missed: cut.map_or(0, |cut| cut.counts.missed),
                charge: moment.charge,
            };
            let (made_from, shown) = self.shown.entry(Arc::clone(key)).or_default();
            if shown.number == 0 || *made_from != origin {
                let number = shown.number.wrapping_add(1);
                let frame = frame_of(shared, look, cut, &mut moment, number).encode();
                (*made_from, *shown) = (origin, ShownLook { number, frame });
            }
            frames.insert(Arc::clone(key), shown.clone());
        }
        frames
    }
}

/// How many neighbours are added up where `pixels` are to be no more than `points`.
fn block(pixels: u32, points: u32) -> u32 {
    AxisFit::new(pixels, 0.0, points).block
}

fn frame_of(shared: &Shared, look: &Look, cut: Option<&Cut>, moment: &mut Moment, number: u32) -> LookFrame {
    let (selection, pictured) = (&look.selection, &shared.pictured);
    let is_everything = image_is_of_everything(selection, pictured);
    let [x0, y0, x1, y1] = look.part;
    let block = [block(x1 - x0, look.points[0]), block(y1 - y0, look.points[1])];
    let (image, events, all) = match cut.filter(|_| !is_everything) {
        Some(cut) => {
            let [columns, _] = pictured.size(selection.picture, selection.bins.count);
            let sums = block_sums(&cut.counts.image, columns, [x0, y0], [x1, y1], block);
            (sums, cut.counts.events, cut.counts.all)
        }
        None => {
            let image = moment.image(shared, selection.picture);
            let total = image.total();
            (image.block_sums([x0, y0], [x1, y1], block), total, total)
        }
    };
    let part = pictured.part_of(selection.picture);
    let is_counted_by_bins = is_everything && selection.bins == pictured.bins();
    let bins = selection.bins.count as usize;
    let spectra = cut.map_or(&[][..], |cut| &cut.counts.spectra);
    let spectrum = if is_counted_by_bins { shared.spectrum(part) } else { spectra[..bins].to_vec() };
    let regions: &[RegionCount] = cut.map_or(&[], |cut| &cut.counts.regions);
    let names = pictured.monitors().into_iter().map(|(name, _)| name);
    let monitors = match cut {
        Some(cut) => names.zip(cut.counts.monitors.iter().copied()).collect(),
        None => names.zip(shared.monitor_events()).collect(),
    };
    let since_ms = cut.map_or(shared.started_ms, |cut| cut.since_ms(shared.started_ms, moment.now_ms));
    let head = LookHead {
        picture: pictured.name(selection.picture),
        part: look.part,
        block,
        nx: image.nx,
        ny: image.ny,
        since_ms,
        missed: cut.map_or(0, |cut| cut.counts.missed),
        seconds: moment.now_ms.saturating_sub(since_ms) as f64 / 1e3,
        pulses: cut.map_or_else(|| shared.pulses(), |cut| cut.counts.pulses),
        charge_uah: moment.charge.map(|all| microampere_hours(cut.map_or(all, |cut| cut.counts.charge))),
        events,
        all,
        monitors,
        bins: selection.bins,
        spectrum: String::new(),
        regions: selection
            .regions
            .iter()
            .zip(regions)
            .map(|(region, count)| HeadRegion {
                name: region.name.clone(),
                pixels: count.pixels,
                events: count.events,
                all: count.all,
                spectrum: String::new(),
            })
            .collect(),
        image: String::new(),
    };
    let region_spectra = spectra.chunks_exact(bins).skip(1).map(<[u64]>::to_vec).collect();
    LookFrame { number, head, image, spectrum, region_spectra }
}
