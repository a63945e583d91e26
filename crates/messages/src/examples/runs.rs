//! Messages about runs and programs, and those of ISIS, with values of a seed.

use super::put;
use super::values::Values;
use crate::pl72::SpectrumMap;
use crate::{Answ, Json, Pl72, Pu00, S6s4t, Un00, Vc00, Wrdn, X5f2, answ};

/// Commands, answers and states.
pub(super) fn runs(v: &mut Values) {
    let (name, id, json) = (v.text(), v.text(), r#"{"a":[1,2]}"#);
    let time = v.time().unsigned_abs() / 1_000_000;
    let (spectrum, detector_id) = (v.column::<i32>(3), v.column::<i32>(3));
    let map = SpectrumMap { spectrum: (&spectrum).into(), detector_id: (&detector_id).into(), n_spectra: 3 };
    put!(v "pl72" Pl72 {
        start_time: time,
        run_name: Some(&name),
        instrument_name: Some("freia"),
        nexus_structure: Some(json),
        job_id: Some(&id),
        broker: Some("b:9092"),
        service_id: Some(&name),
        filename: Some("run.nxs"),
        detector_spectrum_map: Some(map),
        metadata: Some(json),
        control_topic: Some("freia_filewriter"),
        ..Pl72::default()
    });
    let names = (Some(name.as_str()), Some(id.as_str()));
    put!(v "6s4t" S6s4t { stop_time: time, run_name: names.0, job_id: names.1, service_id: names.0, command_id: names.1, abort: true });
    put!(v "answ" Answ {
        service_id: &name,
        job_id: &id,
        action: v.of(answ::Action::ALL),
        outcome: v.of(answ::Outcome::ALL),
        status_code: 201,
        stop_time: time,
        message: names.0,
        command_id: names.1,
    });
    put!(v "wrdn" Wrdn {
        service_id: &name,
        job_id: &id,
        error_encountered: true,
        file_name: "run.nxs",
        metadata: Some(json),
        message: names.0,
    });
    put!(v "x5f2" X5f2 {
        software_name: Some("evforge"),
        software_version: names.0,
        service_id: names.1,
        host_name: names.0,
        process_id: 4711,
        update_interval: 1000,
        status_json: Some(json),
    });
    put!(v "json" Json { json: Some(json) });
}

/// What ISIS alone sends.
pub(super) fn isis(v: &mut Values) {
    let (source_name, timestamp) = (v.text(), v.time());
    let word = v.column::<u32>(1)[0];
    let pulse =
        Pu00 { source_name: &source_name, message_id: -1, reference_time: timestamp, ..Pu00::default() };
    put!(v "pu00_absent" pulse);
    put!(v "pu00" Pu00 { vetos: Some(word), period_number: Some(0), proton_charge: Some(0.0), ..pulse });
    let units = v.text();
    put!(v "un00" Un00 { source_name: &source_name, timestamp, units: Some(&units) });
    let names: Vec<String> = (0..32).map(|_| v.text()).collect();
    let veto_names = names.iter().map(String::as_str).collect();
    put!(v "vc00" Vc00 { timestamp, vetoes: word, veto_names });
}
