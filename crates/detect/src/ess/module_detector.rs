//! A detector whose hits meet in modules only, on one thread or on several.

use super::former::Placed;
use super::module_former::{ModuleFormer, WindowAnalysis};
use super::pipeline::EssVmm;
use super::settings::{EssSettings, VmmSettings};
use super::shared_former::SharedFormer;

use crate::beam_monitors::{BeamMonitorSettings, alongside};
use crate::dealt_hits::{Share, Shares};
use crate::module_windows::{ModuleShare, ModuleWindows};
use crate::settings::SettingsError;
use crate::workers::Workers;
use evforge_core::detector::Detector;
use evforge_core::geometry::LogicalGeometry;
use std::sync::Arc;

/// What such a detector is made of.
#[derive(Debug)]
pub struct ModuleDetector<'a> {
    /// The readout.
    pub ess: &'a EssSettings,
    /// The wiring: the target of a channel is its module.
    pub vmm: VmmSettings,
    /// The pixels.
    pub geometry: LogicalGeometry,
    /// How many modules there are.
    pub modules: usize,
    /// Beam monitors alongside.
    pub monitors: Option<&'a BeamMonitorSettings>,
    /// The threads that form, if there are several.
    pub workers: Option<Arc<dyn Workers>>,
}

impl ModuleDetector<'_> {
    /// The detector. `windows` makes the windows of some of the modules; `finish` says what else
    /// its formers are.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn build<W: WindowAnalysis + 'static>(
        self,
        windows: impl Fn(ModuleShare) -> W,
        finish: impl Fn(ModuleFormer<W>) -> ModuleFormer<W>,
    ) -> Result<Box<dyn Detector>, SettingsError>
    where
        W::Hit: Placed + Send,
    {
        let held = self.ess.sorting.max_held_hits;
        let former = |share: ModuleShare| finish(ModuleFormer::of_share(share, held, windows(share)));
        let Self { ess, ref vmm, geometry, modules, monitors, ref workers } = self;
        let parts = workers.as_ref().map_or(1, |workers| workers.count()).clamp(1, modules.max(1));
        let Some(workers) = workers.as_ref().filter(|_| parts > 1) else {
            let detector = EssVmm::new(ess, vmm, former(ModuleShare::all(modules)), geometry)?;
            return Ok(Box::new(alongside(monitors, ess, detector)?));
        };
        let share = |module: usize| Share { part: (module % parts) as u32, target: (module / parts) as u32 };
        let shares = Arc::new(Shares::new(parts, (0..modules).map(share)));
        let events = ModuleWindows::event_capacity(modules.div_ceil(parts), held);
        let formers = (0..parts).map(|part| former(ModuleShare::part(modules, part, parts)));
        let shared = SharedFormer::new(formers, events, Arc::clone(&shares), Arc::clone(workers));
        let detector = EssVmm::new(ess, vmm, shared, geometry)?.decoded_by(Arc::clone(workers), shares);
        Ok(Box::new(alongside(monitors, ess, detector)?))
    }
}
