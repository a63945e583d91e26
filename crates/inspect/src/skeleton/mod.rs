//! A configuration for what was seen: it runs as it is, and says what could not be known.
//!
//! A detector has one, whatever number of senders it has. What the packets do not tell (planes, offsets, where a front end
//! is on the detector) is put into order of ring, FEN and hybrid, and marked `UNKNOWN`.

mod beam_monitors;
mod caen;
mod ess;
mod gdgem;
mod helium3;
mod isis;
mod multiblade;
mod multigrid;
mod needs;
mod nmx;
mod sonde;
mod vessels;

use crate::content::{AdcContent, Content, EssContent};
use crate::stream::Stream;
use crate::survey::Findings;
use evforge_wire::ess::detector_type as types;
use evforge_wire::recognise::{EssRecords, Format};
use std::collections::BTreeMap;

/// A configuration for one detector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skeleton {
    /// What it is for: "ESS readout, type 0x48 FREIA".
    pub title: String,
    /// The configuration.
    pub text: String,
}

/// The configurations for what was seen, and why there is none for the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skeletons {
    /// One for each detector.
    pub written: Vec<Skeleton>,
    /// A sentence for each stream without one.
    pub refused: Vec<String>,
}

/// Writes the configurations.
pub fn skeletons(findings: &Findings) -> Skeletons {
    let mut detectors: BTreeMap<(Format, Option<u8>), Vec<&Stream>> = BTreeMap::new();
    let mut all = Skeletons::default();
    for stream in &findings.streams {
        match stream.key.format {
            Some(format) => detectors.entry((format, stream.key.ess_type)).or_default().push(stream),
            None => all.refused.push(refusal(stream, "no format that evforge knows")),
        }
    }
    // The detector with most packets first.
    let mut detectors: Vec<_> = detectors.into_iter().collect();
    detectors.sort_by_key(|(_, streams)| {
        std::cmp::Reverse(streams.iter().map(|stream| stream.packets).sum::<u64>())
    });
    let monitors = take_monitors_alongside(&mut detectors);
    for ((format, _), streams) in detectors {
        let Some(first) = streams.first() else { continue };
        match bodies(format, &streams, &monitors) {
            Ok(texts) => {
                let title = first.title();
                let named =
                    texts.into_iter().map(|text| Skeleton { title: title.clone(), text: head(first, &text) });
                all.written.extend(named);
            }
            Err(problem) => all.refused.push(refusal(first, &problem)),
        }
    }
    all
}

/// Streams of one detector.
type OfDetector<'a> = ((Format, Option<u8>), Vec<&'a Stream>);

/// Takes the beam monitors away that send to the port of the one detector with the ESS readout: they can be in its
/// configuration.
fn take_monitors_alongside<'a>(detectors: &mut Vec<OfDetector<'a>>) -> Vec<&'a Stream> {
    let of_records = |wanted: EssRecords| {
        detectors.iter().enumerate().filter_map(move |(place, (_, streams))| {
            let contents = ess_contents(streams);
            contents.iter().any(|content| content.records() == wanted).then_some(place)
        })
    };
    let (detector, monitors): (Vec<usize>, Vec<usize>) =
        (of_records(EssRecords::Vmm3a).collect(), of_records(EssRecords::BeamMonitors).collect());
    let (&[detector], &[monitors]) = (&detector[..], &monitors[..]) else { return Vec::new() };
    let port = |place: usize| detectors[place].1.first().map(|stream| stream.key.port);
    if port(detector) != port(monitors)
        || beam_monitors::alongside(&ess_contents(&detectors[monitors].1)).is_none()
    {
        return Vec::new();
    }
    detectors.remove(monitors).1
}

fn ess_contents<'a>(streams: &[&'a Stream]) -> Vec<&'a EssContent> {
    let content = |stream: &&'a Stream| match &stream.content {
        Content::Ess(content) => Some(content.as_ref()),
        _ => None,
    };
    streams.iter().filter_map(content).collect()
}

fn refusal(stream: &Stream, problem: &str) -> String {
    format!("no configuration can be written for {} ({}): {problem}", stream.title(), stream.route())
}

