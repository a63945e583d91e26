//! Table 1 of the UDP paper as the papers print it, cell by cell.

use evforge_measure::link::Link;
use evforge_measure::link::paper::{ERRATA, MTU, Quantity, SPEED, printed};
use evforge_testkit::{shared_folder, skip};

/// The table of a paper: user data, frames, overheads, rates; as they are printed.
fn table(text: &str) -> Vec<Vec<String>> {
    let row = |name: &str| {
        let line =
            text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no line {name}"));
        line.split_once(']').expect("a unit").1.split_whitespace().map(str::to_owned).collect()
    };
    ["User data size [B]", "Packet size [B]", "Overhead [%]", "Frame rate [Mpps]"].map(row).to_vec()
}

/// Cells that are not as calculated, rounded to the digits that are printed: user data and row.
fn wrong_cells(table: &[Vec<String>]) -> Vec<(u32, Quantity)> {
    let quantities = [Quantity::Frame, Quantity::Overhead, Quantity::Rate];
    let link = Link::new(SPEED, MTU).expect("a link");
    let mut wrong = Vec::new();
    for (place, user) in table[0].iter().enumerate() {
        let packet = link.packet(user.parse().expect("bytes")).expect("a packet");
        for (quantity, row) in quantities.iter().zip(&table[1..]) {
            let decimals = row[place].split_once('.').map_or(0, |(_, decimals)| decimals.len());
            if format!("{:.decimals$}", quantity.of(&packet)) != row[place] {
                wrong.push((packet.user, *quantity));
            }
        }
    }
    wrong
}

#[test]
fn table_1_of_each_paper_is_as_calculated_but_the_named_erratum() {
    let papers = ["udp-10gbs-published.txt", "udp-10gbs-preprint-v1.txt", "ess-event-formation.txt"];
    let folder = shared_folder().join("papers");
    if !folder.is_dir() {
        return skip("table_1_of_each_paper_is_as_calculated_but_the_named_erratum", "the papers");
    }
    for name in papers {
        let table = table(&std::fs::read_to_string(folder.join(name)).expect(name));
        assert_eq!(table.iter().map(Vec::len).collect::<Vec<_>>(), [8; 4], "{name}");
        assert_eq!(wrong_cells(&table), [(ERRATA[0].user, ERRATA[0].quantity)], "{name}");
        // What evforge compares with is what is printed.
        let ours = |quantity| {
            let of_table =
                printed().into_iter().filter(move |one| one.place == "Table 1" && one.quantity == quantity);
            of_table.map(|one| one.text.to_owned()).collect::<Vec<_>>()
        };
        let ours = [Quantity::Frame, Quantity::Overhead, Quantity::Rate].map(ours);
        assert_eq!(table[1..], ours, "{name}");
        // A cell that is wrong in its last digit is noticed.
        let mut changed = table.clone();
        changed[3][0] = "14.89".to_owned();
        assert_eq!(wrong_cells(&changed).len(), 2, "{name}");
    }
}
