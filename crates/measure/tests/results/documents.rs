//! The results in docs/measurements are those that this evforge calculates.

use evforge_measure::compare::{Comparison, Difference};
use evforge_measure::link::{LinkSettings, measure, paper};
use evforge_measure::{Session, result_file};
use std::path::Path;

#[test]
fn the_table_of_the_documents_is_that_of_this_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measurements/link");
    let kept = result_file::read(&folder).expect("docs/measurements/link: run `make measurements`");
    let settings = LinkSettings { bits_per_second: paper::SPEED, mtus: vec![paper::MTU], sizes: Vec::new() };
    let now = measure(Session::without_host("link", &kept.title, &[]), &settings).unwrap();
    assert_eq!((&kept.verdict, &kept.findings, &kept.limits), (&now.verdict, &now.findings, &now.limits));
    let compared = Comparison::of(&kept, &now).expect("the same measurement");
    let figures = compared.count(Difference::Equal);
    assert!(figures > 100 && compared.count(Difference::Different) == 0, "run `make measurements`");
    assert_eq!(compared.only_one, [""; 0]);
    for table in &now.tables {
        let file = folder.join(format!("{}.csv", table.name));
        assert_eq!(std::fs::read_to_string(file).unwrap(), evforge_measure::csv::of(table));
    }
    for plot in &now.plots {
        let drawn = evforge_measure::drawing::svg(plot).unwrap();
        assert_eq!(std::fs::read_to_string(folder.join(format!("{}.svg", plot.name))).unwrap(), drawn);
    }
}
