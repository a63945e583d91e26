//! Which of the shipped configurations reads a format.

use evforge_wire::ess::detector_type as types;
use evforge_wire::recognise::{EssRecords, Format};

/// The configurations that fit, the likeliest first, as paths from the folder that evforge is installed from.
pub fn shipped_for(format: Format) -> &'static [&'static str] {
    match format {
        // By type and records: `shipped_for_ess`.
        Format::Ess | Format::Isis | Format::Numbered | Format::DropP1 => &[],
        Format::SrsVmm2 => {
            &["configs/reference-2018/gdgem-run16.toml", "configs/reference-2018/gdgem-recorded-vmm2.toml"]
        }
        Format::SrsVmm3Of2018 => &["configs/reference-2018/gdgem-recorded-vmm3.toml"],
        Format::SrsVmm3a => &["configs/gdgem-srs.toml", "configs/gdgem-nmx.toml"],
        Format::Mesytec => &["configs/multigrid.toml"],
        Format::Cncs => &["configs/multigrid-cncs.toml"],
        Format::CaenRecords | Format::JadaqOfJune2018 => &["configs/multiblade.toml"],
        Format::Jadaq1_3 => &["configs/multiblade-50.toml", "configs/multiblade.toml"],
        Format::Sonde => &["configs/sonde.toml", "configs/sonde-module.toml"],
        Format::AdcReadout => &["configs/adc-readout.toml"],
    }
}

/// The same for a type of the ESS readout; none for records that are not decoded.
pub fn shipped_for_ess(detector_type: u8, records: EssRecords) -> &'static [&'static str] {
    match records {
        EssRecords::BeamMonitors => &["configs/beam-monitors.toml"],
        EssRecords::Vmm3a | EssRecords::None => match detector_type {
            types::NMX => &["configs/nmx.toml"],
            types::FREIA => &["configs/freia.toml", "configs/amor-ess.toml"],
            types::TBLMB => &["configs/tblmb.toml"],
            types::ESTIA => &["configs/estia.toml"],
            types::TREX => &["configs/trex.toml"],
            // The demonstrator at LET sends the type of LOKI.
            types::LOKI => &["configs/let.toml"],
            types::CBM | types::BEER => &["configs/beam-monitors.toml"],
            _ => &[],
        },
        EssRecords::R5560 | EssRecords::Cdt | EssRecords::Skadi | EssRecords::Unknown => &[],
    }
}

/// A key that has to be set in the last of them, if any.
pub fn with_key(format: Format) -> Option<&'static str> {
    match format {
        Format::Jadaq1_3 => Some("multiblade.readout = \"jadaq-1.3\""),
        Format::JadaqOfJune2018 => Some("multiblade.readout = \"jadaq-2018-06\""),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_configuration_that_is_named_exists_and_every_shipped_one_is_named() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let ess = (0..=u8::MAX).flat_map(|detector_type| {
            [EssRecords::Vmm3a, EssRecords::BeamMonitors]
                .into_iter()
                .flat_map(move |records| shipped_for_ess(detector_type, records))
        });
        let named: Vec<&str> = Format::ALL.into_iter().flat_map(shipped_for).chain(ess).copied().collect();
        for name in &named {
            assert!(root.join(name).is_file(), "{name} is named and does not exist");
        }
        for entry in std::fs::read_dir(root.join("configs")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let path = format!("configs/{name}");
            assert!(
                !name.ends_with(".toml") || named.contains(&path.as_str()),
                "{path} is named for no format"
            );
        }
    }
}
