//! The decoded hits of the reference's own tests (vectors `gdgem_run16_hits`, EFU formats of 2018, section 4.7),
//! put into packets again and played through production and model.

use evforge_testkit::shared_file;
use evforge_wire::srs_vmm::{Vmm2Encoder, VmmReadout};

use crate::gdgem::captures::{Capture, reference_captures};
use crate::gdgem::production::{form, model_events};

/// The hits of a file as VMM2 packets: a packet for each run of hits of one chip and trigger stamp.
fn packets(test: &str, name: &str) -> Option<Vec<Vec<u8>>> {
    let bytes = shared_file(test, &format!("vectors/gdgem_run16_hits/{name}.csv"))?;
    let text = String::from_utf8(bytes).expect("text");
    let rows: Vec<Vec<u32>> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|field| field.trim().parse().expect("a number")).collect())
        .collect();
    let mut encoder = Vmm2Encoder::default();
    let mut packets = Vec::new();
    for (number, run) in (1..).zip(rows.chunk_by(|one, next| (one[1], one[3]) == (next[1], next[3]))) {
        // The counter of the file is not that of packets: it goes back, which would make packets late.
        encoder.begin(number, run[0][1] as u8, run[0][3]);
        for row in run {
            assert!(encoder.push(&VmmReadout {
                chip: row[1] as u8,
                channel: row[4] as u8,
                bunch_crossing: row[5] as u16,
                tdc: row[6] as u8,
                adc: row[7] as u16,
                over_threshold: row[8] != 0,
                trigger_offset: 0,
            }));
        }
        packets.push(encoder.packet().to_vec());
    }
    Some(packets)
}

fn capture(test: &str, name: &str) -> Option<Capture> {
    let mut run16 = reference_captures(test)?.into_iter().next()?;
    run16.payloads = packets(test, name)?;
    Some(run16)
}

#[test]
fn section_4_7_run_16_has_the_hits_and_clusters_of_the_reference() {
    let Some(capture) = capture("section_4_7_run_16_has_the_hits_and_clusters_of_the_reference", "Run16")
    else {
        return;
    };
    let (events, ledger) = form(&capture, &[]);
    let value = |name: &str| ledger.counters.value(name).unwrap();
    assert_eq!((value("readouts"), value("hits")), (156, 156));
    assert_eq!((value("clusters_x"), value("clusters_y")), (7, 11), "after the flush");
    assert_eq!(events, model_events(&capture).0);
    assert_eq!(events.len(), 6);
    assert_eq!(ledger.unaccounted(), 0);
}

/// Scrambled fields; the reference asserts nothing about them.
#[test]
fn section_4_7_scrambled_hits_are_accounted_for_as_in_the_model() {
    let test = "section_4_7_scrambled_hits_are_accounted_for_as_in_the_model";
    for (name, readouts) in [("err_bcid_tdc_error", 4), ("err_fc_error", 2), ("err_triggertime_error", 4)] {
        let Some(capture) = capture(test, name) else { return };
        let (events, ledger) =
            form(&capture, &["gdgem.clustering.x.min_hits=1", "gdgem.clustering.y.min_hits=1"]);
        let value = |name: &str| ledger.counters.value(name).unwrap();
        assert_eq!((value("readouts"), value("hits")), (readouts, readouts), "{name}");
        assert_eq!(ledger.unaccounted(), 0, "{name}");
        let mut capture = capture;
        capture.settings.clusterers.x.minimum_cluster_size = 1;
        capture.settings.clusterers.y.minimum_cluster_size = 1;
        assert_eq!(events, model_events(&capture).0, "{name}");
    }
}
