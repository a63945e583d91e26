//! The tables: what they are called, and in which layouts they are found.

use crate::august_2018::{AugustSrsHit, LAYOUT};
use crate::layout::{Layout, Row};
use crate::rows::{CaenReadout, MesytecHit, SrsHit};

impl Row for SrsHit {
    const TABLE: &'static str = "srs_hits";
    const FORMAT_VERSION: Option<u16> = Some(1);

    fn layouts() -> Vec<Layout<Self>> {
        vec![
            Layout::written::<Self>("of October 2018"),
            Layout::raw::<AugustSrsHit<u8>>(LAYOUT),
            Layout::raw::<AugustSrsHit<bool>>(LAYOUT),
        ]
    }
}

impl Row for CaenReadout {
    const TABLE: &'static str = "mbcaen_readouts";
    const FORMAT_VERSION: Option<u16> = Some(0);

    fn layouts() -> Vec<Layout<Self>> {
        vec![Layout::written::<Self>("of November 2018")]
    }
}

impl Row for MesytecHit {
    const TABLE: &'static str = "mgmesytec_hits";
    const FORMAT_VERSION: Option<u16> = None;

    fn layouts() -> Vec<Layout<Self>> {
        vec![Layout::written::<Self>("of August 2018")]
    }
}

/// The names of all tables that are dumps.
pub const TABLES: [&str; 3] = [SrsHit::TABLE, CaenReadout::TABLE, MesytecHit::TABLE];
