//! The type byte of the header: which detector a packet is from (ESS readout formats, section 1).

/// Common beam monitors.
pub const CBM: u8 = 0x10;
/// SKADI with SoNDe modules. Known from recordings only.
pub const SKADI: u8 = 0x20;
/// LOKI, He-3 tubes.
pub const LOKI: u8 = 0x30;
/// Test beamline, He-3 tubes.
pub const TBL3HE: u8 = 0x32;
/// BIFROST, He-3 tubes.
pub const BIFROST: u8 = 0x34;
/// MIRACLES, He-3 tubes.
pub const MIRACLES: u8 = 0x38;
/// CSPEC, He-3 tubes.
pub const CSPEC: u8 = 0x3C;
/// TREX, Multi-Grid with VMM3a.
pub const TREX: u8 = 0x40;
/// NMX, Gd-GEM with VMM3a.
pub const NMX: u8 = 0x44;
/// FREIA and AMOR, Multi-Blade with VMM3a.
pub const FREIA: u8 = 0x48;
/// Test beamline, Multi-Blade with VMM3a.
pub const TBLMB: u8 = 0x49;
/// ESTIA, Multi-Blade with VMM3a.
pub const ESTIA: u8 = 0x4C;
/// BEER, records of beam monitors.
pub const BEER: u8 = 0x50;
/// DREAM, CDT.
pub const DREAM: u8 = 0x60;
/// MAGIC, CDT.
pub const MAGIC: u8 = 0x64;
/// HEIMDAL, CDT.
pub const HEIMDAL: u8 = 0x68;

/// Types and their names. AMOR sends the type of FREIA, whose name comes first.
pub const NAMES: [(u8, &str); 17] = [
    (CBM, "cbm"),
    (SKADI, "skadi"),
    (LOKI, "loki"),
    (TBL3HE, "tbl3he"),
    (BIFROST, "bifrost"),
    (MIRACLES, "miracles"),
    (CSPEC, "cspec"),
    (TREX, "trex"),
    (NMX, "nmx"),
    (FREIA, "freia"),
    (FREIA, "amor"),
    (TBLMB, "tblmb"),
    (ESTIA, "estia"),
    (BEER, "beer"),
    (DREAM, "dream"),
    (MAGIC, "magic"),
    (HEIMDAL, "heimdal"),
];

/// The name of a type in lower case, none if the type is of no known detector.
pub fn name(detector_type: u8) -> Option<&'static str> {
    NAMES.iter().find(|(known, _)| *known == detector_type).map(|(_, name)| *name)
}

/// The type of a detector by its name in lower case. `amor` is the type of `freia`.
pub fn named(name: &str) -> Option<u8> {
    NAMES.iter().find(|(_, known)| *known == name).map(|(detector_type, _)| *detector_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_is_found_by_its_name() {
        let mut known = 0;
        for detector_type in 0..=u8::MAX {
            if let Some(name) = name(detector_type) {
                assert_eq!(named(name), Some(detector_type));
                known += 1;
            }
        }
        assert_eq!(known, 16);
        assert_eq!(named("amor"), Some(FREIA));
        assert_eq!(named("none"), None);
    }
}
