//! What a simulated detector must offer: neutrons and gammas in, charge on channels out.

pub use crate::electronics::Charge;
use crate::electronics::Electronics;
use crate::layout::Layout;
pub use crate::resolvable::{Resolution, TriggerTimes};
use evforge_core::event::PixelId;
use evforge_core::geometry::{Coordinates, LogicalGeometry};
use rand::rngs::SmallRng;

/// A neutron, or a gamma, that reaches the detector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strike {
    /// Picoseconds since the start of its pulse.
    pub time_ps: u64,
    /// Column in its panel, in pixels: pixel *i* reaches from *i* to *i* + 1.
    pub x: f64,
    /// Row in its panel, in pixels.
    pub y: f64,
    /// Its panel.
    pub panel: u32,
    /// Wavelength in ångström; 0 for a gamma.
    pub wavelength: f32,
}

/// Where and when an ideal reconstruction finds a neutron.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrueEvent {
    /// The module.
    pub module: u16,
    /// Column, row and layer in the panel, in pixels.
    pub position: [f64; 3],
    /// The panel.
    pub panel: u32,
    /// Picoseconds since the start of the pulse, at the point of the track that the detector's event time stands for.
    pub time_ps: u64,
}

impl TrueEvent {
    /// Its pixel's coordinates.
    pub fn coordinates(&self) -> Coordinates {
        let [x, y, z] = self.position.map(|value| value.max(0.0) as u32);
        Coordinates { x, y, z, panel: self.panel }
    }
}

/// A simulated detector.
pub trait DetectorModel: Send + Sync {
    /// Its channels.
    fn layout(&self) -> &Layout;

    /// Its pixels.
    fn geometry(&self) -> &LogicalGeometry;

    /// The id of a pixel in the events: its number in the geometry, unless a facility has given others.
    fn pixel_id(&self, coordinates: Coordinates) -> PixelId {
        self.geometry().pixel(coordinates)
    }

    /// What the picture in the beam is stretched over, in whose pixels neutrons come: usually its pixels.
    fn picture(&self) -> &LogicalGeometry {
        self.geometry()
    }

    /// True if a neutron at this column and row of this panel can be found: its pixels are wired.
    fn is_sensitive(&self, x: u32, y: u32, panel: u32) -> bool;

    /// Adds the charge that a neutron leaves and returns what an ideal reconstruction makes of it; none if it left
    /// nothing, because it went through.
    fn add_neutron(
        &self,
        strike: &Strike,
        random: &mut SmallRng,
        charges: &mut Vec<Charge>,
    ) -> Option<TrueEvent>;

    /// Adds the charge that a gamma of the background leaves.
    fn add_gamma(&self, strike: &Strike, random: &mut SmallRng, charges: &mut Vec<Charge>);

    /// What, besides its electronics, keeps the most perfect reconstruction from telling neutrons apart. No parameter of
    /// a reconstruction changes it.
    fn resolution(&self) -> Resolution;

    /// The electronics that this detector is read by, unless it is configured otherwise.
    fn electronics(&self) -> Electronics;

    /// Mean amplitude of a noise hit on a channel, in steps of the converter.
    fn noise_amplitude(&self) -> f64;
}
