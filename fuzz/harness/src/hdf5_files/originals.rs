//! Sound files of every kind, small ones, made by our own writers.

use super::{Reader, plan};
use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::pulse::PulseTrain;
use evforge_core::pulsed::{Calendar, CalendarRule, PulseStage, PulseStageSettings};
use evforge_core::run_state::RunState;
use evforge_dump::rows::{CaenReadout, MesytecHit, SrsHit};
use evforge_dump::table_writer::TableWriter;
use evforge_filewriter::file::WriterFile;
use evforge_messages::{decode, examples};
use evforge_net::clock::SystemClock;
use evforge_stream::nexus::{NexusOptions, NexusWriter};
use evforge_train::file::{ArrivedTrain, TrainFileOptions, TrainFiles};
use evforge_wire::train::{ImageDescriptor, Train, TrainDetector, TrainHeader, TrainLayout, TrainTrailer};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A sound file.
#[derive(Clone, Debug)]
pub struct Original {
    /// What it is.
    pub name: &'static str,
    /// What its readers call it.
    pub file_name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What reads it.
    pub readers: &'static [Reader],
}

/// A file of each kind, made in `folder`.
///
/// # Errors
/// If one cannot be made.
pub fn originals(folder: &Path) -> Result<Vec<Original>, Box<dyn Error>> {
    let kept = |name, path: &Path, readers| -> Result<Original, Box<dyn Error>> {
        let file_name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Original { name, file_name, bytes: fs::read(path)?, readers })
    };
    const NEXUS: &[Reader] = &[Reader::View, Reader::Events, Reader::Recover];
    let (complete, left) = (folder.join("complete.nxs"), folder.join("left.nxs"));
    nexus(&complete, true)?;
    let unfinished = nexus(&left, false)?;
    let mut all = vec![
        kept("a file of events", &complete, NEXUS)?,
        Original {
            name: "a file of events that a kill has left",
            file_name: "left.nxs".into(),
            bytes: unfinished,
            // Whoever wants the events of it has it repaired first.
            readers: &[Reader::View, Reader::Recover],
        },
    ];
    const DUMP: &[Reader] = &[Reader::Dump];
    let [srs, caen, mesytec] = ["srs.h5", "caen.h5", "mesytec.h5"].map(|name| folder.join(name));
    let mut rows = TableWriter::<SrsHit>::create(&srs)?;
    rows.write(&std::array::from_fn::<_, 40, _>(|n| SrsHit {
        fec: 1,
        channel: n as u16,
        adc: 300,
        ..SrsHit::default()
    }))?;
    rows.finish()?;
    let mut rows = TableWriter::<CaenReadout>::create(&caen)?;
    rows.write(&std::array::from_fn::<_, 40, _>(|n| CaenReadout {
        digitizer: 1,
        channel: n as u16,
        adc: 300,
        ..CaenReadout::default()
    }))?;
    rows.finish()?;
    let mut rows = TableWriter::<MesytecHit>::create(&mesytec)?;
    rows.write(&std::array::from_fn::<_, 40, _>(|n| MesytecHit {
        module: 1,
        channel: n as u16,
        adc: 300,
        ..MesytecHit::default()
    }))?;
    rows.finish()?;
    all.push(kept("a dump of VMMs", &srs, DUMP)?);
    all.push(kept("a dump of digitisers", &caen, DUMP)?);
    all.push(kept("a dump of Mesytec modules", &mesytec, DUMP)?);
    let (file_name, bytes) = writer(&folder.join("writer.nxs"))?;
    all.push(Original {
        name: "a file of the file writer that a kill has left",
        file_name,
        bytes,
        readers: &[Reader::Writer],
    });
    let (file_name, bytes) = trains(&folder.join("trains"))?;
    all.push(Original {
        name: "a file of trains that a kill has left",
        file_name,
        bytes,
        readers: &[Reader::Trains],
    });
    Ok(all)
}

/// A file of events of 8 x 6 pixels; its bytes as they are before its end.
fn nexus(path: &Path, ends: bool) -> Result<Vec<u8>, Box<dyn Error>> {
    let options = NexusOptions::new(path, "demo", LogicalGeometry::flat(8, 6)?);
    let mut writer = NexusWriter::create(&options, Calendar::default(), Arc::new(SystemClock::start()))?;
    let settings = PulseStageSettings::new(PulseTrain::european_xfel(), CalendarRule::Readout);
    let mut stage = PulseStage::new(settings);
    for part in 0..3_u64 {
        let mut batch = EventBatch::new(50);
        for event in 0..50_u64 {
            let time_ns = (50 * part + event) * 7_000_000;
            assert!(batch.push(Event { time_ns, pixel_id: 1 + (event % 48) as u32 }), "a batch without room");
        }
        let mut batches = Vec::new();
        stage.hand_on(&batch, None, &mut |batch| batches.push(batch));
        for batch in batches {
            writer.take_events(&batch)?;
        }
        writer.commit()?;
    }
    let bytes = fs::read(path)?;
    if ends {
        writer.finish(&RunState::default())?;
    }
    Ok(bytes)
}

/// A file that a file writer has left: what it is called, and its bytes.
fn writer(path: &Path) -> Result<(String, Vec<u8>), Box<dyn Error>> {
    let mut file = WriterFile::create(&plan(path), 256, || Ok(()))?;
    for (_, bytes) in examples::messages(7) {
        let message = decode(&bytes)?;
        for open in &mut file.modules {
            let _ = open.module.write(&message, &mut file.columns);
        }
    }
    file.begin_commit(&(), false)?;
    while !file.end_commit(std::time::Duration::from_secs(1))? {}
    let path = file.path();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let bytes = fs::read(&path)?;
    file.let_go();
    Ok((name, bytes))
}

/// A file of trains before its end.
fn trains(folder: &Path) -> Result<(String, Vec<u8>), Box<dyn Error>> {
    let detector = TrainDetector::Lpd;
    let options = TrainFileOptions {
        flush_interval: std::time::Duration::ZERO,
        ..TrainFileOptions::new(folder, detector, 1)
    };
    let layout = TrainLayout::of(detector, 1);
    let mut files = TrainFiles::create(options)?;
    for number in 1..=3 {
        let mut bytes = vec![0; layout.total()];
        let header = TrainHeader {
            major_version: 2,
            minor_version: 1,
            train: number,
            data: 0,
            detector_link: 0,
            builder_link: u32::MAX,
            images: 1,
            specific_bytes: detector.specific_bytes() as u32,
            builder_bytes: 0,
            reserved: [0; 8],
        };
        layout.write_ends(&header, &[ImageDescriptor::default()], &TrainTrailer::default(), &mut bytes);
        let train =
            Train::parse(&bytes, detector.image_bytes()).map_err(|rejection| format!("{rejection:?}"))?;
        files.write(&ArrivedTrain { module: 0, train, not_whole: &[], rejected: &[], arrival_ns: number })?;
        files.poll()?;
    }
    let path = unfinished(files.folder())?;
    Ok((path.file_name().unwrap_or_default().to_string_lossy().into_owned(), fs::read(&path)?))
}

fn unfinished(folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let mut paths = fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    paths.find(|path| path.is_file()).ok_or_else(|| "no file of trains was begun".into())
}
