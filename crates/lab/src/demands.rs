//! How good a score has to be.

use evforge_sim::score::Score;

/// What is demanded of a score, as far as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Demands {
    /// Smallest share of the resolvable neutrons that is found, in percent.
    pub min_efficiency: Option<f64>,
    /// Smallest share of all neutrons that is found, in percent.
    pub min_found: Option<f64>,
    /// Largest share of the events that are ghosts, in percent.
    pub max_ghosts: Option<f64>,
    /// Largest share of the neutrons that is not resolvable, in percent.
    pub max_not_resolvable: Option<f64>,
    /// Largest spread of the events of resolvable neutrons about the true position, in pixels along each axis.
    pub max_rms: Option<[f64; 3]>,
    /// How much earlier or later events of resolvable neutrons may be on average, and how far they may be spread in time.
    pub max_time_residual_ns: Option<f64>,
}

impl Demands {
    /// What of a score is not as good as demanded, in words.
    pub fn problems(&self, score: &Score) -> Vec<String> {
        let percent = |share: Option<f64>| share.map(|share| 100.0 * share);
        let mut problems = Vec::new();
        match (percent(score.resolvable.efficiency), self.min_efficiency) {
            (Some(found), Some(least)) if found < least => {
                problems
                    .push(format!("{found:.3} % of the resolvable neutrons were found, less than {least} %"));
            }
            (None, Some(_)) => {
                problems.push("there are no resolvable neutrons, so none were found".to_owned());
            }
            _ => {}
        }
        match (percent(score.all.efficiency), self.min_found) {
            (Some(found), Some(least)) if found < least => {
                problems.push(format!("{found:.3} % of all neutrons were found, less than {least} %"));
            }
            (None, Some(_)) => problems.push("there are no neutrons, so none were found".to_owned()),
            _ => {}
        }
        for (share, most, what) in [
            (score.ghost_share, self.max_ghosts, "of the events are ghosts"),
            (score.not_resolvable_share, self.max_not_resolvable, "of the neutrons are not resolvable"),
        ] {
            if let (Some(found), Some(most)) = (percent(share), most)
                && found > most
            {
                problems.push(format!("{found:.3} % {what}, more than {most} %"));
            }
        }
        let axes = score.resolvable.position.iter().zip(["x", "y", "z"]);
        for ((residual, axis), most) in axes.zip(self.max_rms.into_iter().flatten()) {
            if let Some(rms) = residual.as_ref().and_then(|residual| residual.rms)
                && rms > most
            {
                problems.push(format!("events are spread by {rms:.3} pixels along {axis}, more than {most}"));
            }
        }
        let time = &score.resolvable.time_ns;
        for (value, what) in [(time.mean, "late, on average,"), (time.rms, "spread in time")] {
            if let (Some(value), Some(most)) = (value, self.max_time_residual_ns)
                && value.abs() > most
            {
                problems.push(format!("events are {what} by {value:.1} ns, more than {most} ns"));
            }
        }
        problems
    }
}
