//! Beam monitors in the ESS readout: one for each front end and channel.

use crate::content::{EssContent, MonitorSeen};
use evforge_wire::ess::beam_monitor::MonitorKind;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Monitors that a configuration can have.
const MOST: usize = 64;

/// FEN and channel of each monitor of a ring, with the kind that most of its readouts have.
type Monitors = BTreeMap<(u8, u8), (MonitorKind, MonitorSeen)>;

/// A configuration for each ring: monitors of one configuration are on one ring.
pub(super) fn bodies(ess: &str, contents: &[&EssContent]) -> Result<Vec<String>, String> {
    let rings = rings(contents);
    if rings.is_empty() {
        return Err("no readout of it is sound, so that no monitor is known".to_owned());
    }
    let body = |(ring, monitors)| Ok(format!("{ess}{}", section(ring, &monitors, None)?));
    rings.into_iter().map(body).collect()
}

/// The section of monitors that send alongside a detector; none if one section is not enough for them.
pub(super) fn alongside(contents: &[&EssContent]) -> Option<String> {
    let detector_type = contents.first()?.detector_type();
    let mut rings = rings(contents);
    let (ring, monitors) = rings.pop_first().filter(|_| rings.is_empty())?;
    section(ring, &monitors, Some(detector_type)).ok()
}

fn rings(contents: &[&EssContent]) -> BTreeMap<u8, Monitors> {
    let mut rings: BTreeMap<u8, Monitors> = BTreeMap::new();
    for ((ring, fen, channel, kind), seen) in contents.iter().flat_map(|content| &content.by_place().monitors)
    {
        let Some(kind) = MonitorKind::from_byte(*kind) else { continue };
        let monitor = rings.entry(*ring).or_default().entry((*fen, *channel));
        let own = monitor.or_insert_with(|| (kind, seen.clone()));
        if own.1.readouts < seen.readouts {
            *own = (kind, seen.clone());
        }
    }
    rings
}

fn section(ring: u8, monitors: &Monitors, alongside: Option<u8>) -> Result<String, String> {
    if monitors.len() > MOST {
        return Err(format!(
            "{} monitors on ring {ring}; a configuration has at most {MOST}",
            monitors.len()
        ));
    }
    let own_type = alongside.map_or_else(String::new, |number| format!("type = {number:#04x}\n"));
    let mut text = format!("[ess_beam_monitors]\n{own_type}ring = {ring}\n");
    for (number, ((fen, channel), (kind, seen))) in monitors.iter().enumerate() {
        let kind_name = match kind {
            MonitorKind::Event0D => "event_0d",
            MonitorKind::Event2D => "event_2d",
            MonitorKind::Integrating => "integrating",
        };
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n[[ess_beam_monitors.monitor]]\nname = \"monitor_{}\"            # UNKNOWN: its name\n\
             kind = \"{kind_name}\"\nfen = {fen}\nchannel = {channel}\n",
            number + 1
        );
        if *kind == MonitorKind::Event2D {
            let size = |span: crate::channels::Span| span.ends().map_or(1, |(_, largest)| largest + 1);
            let _ = write!(
                text,
                "nx = {}                         # UNKNOWN: the largest coordinate seen, and one more\nny = {}\n",
                size(seen.x),
                size(seen.y)
            );
        }
    }
    Ok(text)
}
