//! Wirings and calibrations in JSON.

use super::Seed;

/// Good files of each form, and files that are wrong in one way each.
pub fn seeds() -> Vec<Seed> {
    let strips: Vec<i32> = (0..64).collect();
    let sdat = format!(r#"{{"vmm_geometry":[{{"detector":1,"plane":0,"fec":2,"vmm":0,"id0":{strips:?}}}]}}"#);
    let efu =
        r#"{"builder_type":"VMM3","srs_mappings":[{"fecID":1,"vmmID":6,"planeID":1,"strip_offset":128}]}"#;
    let (offsets, slopes) = (vec![-1.171; 64], vec![1.152; 64]);
    let calibration = format!(
        r#"{{"vmm_calibration":[{{"fecID":1,"vmmID":0,"hybridID":"b8","adc_offsets":{offsets:?},"adc_slopes":{slopes:?},"time_offsets":{offsets:?},"time_slopes":{slopes:?}}}]}}"#
    );
    let reversed = sdat.replace("[0, 1, 2,", "[-1, 2, 1,");
    let seeds = [
        ("vmm-sdat", sdat.clone()),
        ("vmm-sdat-other-order", reversed),
        ("vmm-sdat-too-few", sdat.replace("[0, 1, 2,", "[0,")),
        ("vmm-sdat-strip-that-is-not", sdat.replace("63]", "65536]")),
        ("efu-2018", efu.to_owned()),
        ("efu-2018-plane-that-is-not", efu.replace("\"planeID\":1", "\"planeID\":7")),
        ("efu-2018-negative", efu.replace("128", "-128")),
        ("both", format!("{},{}", &efu[..efu.len() - 1], &sdat[1..])),
        ("calibration", calibration.clone()),
        ("calibration-no-slopes", calibration.replace("adc_slopes", "adc_slope")),
        ("calibration-huge", calibration.replace("1.152", "1e300")),
        ("calibration-negative-slope", calibration.replace("1.152", "-1.152")),
        ("calibration-text-for-a-number", calibration.replace("-1.171,", "\"x\",")),
        ("empty", "{}".to_owned()),
        ("not-json", "{".to_owned()),
    ];
    seeds.into_iter().map(|(name, text)| Seed::new(name, text)).collect()
}
