//! The arithmetic of links as a result: tables, plots, and the comparison with the paper.

use super::paper::{self, Agreement, SPEED};
use super::{Link, OnWire};
use crate::error::MeasureError;
use crate::measurement::{Measurement, Verdict};
use crate::plot::{Axis, Line, Look, MOST_MEASURED, Plot, Point};
use crate::session::Session;
use crate::table::{Cell, Column, Table};

/// Links and packets that are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSettings {
    /// Speed of the link, in bits per second.
    pub bits_per_second: u64,
    /// MTUs in bytes, at least one.
    pub mtus: Vec<u32>,
    /// User data of the packets, in bytes; none: those of Table 1, and the largest that is sent in one frame.
    pub sizes: Vec<u32>,
}

/// Sizes for which lines of plots are calculated: a factor of about 1.15 apart, and on both sides of every step.
fn curve(link: &Link) -> Vec<u32> {
    let mut sizes: Vec<u32> = (0..=80).map(|step| (1.15_f64.powi(step)).round() as u32).collect();
    let largest = link.largest_whole();
    sizes.extend([18, 19, largest, largest + 1]);
    sizes.retain(|size| *size <= (largest + largest / 2).clamp(100, 65_507));
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// A speed for a person: 10 Gb/s.
fn speed_text(bits_per_second: u64) -> String {
    let speed = bits_per_second as f64;
    match speed {
        speed if speed >= 1e9 => format!("{} Gb/s", speed / 1e9),
        speed if speed >= 1e6 => format!("{} Mb/s", speed / 1e6),
        speed => format!("{speed} b/s"),
    }
}

/// Calculates what these links carry at most, and ends the session with it. At 10 Gb/s every figure of the paper is compared, whatever
/// the sizes are; the verdict is bad if one differs that is no known erratum.
///
/// # Errors
/// If there is no such link or packet, or there are more MTUs than lines that can be told apart.
pub fn measure(session: Session, settings: &LinkSettings) -> Result<Measurement, MeasureError> {
    if !(1..=MOST_MEASURED).contains(&settings.mtus.len()) {
        let number = settings.mtus.len();
        return Err(MeasureError::Wrong(format!(
            "{number} MTUs: 1 to {MOST_MEASURED} can be told apart in a plot"
        )));
    }
    let links: Vec<(u32, Link)> = settings
        .mtus
        .iter()
        .map(|&mtu| Ok((mtu, Link::new(settings.bits_per_second, mtu)?)))
        .collect::<Result<_, MeasureError>>()?;
    let speed = speed_text(settings.bits_per_second);
    let table = table(&links, settings, &speed)?;
    let is_papers = settings.bits_per_second == SPEED;
    let compared = if is_papers { Some(compared()?) } else { None };
    let verdict = match &compared {
        Some(compared) => compared.verdict.clone(),
        None => Verdict::good(format!("Calculated for {speed}. {}", most(&links)?)),
    };
    let mtus: Vec<String> = settings.mtus.iter().map(|mtu| format!("{mtu} B")).collect();
    let session = session.setting("speed", speed.as_str()).setting("MTU", mtus.join(", "));
    let mut result = session.end(verdict);
    if let Some(compared) = &compared {
        result.findings.extend(compared.errata.iter().cloned());
        result.findings.push(most(&links)?);
    }
    result.limits = limits(is_papers);
    result.plots = plots(&links, settings.bits_per_second, &speed)?;
    result.tables.push(table);
    result.tables.extend(compared.map(|compared| compared.table));
    Ok(result)
}

fn limits(is_papers: bool) -> Vec<String> {
    let mut limits = vec![
        "This is arithmetic: what an Ethernet link carries at most, as UDP over IPv4 without VLAN tags and IP options. What a host \
         sends or receives of it is measured by `evforge send` and `evforge receive`."
            .to_owned(),
        "A packet of more user data than MTU - 28 bytes is sent in fragments. evforge does not put fragments together: such sizes \
         are here to show what they cost."
            .to_owned(),
    ];
    if !is_papers {
        limits
            .push("The paper's Table 1 is of 10 Gb/s: it is compared with `--speed 10Gb/s` only.".to_owned());
    }
    limits
}

/// What the largest packets carry.
fn most(links: &[(u32, Link)]) -> Result<String, MeasureError> {
    let of = |(mtu, link): &(u32, Link)| {
        let packet = link.packet(link.largest_whole())?;
        Ok(format!(
            "{:.4} Gb/s of user data in {} packets/s of {} B at an MTU of {mtu} B",
            packet.user_bits_per_second() / 1e9,
            evforge_core::quantity::grouped(packet.packets_per_second().floor() as u64),
            packet.user
        ))
    };
    let each: Vec<String> = links.iter().map(of).collect::<Result<_, MeasureError>>()?;
    Ok(format!("At most: {}.", each.join("; ")))
}

fn table(links: &[(u32, Link)], settings: &LinkSettings, speed: &str) -> Result<Table, MeasureError> {
    let columns = vec![
        Column::key("mtu", "MTU", "B").decimals(0),
        Column::key("user", "User data", "B").decimals(0),
        Column::exact("frames", "Frames", "").decimals(0),
        Column::exact("frame", "Frame", "B").decimals(0),
        Column::exact("wire", "On the wire", "B").decimals(0),
        Column::exact("overhead", "Overhead", "%").decimals(2),
        Column::exact("rate", "Packet rate", "Mpps").decimals(4),
        Column::exact("user_rate", "User data rate", "Gb/s").decimals(4),
        Column::exact("time", "Time on the wire", "ns").decimals(1),
    ];
    let mut table = Table::new("link", &format!("UDP over Ethernet of {speed}"), columns);
    for (mtu, link) in links {
        let mut sizes = settings.sizes.clone();
        if sizes.is_empty() {
            sizes = paper::SIZES.into_iter().chain([link.largest_whole()]).collect();
            sizes.retain(|size| *size <= link.largest_whole());
        }
        sizes.sort_unstable();
        sizes.dedup();
        for size in sizes {
            let packet = link.packet(size)?;
            let OnWire { user, frames, frame, wire, .. } = packet;
            let numbers = [
                f64::from(*mtu),
                f64::from(user),
                f64::from(frames),
                f64::from(frame),
                wire as f64,
                100.0 * packet.overhead(),
                packet.packets_per_second() / 1e6,
                packet.user_bits_per_second() / 1e9,
                packet.nanoseconds(),
            ];
            table.rows.push(numbers.map(Cell::Number).to_vec());
        }
    }
    Ok(table)
}

struct Compared {
    table: Table,
    verdict: Verdict,
    /// A sentence each.
    errata: Vec<String>,
}

/// Every figure of the paper.
fn compared() -> Result<Compared, MeasureError> {
    let columns = vec![
        Column::key("place", "Place", ""),
        Column::key("quantity", "Quantity", ""),
        Column::key("user", "User data", "B").decimals(0),
        Column::exact("paper", "Paper", ""),
        Column::exact("calculated", "Calculated", ""),
        Column::exact("agreement", "Agreement", ""),
    ];
    let mut table = Table::new("paper", &format!("Cell by cell: {}", paper::SOURCE), columns);
    let (mut errata, mut different) = (Vec::new(), Vec::new());
    let (mut equal_in_table, mut in_table) = (0, 0);
    for printed in paper::printed() {
        let (calculated, agreement) = paper::compare(&printed)?;
        let (name, unit) = printed.quantity.heading();
        let place = format!("{}, {name} of {} B of user data", printed.place, printed.user);
        let sentence = |what: &str| {
            format!("{what}: {place}: the paper has {} {unit}, it is {calculated:.2} {unit}", printed.text)
        };
        let is_of_table = printed.place == "Table 1";
        in_table += usize::from(is_of_table);
        let words = match agreement {
            Agreement::Equal => {
                equal_in_table += usize::from(is_of_table);
                "equal".to_owned()
            }
            Agreement::Erratum(why) => {
                errata.push(format!("{}: {why}.", sentence("Erratum")));
                format!("erratum: {why}")
            }
            Agreement::Different => {
                different.push(sentence("Different"));
                "DIFFERENT".to_owned()
            }
        };
        table.rows.push(vec![
            Cell::text(printed.place),
            Cell::text(format!("{name} ({unit})")),
            Cell::Number(f64::from(printed.user)),
            Cell::text(printed.text),
            Cell::Number(calculated),
            Cell::text(words),
        ]);
    }
    let verdict = match different.is_empty() {
        true => Verdict::good(format!(
            "{equal_in_table} of the {in_table} cells of Table 1 of the UDP paper are as calculated here. What is not is a known \
             erratum of the paper: {} in the table, {} in the text around it.",
            in_table - equal_in_table,
            errata.len() + equal_in_table - in_table
        )),
        false => {
            Verdict::bad(format!("Figures of the paper are not as calculated here: {}", different.join("; ")))
        }
    };
    Ok(Compared { table, verdict, errata })
}

fn plots(links: &[(u32, Link)], speed: u64, speed_text: &str) -> Result<Vec<Plot>, MeasureError> {
    type Value = fn(&OnWire) -> f64;
    let sizes = || {
        Axis::logarithmic("User data", "B")
            .with_ticks(&[1.0, 4.0, 18.0, 64.0, 256.0, 1024.0, 4096.0, 16_384.0, 65_536.0])
    };
    let with_lines = |mut plot: Plot, value: Value| -> Result<Plot, MeasureError> {
        for (mtu, link) in links {
            let packets: Vec<OnWire> =
                curve(link).into_iter().map(|size| link.packet(size)).collect::<Result<_, _>>()?;
            let points =
                packets.iter().map(|packet| Point::at(f64::from(packet.user), value(packet))).collect();
            plot.lines.push(Line::new(&format!("MTU {mtu} B"), Look::Measured, points));
        }
        Ok(plot)
    };
    let limit = speed as f64 / 1e9;
    let ends: Vec<u32> = links.iter().flat_map(|(_, link)| curve(link)).collect();
    let (first, last) = (ends.iter().min().copied().unwrap_or(1), ends.iter().max().copied().unwrap_or(1));
    let line_speed = [first, last].map(|size| Point::at(f64::from(size), limit)).to_vec();
    let user_rate = Plot::new(
        "user-rate",
        &format!("User data that a link of {speed_text} carries at most"),
        sizes(),
        Axis::linear("User data rate", "Gb/s").over(0.0, 1.05 * limit),
    )
    .captioned("The line falls where a packet no longer fits into one frame, and two are sent.");
    let user_rate = with_lines(user_rate, |packet| packet.user_bits_per_second() / 1e9)?;
    let user_rate = user_rate.with(Line::new("speed of the link", Look::Theory, line_speed));
    let rate = Plot::new(
        "rate",
        &format!("UDP packets that a link of {speed_text} carries at most"),
        sizes(),
        Axis::logarithmic("Packet rate", "Mpps"),
    )
    .captioned(
        "Up to 18 B of user data the frame is padded to 64 B, and the rate does not depend on the size.",
    );
    let mut rate = with_lines(rate, |packet| packet.packets_per_second() / 1e6)?;
    let overhead = Plot::new(
        "overhead",
        "Share of the link that is not user data",
        sizes(),
        Axis::linear("Overhead", "%").over(0.0, 100.0),
    )
    .captioned("The figures of the paper are circles; the one at 978 B is its erratum.");
    let mut overhead = with_lines(overhead, |packet| 100.0 * packet.overhead())?;
    if speed == SPEED {
        for (plot, quantity) in
            [(&mut rate, paper::Quantity::Rate), (&mut overhead, paper::Quantity::Overhead)]
        {
            let printed =
                paper::printed().into_iter().filter(|one| one.place == "Table 1" && one.quantity == quantity);
            let points =
                printed.filter_map(|one| Some(Point::at(f64::from(one.user), one.text.parse().ok()?)));
            plot.lines.push(Line::new("Table 1 of the paper", Look::Published, points.collect()));
        }
    } else {
        overhead.caption.clear();
    }
    Ok(vec![user_rate, rate, overhead])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(bits_per_second: u64, mtus: &[u32], sizes: &[u32]) -> Result<Measurement, MeasureError> {
        let session = Session::without_host("link", "Link", &["evforge".to_owned()]);
        measure(session, &LinkSettings { bits_per_second, mtus: mtus.to_vec(), sizes: sizes.to_vec() })
    }

    #[test]
    fn at_the_papers_speed_its_table_is_compared_and_errata_are_named() {
        let result = measured(SPEED, &[paper::MTU], &[]).unwrap();
        result.check().unwrap();
        assert!(
            result.verdict.is_good && result.verdict.sentence.starts_with("23 of the 24 cells"),
            "{:?}",
            result.verdict
        );
        assert!(result.verdict.sentence.contains("1 in the table, 1 in the text"), "{:?}", result.verdict);
        let errata: Vec<_> =
            result.findings.iter().filter(|finding| finding.starts_with("Erratum")).collect();
        assert!(
            errata.len() == 2 && errata[0].contains("978 B") && errata[1].contains("902 ns"),
            "{errata:?}"
        );
        assert_eq!(result.table("link").unwrap().rows.len(), 8);
        for plot in &result.plots {
            crate::drawing::svg(plot).unwrap();
        }
    }

    #[test]
    fn other_links_have_no_paper_and_each_mtu_its_rows() {
        let result = measured(100_000_000_000, &[1500, 9000], &[]).unwrap();
        result.check().unwrap();
        assert!(result.table("paper").is_none() && result.verdict.is_good);
        assert_eq!(result.table("link").unwrap().rows.len(), 7 + 8);
        let given = measured(1_000_000_000, &[1500], &[9000, 64, 64]).unwrap();
        assert_eq!(given.table("link").unwrap().rows.len(), 2);
        assert!(measured(SPEED, &[], &[]).is_err() && measured(SPEED, &[1500; 7], &[]).is_err());
        assert!(measured(SPEED, &[1500], &[65_508]).is_err() && measured(SPEED, &[20], &[]).is_err());
    }
}
