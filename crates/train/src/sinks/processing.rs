//! Steps over the images of trains, of each module its own.

use crate::node::{NodeTrain, SinkError, TrainSink, sum};
use crate::processing::{
    Calibration, Chain, IntegratedImages, Integration, ProcessedTrain, ProcessingCounters, Region, Step,
    Threshold, ValueType, VetoList,
};
use evforge_core::settings::SettingsError;
use evforge_wire::train::TrainDetector;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Which steps there are, in the order in which they look at an image.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessingPlan {
    /// Images of these pulses are rejected.
    pub veto: Vec<u64>,
    /// Pedestals and gains of each module; images of a module without are rejected. None leaves values as they are.
    pub calibration: Option<BTreeMap<u8, Calibration>>,
    /// Images with fewer values above the first than the second says are rejected.
    pub threshold: Option<(f32, usize)>,
    /// Images whose sum in these rows and columns is not within the limits are rejected.
    pub region: Option<(Range<usize>, Range<usize>, [f64; 2])>,
    /// The images that are kept are added up, with an intensity for each pulse below this number.
    pub pulses: Option<usize>,
}

impl ProcessingPlan {
    /// True if there is no step.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The steps over the images of a module.
    ///
    /// # Errors
    /// The step that is impossible, and why.
    pub fn chain(&self, detector: TrainDetector, module: u8) -> Result<Chain, SettingsError> {
        let (shape, mut steps) = (detector.shape(), Vec::<Box<dyn Step>>::new());
        let values = shape.iter().product();
        if !self.veto.is_empty() {
            steps.push(Box::new(VetoList::new(self.veto.clone())));
        }
        if let Some(modules) = &self.calibration {
            let constants = modules.get(&module).cloned();
            steps.push(Box::new(constants.unwrap_or_else(|| Calibration::unknown(values))));
        }
        if let Some((level, least)) = self.threshold {
            steps.push(Box::new(Threshold::new(level, least)?));
        }
        if let Some((rows, columns, limits)) = &self.region {
            steps.push(Box::new(Region::new(shape, rows.clone(), columns.clone(), *limits)?));
        }
        if let Some(pulses) = self.pulses {
            steps.push(Box::new(Integration::new(values, pulses)));
        }
        Chain::new(values, steps)
    }
}

/// What the steps have done.
#[derive(Clone, Debug, Default)]
pub struct Processed {
    /// Images of all modules.
    pub counters: ProcessingCounters,
    /// What was added up of each module, once the node has ended.
    pub sums: BTreeMap<u8, IntegratedImages>,
}

/// Has steps look at the images of trains. What they reject, sinks behind it leave out.
#[derive(Debug)]
pub struct ProcessingSink {
    plan: ProcessingPlan,
    detector: TrainDetector,
    chains: BTreeMap<u8, Chain>,
    out: ProcessedTrain,
    processed: Arc<Mutex<Processed>>,
}

impl ProcessingSink {
    /// These steps, over images of this detector.
    ///
    /// # Errors
    /// The step that is impossible, and why.
    pub fn new(plan: ProcessingPlan, detector: TrainDetector) -> Result<Self, SettingsError> {
        // Those of a module are made with its first train; that they can be is known now.
        let known = plan.calibration.iter().flat_map(BTreeMap::keys).copied();
        known.chain([0]).try_for_each(|module| plan.chain(detector, module).map(drop))?;
        let out = ProcessedTrain::new(ValueType::Nothing);
        Ok(Self { plan, detector, chains: BTreeMap::new(), out, processed: Arc::default() })
    }

    /// What the steps have done, to be looked at once the node has ended, or while it runs.
    pub fn processed(&self) -> Arc<Mutex<Processed>> {
        Arc::clone(&self.processed)
    }

    fn counters(&self) -> ProcessingCounters {
        sum(self.chains.values().map(|chain| *chain.counters()))
    }
}

impl TrainSink for ProcessingSink {
    fn take(&mut self, train: &mut NodeTrain) -> Result<(), SinkError> {
        let chain = match self.chains.entry(train.module) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let made = self.plan.chain(self.detector, train.module);
                let failed = |error: SettingsError| SinkError {
                    sink: "steps over images",
                    problem: error.to_string(),
                };
                entry.insert(made.map_err(failed)?)
            }
        };
        if chain.process_assembled(&train.train, &mut self.out) {
            let images = train.train.layout().map_or(0, evforge_wire::train::TrainLayout::images);
            let kept = self.out.indices();
            let mut next = kept.iter().copied().peekable();
            // Those with holes are not rejected: what becomes of them is another question.
            train.rejected.extend((0..images).filter(|&image| {
                let is_kept = next.next_if_eq(&image).is_some();
                !is_kept && train.train.has_image(image)
            }));
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<(), SinkError> {
        self.processed.lock().unwrap_or_else(PoisonError::into_inner).counters = self.counters();
        Ok(())
    }

    fn finish(&mut self) -> Result<(), SinkError> {
        let mut processed = self.processed.lock().unwrap_or_else(PoisonError::into_inner);
        processed.counters = self.counters();
        let sums = self
            .chains
            .iter()
            .filter_map(|(module, chain)| Some((*module, chain.integrated().next()?.clone())));
        processed.sums = sums.collect();
        Ok(())
    }
}