/// What stands above each configuration.
fn head(stream: &Stream, text: &str) -> String {
    let receive = match stream.key.port {
        0 => String::new(),
        port => format!("[receive]\naddress = \"0.0.0.0:{port}\"\n\n"),
    };
    let unknown = if text.contains(MARK) { " What packets do not tell is marked UNKNOWN." } else { "" };
    let runs = if text.contains(needs::NEEDS) {
        "It runs with the file that it needs."
    } else {
        "It runs as it is."
    };
    format!(
        "# Written by `evforge inspect --config-skeleton` from the packets of a capture.\n# {}\n\
         # {runs}{unknown}\n\
         name = \"skeleton\"\n\n{receive}{text}",
        stream.title()
    )
}

/// What marks a guess.
const MARK: &str = "UNKNOWN:";

/// What stands below the head: one text for each detector.
fn bodies(format: Format, streams: &[&Stream], monitors: &[&Stream]) -> Result<Vec<String>, String> {
    let contents = || streams.iter().map(|stream| &stream.content);
    match format {
        Format::Ess => ess_bodies(streams, monitors),
        Format::SrsVmm2 | Format::SrsVmm3Of2018 | Format::SrsVmm3a => {
            let srs = contents().filter_map(|content| match content {
                Content::Srs(srs) => Some(srs),
                _ => None,
            });
            gdgem::body(format, srs)
        }
        Format::Mesytec => {
            let mesytec = contents().filter_map(|content| match content {
                Content::Mesytec(mesytec) => Some(mesytec),
                _ => None,
            });
            multigrid::mesytec(mesytec)
        }
        Format::Cncs => {
            let cncs = contents().filter_map(|content| match content {
                Content::Cncs(cncs) => Some(cncs),
                _ => None,
            });
            multigrid::cncs(cncs)
        }
        Format::CaenRecords | Format::JadaqOfJune2018 | Format::Jadaq1_3 => {
            let caen = contents().filter_map(|content| match content {
                Content::Caen(caen) => Some(caen),
                _ => None,
            });
            caen::body(format, caen)
        }
        Format::Sonde => sonde::body(streams),
        Format::AdcReadout => {
            let adc = contents().filter_map(|content| match content {
                Content::Adc(adc) => AdcContent::last_channel(adc),
                _ => None,
            });
            adc_readout(adc.max())
        }
        Format::Isis => isis::body(streams),
        Format::Numbered | Format::DropP1 => Err("they test a link, and no detector sends them".to_owned()),
    }
    .map(|texts| texts.into_iter().filter(|text| !text.is_empty()).collect())
}

fn adc_readout(last_channel: Option<u16>) -> Result<Vec<String>, String> {
    let last = last_channel.ok_or("there are heartbeats only")?;
    Ok(vec![format!("[adc_readout]\nchannels = {}\noversampling = \"counted\"\n", u32::from(last) + 1)])
}

fn ess_bodies(streams: &[&Stream], monitors: &[&Stream]) -> Result<Vec<String>, String> {
    let contents = ess_contents(streams);
    let Some(most) = contents.iter().max_by_key(|content| content.by_place().count) else {
        return Err("there are no packets".to_owned());
    };
    if most.records() != EssRecords::Vmm3a {
        return match most.records() {
            EssRecords::BeamMonitors => beam_monitors::bodies(&ess::table(&contents), &contents),
            EssRecords::None => Err("there are heartbeats only, so that no front end is known".to_owned()),
            EssRecords::R5560 => helium3::body(&ess::table(&contents), &contents),
            records => Err(format!("evforge does not decode {}", records.name())),
        };
    }
    let vmms = ess::vmms(&contents);
    if vmms.is_empty() {
        return Err("no readout of it is sound, so that no front end is known".to_owned());
    }
    let alongside = ess_contents(monitors);
    let table = ess::table(&[&contents[..], &alongside[..]].concat());
    let body = match most.detector_type() {
        types::FREIA | types::TBLMB => multiblade::body(&table, &vmms, false),
        types::ESTIA => multiblade::body(&table, &vmms, true),
        types::TREX | types::LOKI => vessels::body(&table, &vmms),
        types::NMX => nmx::body(&table, &vmms),
        _ => {
            return Err("the type does not tell which detector it is: take the shipped configuration of one with the same \
                        front ends, and set ess.type"
                .to_owned());
        }
    };
    let monitors =
        beam_monitors::alongside(&alongside).map_or_else(String::new, |section| format!("\n{section}"));
    Ok(vec![body + &monitors])
}
