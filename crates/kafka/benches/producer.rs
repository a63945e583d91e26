//! `[outputs.kafka]` against the bare client: how fast events come to a real broker.
//!
//! The yardstick is a loop of librdkafka that sends a message of the same size, made before the time begins, with the same settings:
//! nothing can be faster with this client. Both go to one broker on loopback, which has the same cores as the sender; pairs
//! alternate, and the ratio is that of each pair.
//!
//! `cargo bench -p evforge-kafka --bench producer [-- PAIRS]`

use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::DetectorLedger;
use evforge_core::output::{OutputError, Taken};
use evforge_core::pulse::PulseTrain;
use evforge_core::pulsed::{CalendarRule, PulseStage, PulseStageSettings, PulsedBatch};
use evforge_core::run_identity::RunIdentity;
use evforge_core::run_state::RunState;
use evforge_core::time::Clock;
use evforge_kafka::client::ClientSettings;
use evforge_kafka::producer::KafkaSettings;
use evforge_messages::{Column, Encoder, Ev44};
use evforge_net::clock::SystemClock;
use evforge_net::thread_time::processor_time;
use evforge_outputs::{Notes, OutputContext, OutputPlan};
use evforge_testkit::kafka_broker::{Broker, is_possible};
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Events of a message, and messages of a measurement.
const EVENTS: usize = 12_400;
const MESSAGES: usize = 4_000;
const BATCH: usize = 16 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let pairs = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(15);
    if !is_possible("producer") {
        return Ok(());
    }
    let batches = batches();
    let payload = payload();
    println!("{MESSAGES} messages of {EVENTS} events ({} bytes), {pairs} pairs", payload.len());
    println!(
        "{:>14} {:>14} {:>14} {:>7} {:>16} {:>16}",
        "bare M ev/s", "evforge", "MB/s", "ratio", "bare CPU ns/ev", "evforge"
    );
    let mut ratios = Vec::new();
    for pair in 0..pairs {
        // A broker for each pair: what one takes on disk goes with it. It is warm before the first measurement.
        let broker = Broker::start();
        let address = broker.address();
        ["warm", "bare", "events"].iter().for_each(|topic| broker.create_topic(topic, 1));
        bare(&address, "warm", &payload)?;
        let (first, second);
        if pair % 2 == 0 {
            first = bare(&address, "bare", &payload)?;
            second = evforge(&address, "events", &batches)?;
        } else {
            second = evforge(&address, "events", &batches)?;
            first = bare(&address, "bare", &payload)?;
        }
        let events = (EVENTS * MESSAGES) as f64;
        let rate = |measured: Measured| events / measured.wall.as_secs_f64() / 1e6;
        let cpu = |measured: Measured| measured.cpu.as_nanos() as f64 / events;
        let ratio = rate(second) / rate(first);
        let megabytes = rate(second) * payload.len() as f64 / EVENTS as f64;
        println!(
            "{:>14.2} {:>14.2} {megabytes:>14.0} {ratio:>7.3} {:>16.2} {:>16.2}",
            rate(first),
            rate(second),
            cpu(first),
            cpu(second)
        );
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    // The order statistics that hold the median in 95 % of all cases, by the normal approximation.
    let spread = (0.98 * (ratios.len() as f64).sqrt()).ceil() as usize;
    let middle = ratios.len() / 2;
    let at = |index: usize| ratios[index.min(ratios.len() - 1)];
    println!(
        "evforge / bare: median {:.3}, 95 % interval {:.3} to {:.3}",
        at(middle),
        at(middle.saturating_sub(spread)),
        at(middle + spread)
    );
    Ok(())
}

/// Time of a measurement: by the clock, and of the thread that sends.
#[derive(Clone, Copy)]
struct Measured {
    wall: Duration,
    cpu: Duration,
}

fn measured(work: impl FnOnce() -> Result<(), Box<dyn Error>>) -> Result<Measured, Box<dyn Error>> {
    let (begun, busy) = (Instant::now(), processor_time());
    work()?;
    Ok(Measured { wall: begun.elapsed(), cpu: processor_time().saturating_sub(busy) })
}

/// One message as the output makes it.
fn payload() -> Vec<u8> {
    let (offsets, pixels): (Vec<i32>, Vec<i32>) =
        (0..EVENTS as i32).map(|event| (5 * event, 1 + event)).unzip();
    let message = Ev44 {
        source_name: "bench",
        message_id: 1,
        reference_time: Column::from(&[1_700_000_000_000_000_000]),
        reference_time_index: Column::from(&[0]),
        time_of_flight: Column::from(&offsets),
        pixel_id: Column::from(&pixels),
    };
    message.encode(&mut Encoder::new()).to_vec()
}

