//! The switch of a run's monitor data in its live view.

use evforge_pipeline::mask_report::mask_text;
use evforge_pipeline::monitor_tap::{MonitorTap, monitor_json};
use evforge_view::MonitorControl;
use std::path::PathBuf;

/// Hands a run's monitor data to its live view.
#[derive(Debug)]
pub(crate) struct TapControl {
    /// The run's.
    pub(crate) tap: MonitorTap,
    /// Where the run writes its monitor data at its end; they must then not be forgotten on the way.
    pub(crate) file: Option<PathBuf>,
    /// The detector's section of the configuration, for masks.
    pub(crate) section: &'static str,
}

impl MonitorControl for TapControl {
    fn switch(&self, on: bool) -> Result<(), String> {
        if let (false, Some(file)) = (on, &self.file) {
            return Err(format!(
                "the monitor data stay on: the run writes them to {} at its end",
                file.display()
            ));
        }
        self.tap.switch(on);
        if on {
            self.tap.ask();
        }
        Ok(())
    }

    fn is_on(&self) -> bool {
        self.tap.is_on()
    }

    fn json(&self) -> Option<String> {
        self.tap.ask();
        self.tap.latest().map(|monitor| {
            let mut json = monitor_json(&monitor);
            json["mask"] = mask_text(self.section, &monitor).into();
            json.to_string()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_switched_unless_a_file_waits_for_the_data() {
        let tap = MonitorTap::default();
        let free = TapControl { tap: tap.clone(), file: None, section: "gdgem" };
        assert_eq!((free.switch(true), tap.is_on(), free.json()), (Ok(()), true, None));
        let bound = TapControl { tap: tap.clone(), file: Some("monitor.json".into()), section: "gdgem" };
        let reason = bound.switch(false).unwrap_err();
        assert!(reason.contains("writes them to monitor.json") && bound.is_on(), "{reason}");
        assert_eq!((bound.switch(true), free.switch(false), tap.is_on()), (Ok(()), Ok(()), false));
    }
}
