//! The pixels of beam monitors: many send events without pixels.

use super::topic::TopicRole;
use evforge_core::beam_monitor::BeamMonitorPlan;
use evforge_core::event::PixelId;
use std::ops::Range;

/// Which pixels the monitors have.
#[derive(Clone, Debug, Default)]
pub struct MonitorPixels {
    plans: Vec<(String, Range<PixelId>)>,
    /// The pixel of all monitors that nobody knows.
    others: Option<PixelId>,
}

impl MonitorPixels {
    /// Those of `plans`; events of other monitors go to the pixel `others`, if there is one.
    pub fn new<'a>(plans: impl IntoIterator<Item = &'a BeamMonitorPlan>, others: Option<PixelId>) -> Self {
        let plans = plans.into_iter().map(|plan| (plan.name.clone(), plan.pixels())).collect();
        Self { plans, others }
    }

    /// What is done with the events of a source.
    pub(super) fn rule(&self, role: TopicRole, source: &str) -> Rule {
        let known = self.plans.iter().find(|(name, _)| name == source).map(|(_, pixels)| pixels.clone());
        match known {
            // Without a place of its own.
            Some(pixels) if pixels.len() == 1 => Rule::One(pixels.start),
            Some(_) => Rule::AsSent,
            None if role != TopicRole::Monitors => Rule::AsSent,
            None => {
                let all = self.plans.iter().map(|(_, pixels)| pixels);
                let (start, end) = all.fold((PixelId::MAX, 0), |(low, high), pixels| {
                    (low.min(pixels.start), high.max(pixels.end))
                });
                Rule::Within(start..end, self.others)
            }
        }
    }
}

/// What is done with the pixels of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// They are pixels. Without one: "no pixel".
    AsSent,
    /// All are of this pixel.
    One(PixelId),
    /// They are pixels in this range; others are of that pixel, or of none.
    Within(Range<PixelId>, Option<PixelId>),
}

impl Rule {
    /// The pixel of an event; none where it is of a monitor that nobody knows.
    #[inline]
    pub(super) fn pixel(&self, sent: Option<PixelId>) -> Option<PixelId> {
        match self {
            Self::AsSent => Some(sent.unwrap_or(0)),
            Self::One(pixel) => Some(*pixel),
            Self::Within(pixels, others) => sent.filter(|id| pixels.contains(id)).or(*others),
        }
    }
}