/// Events whose pulses have as many as a message.
fn batches() -> Vec<Arc<PulsedBatch>> {
    let train = PulseTrain::european_xfel();
    let clock = Arc::new(SystemClock::start());
    let mut stage = PulseStage::new(PulseStageSettings::new(train, CalendarRule::Live(clock)));
    let mut made = Vec::new();
    let mut batch = EventBatch::new(BATCH);
    for event in 0..EVENTS * MESSAGES {
        let (pulse, within) = ((event / EVENTS) as u64, (event % EVENTS) as u64);
        let event = Event { time_ns: pulse * 100_000_000 + 5 * within, pixel_id: 1 + within as u32 };
        if !batch.push(event) {
            stage.hand_on(&batch, None, &mut |batch| made.push(Arc::new(batch)));
            batch.clear();
            let _ = batch.push(event);
        }
    }
    stage.hand_on(&batch, None, &mut |batch| made.push(Arc::new(batch)));
    made
}

/// Sends the same bytes again and again.
fn bare(address: &str, topic: &str, payload: &[u8]) -> Result<Measured, Box<dyn Error>> {
    let config = ClientSettings::new(address.parse()?).config(&[
        ("enable.idempotence", "true"),
        ("acks", "all"),
        ("message.timeout.ms", "0"),
        ("queue.buffering.max.kbytes", "62500"),
        ("queue.buffering.max.messages", "64000"),
        ("message.max.bytes", "1000000"),
    ])?;
    let producer: BaseProducer = config.create()?;
    // The connections are there before the time begins.
    producer.send(BaseRecord::to(topic).payload(payload).key("bench")).map_err(|(error, _)| error)?;
    producer.flush(Duration::from_secs(60))?;
    measured(|| {
        let mut sent = 0;
        while sent < MESSAGES {
            match producer.send(BaseRecord::to(topic).payload(payload).key("bench")) {
                Ok(()) => sent += 1,
                Err((error, _)) if error.rdkafka_error_code() == Some(RDKafkaErrorCode::QueueFull) => {
                    // As the thread of an output does. A poll with a time would wait to its end, whatever comes.
                    producer.poll(Duration::ZERO);
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err((error, _)) => return Err(error.into()),
            }
            if sent % 64 == 0 {
                producer.poll(Duration::ZERO);
            }
        }
        producer.flush(Duration::from_secs(60))?;
        Ok(())
    })
}

/// Sends events by the output.
fn evforge(address: &str, topic: &str, batches: &[Arc<PulsedBatch>]) -> Result<Measured, Box<dyn Error>> {
    let settings = format!(
        "brokers = '{address}'\ntopic = '{topic}'\nsource = 'bench'\nledger = false\nstatus = false\nvalues = false"
    );
    let settings: KafkaSettings = toml::from_str(&settings)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let context = OutputContext {
        instrument: "bench".into(),
        detector: "gdgem".into(),
        run: RunIdentity::default(),
        geometry: LogicalGeometry::flat(200, 200)?,
        pixel_ids: None,
        placement: None,
        train: PulseTrain::european_xfel(),
        tells_pulses: false,
        vetoes: Vec::new(),
        configuration: String::new(),
        ledger: DetectorLedger::default(),
        outputs: Vec::new(),
        batch_events: BATCH,
        clock: Arc::clone(&clock),
        monitor: None,
        advice: None,
        control: None,
        kept: None,
        packets: None,
        asked_to_end: Arc::default(),
        notes: Notes::default(),
    };
    let mut output = Box::new(settings).open(&context)?;
    let state = Arc::new(RunState::default());
    let (first, others) = batches.split_first().ok_or("no batch")?;
    // The connections are there before the time begins.
    output.take(first)?;
    while output.progress().committed == 0 {
        output.poll()?;
        std::thread::sleep(Duration::from_millis(1));
    }
    let measured = measured(|| {
        for batch in others {
            // As the thread of an output does: what was not taken is offered again after a while.
            while output.take(batch)? == Taken::NotNow {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        loop {
            match output.finish(&state) {
                Ok(()) => return Ok(()),
                Err(OutputError::Retry(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    })?;
    let sent = output.progress().committed;
    if sent != (EVENTS * MESSAGES) as u64 {
        return Err(format!("{sent} events were acknowledged").into());
    }
    Ok(measured)
}
