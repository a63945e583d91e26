//! The geometries, wirings and calibrations of real users: what becomes of each, exactly.

use evforge_detect::gdgem::settings::{ChipPlane, ChipStrips};
use evforge_detect::gdgem::vmm_files;
use evforge_detect::vmm_files::FileContent;
use evforge_testkit::shared_file;

/// Chips with strips, panels and notes of a wiring without a third plane, or the error.
fn of_srs(text: &str) -> Result<(usize, u16, Vec<String>), String> {
    let FileContent { mut content, mut notes } = vmm_files::wiring(text)?;
    notes.extend(content.leave_out_third_plane());
    let panels = content.chips.iter().map(|chip| chip.panel).max().map_or(0, |panel| panel + 1);
    Ok((content.chips.len(), panels, notes))
}

fn read(name: &str) -> Option<String> {
    let bytes = shared_file("vmm_files", &format!("captures/{name}"))?;
    Some(String::from_utf8(bytes).expect("reference data are text"))
}

#[test]
fn wirings_of_the_srs() {
    let good = |chips, panels, notes: &[&str]| {
        Ok((chips, panels, notes.iter().map(|&note| note.to_owned()).collect::<Vec<_>>()))
    };
    let third = "a third plane (plane 2) takes no part in events without [gdgem.third_plane], its readouts count as \
                 unmapped: ";
    let lone =
        "detectors with strips of one plane only, of which each cluster is an event, on row or column 0: ";
    let table = [
        ("gdgem/example_geometry.json", good(4, 1, &[])),
        ("gdgem/example_geometry_trigger.json", good(8, 1, &[])),
        ("gdgem/example_geometry_NIP.json", good(8, 1, &[&format!("{third}FEC 7, VMM 8")])),
        (
            "gdgem/example_geometry_xyu.json",
            good(
                8,
                1,
                &[&format!(
                    "{third}FEC 7, VMM 2; FEC 7, VMM 3; FEC 7, VMM 8; FEC 7, VMM 9; FEC 7, VMM 10; FEC 7, \
                         VMM 11 and 2 more"
                )],
            ),
        ),
        (
            "gdgem/example_rpc.json",
            good(
                27,
                5,
                &[
                    "no channel is connected (all -1): vmm_geometry[27] (FEC 5, VMM 2)",
                    "channels that are not connected (-1): 48 of FEC 5, VMM 2",
                    &format!("{lone}0; 10"),
                ],
            ),
        ),
        (
            "gdgem/example_rpc_plane1.json",
            good(
                1,
                1,
                &[
                    "no channel is connected (all -1): vmm_geometry[1] (FEC 5, VMM 2)",
                    "channels that are not connected (-1): 48 of FEC 5, VMM 2",
                    &format!("{lone}10"),
                ],
            ),
        ),
        ("gdgem/example_geometry_pad.json", good(1, 1, &[])),
        (
            "ess/LET_geometry.json",
            good(
                6,
                2,
                &[
                    "channels that are not connected (-1): 13 of FEC 0, VMM 0; 32 of FEC 0, VMM 2; 13 of FEC 32, \
                     VMM 0; 32 of FEC 32, VMM 2",
                ],
            ),
        ),
        (
            "ess/nmx_vmmessdat_config.json",
            Err("vmm_geometry[0]: found ring and fen, expected fec: a geometry of the ESS readout is for \
                 [ess_gdgem]"),
        ),
        (
            "ess/nmx_efu_config.json",
            Err(
                "found the list Config of an EFU of today, expected srs_mappings or vmm_geometry: such a file is \
                 for [ess_gdgem]",
            ),
        ),
        (
            "gdgem/example_calib.json",
            Err("found neither srs_mappings nor vmm_geometry, expected one of them"),
        ),
    ];
    for (name, expected) in table {
        let Some(text) = read(name) else { return };
        assert_eq!(of_srs(&text), expected.map_err(str::to_owned), "{name}");
    }
}

#[test]
fn calibrations_of_the_srs() {
    let Some(text) = read("gdgem/example_calib.json") else { return };
    let calibration = vmm_files::calibration(&text).expect("a calibration");
    assert_eq!((calibration.content.len(), calibration.notes), (4, vec![]));
}

#[test]
fn what_the_panels_of_users_are() {
    let chips = |name: &str| Some(vmm_files::wiring(&read(name)?).expect("a wiring").content);
    let Some(rpc) = chips("gdgem/example_rpc.json") else { return };
    // Detectors 0, 1, 2, 3 and 10.
    assert_eq!(rpc.one_plane, [0, 4]);
    let Some(pad) = chips("gdgem/example_geometry_pad.json") else { return };
    assert_eq!((pad.chips[0].plane, pad.one_plane.len()), (ChipPlane::Pads, 0));
    assert!(matches!(pad.chips[0].strips, ChipStrips::Pads { .. }));
    assert_eq!((pad.chips[0].pad(0), pad.chips[0].pad(63)), (Some([0, 0]), Some([7, 7])));
    let Some(xyu) = chips("gdgem/example_geometry_xyu.json") else { return };
    let third = xyu.chips.iter().filter(|chip| chip.plane == ChipPlane::U);
    assert_eq!(third.filter_map(|chip| chip.channel(257)).count(), 1);
}
