//! Pixels that a facility has given ids of its own: they are scored where they are in the picture.

use crate::truth::Neutron;
use evforge_core::event::Event;
use evforge_core::pixel_ids::PixelIds;

/// Puts pixels of the geometry in the places of ids, which truth and events carry. An id that the detector does not have becomes 0,
/// no pixel: neutrons there cannot be found, and [`score`](super::score()) refuses such events.
pub fn ids_to_pixels(ids: &PixelIds, neutrons: &mut [Neutron], events: &mut [Event]) {
    neutrons.iter_mut().for_each(|neutron| neutron.pixel_id = ids.pixel(neutron.pixel_id));
    events.iter_mut().for_each(|event| event.pixel_id = ids.pixel(event.pixel_id));
}
