//! Makes the output: everything that can be known of brokers and topics is asked before the first packet.

use super::about_run::{AboutRules, AboutRun};
use super::counters::KafkaCounters;
use super::last_ids::LastIds;
use super::maker::MessageMaker;
use super::output::KafkaOutput;
use super::packer::Packer;
use super::sender::Sender;
use super::settings::{KafkaSettings, MESSAGE_OVERHEAD};
use super::spill::Spill;
use super::topic_end;
use crate::client::{Admin, Cause, Checked, ClientError, Deadline, check};
use crate::packets::PacketMessages;
use crate::sending::{self, KafkaTransport};
use evforge_core::counter::{CounterInfo, CounterSet};
use evforge_core::output::Output;
use evforge_outputs::{OutputContext, OutputPlan};
use rdkafka::ClientConfig;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// Until it is looked again whether a new topic is there.
const AGAIN: Duration = Duration::from_millis(50);
/// Kafka's own limit of a message, where a topic does not tell another.
const USUAL_LIMIT: u64 = 1_000_000;

impl OutputPlan for KafkaSettings {
    fn name(&self) -> String {
        self.name_with(self.named_topic())
    }

    fn counters(&self) -> Vec<CounterInfo> {
        KafkaCounters::infos().to_vec()
    }

    fn memory_bound(&self, context: &OutputContext) -> usize {
        self.own_memory(context)
    }

    fn threads(&self) -> usize {
        // Its output, librdkafka's own, one for each broker, and who asks at the end.
        16
    }

    fn open(self: Box<Self>, context: &OutputContext) -> Result<Box<dyn Output>, Box<dyn Error>> {
        open(&self, context)
    }
}

/// Makes the output of these settings.
fn open(settings: &KafkaSettings, context: &OutputContext) -> Result<Box<dyn Output>, Box<dyn Error>> {
    let topic = settings.topic(context);
    let name = settings.name_with(Some(&topic));
    let topics = settings.about_topics(context);
    let others =
        [&topics.ledger, &topics.monitors, &topics.vetoes, &topics.status, &topics.values, &topics.samples];
    let all: Vec<&str> =
        std::iter::once(&topic).chain(others.into_iter().flatten()).map(String::as_str).collect();
    let deadline = Deadline::of_opening().or_when(&context.asked_to_end);
    if settings.table.create_topics {
        // Whether a broker can be reached at all is said best by the check.
        check(&settings.client, &[], deadline.of_an_answer())?;
        Admin::new(&settings.client, deadline.of_an_answer())?.create_topics(&all)?;
    }
    if topics.vetoes.is_some() && context.ledger.frames.is_none() {
        context
            .notes
            .add("note: outputs.kafka.veto_topic gets nothing: the readout of this detector tells no vetoes");
    }
    let checked = check_topics(settings, &all, &deadline.of_an_answer())?;
    let largest = largest_message(settings, context, &topic, &checked, &deadline.of_an_answer());
    let packing = settings.packing(context, largest as usize);
    let config = config(settings, context, largest)?;
    let (spill, left_over) = spill(settings, context)?;
    let names = packing.sources.names().to_vec();
    let continues = settings.continues();
    let before = if continues {
        topic_end::read(
            &settings.client,
            &topic,
            &names,
            &left_over,
            &Deadline::of_opening().or_when(&context.asked_to_end),
        )?
    } else {
        LastIds::default()
    };
    let mut numbered_from = before.clone();
    numbered_from.add_all(&left_over);
    let samples = settings.packets().zip(topics.samples.as_ref()).map(|(packets, _)| {
        let tap = context
            .packets
            .as_ref()
            .ok_or("this run has no raw packets to send: leave out outputs.kafka.packets")?;
        let samples = tap.subscribe(packets.rule, packets.memory.bytes as usize)?;
        if packets.calibration {
            tap.calibrate(true);
        }
        Ok::<_, Box<dyn Error>>(PacketMessages::new(samples, settings.source(context), 1))
    });
    let rules = AboutRules {
        monitors: settings.monitors(),
        topics,
        output: name.clone(),
        instrument: context.instrument.clone(),
        source: settings.source(context),
        run: context.run.title.clone(),
        host: host_name(),
        before: numbered_from.clone(),
        start_ns: context.clock.unix_ns() as i64,
    };
    let mut output = KafkaOutput {
        name,
        maker: MessageMaker::new(settings.message_rules(context), &names, &numbered_from),
        packer: Packer::new(packing),
        sender: Sender::new(Box::new(KafkaTransport::new(&config)?), spill, before),
        about_run: AboutRun::new(rules, samples.transpose()?),
        counters: KafkaCounters::default(),
        clock: Arc::clone(&context.clock),
        has_said_the_end: false,
    };
    let (now, unix_ns) = (context.clock.elapsed(), context.clock.unix_ns());
    let KafkaOutput { about_run, sender, counters, .. } = &mut output;
    about_run.begin(context.ledger.frames.as_ref(), sender, now, unix_ns, counters);
    Ok(Box::new(output))
}

/// All topics must be there. Brokers come to know a new one, and who leads it, a moment after it was made.
fn check_topics(
    settings: &KafkaSettings,
    topics: &[&str],
    deadline: &Deadline,
) -> Result<Checked, ClientError> {
    loop {
        let problem = match check(&settings.client, topics, deadline.clone()) {
            Ok(checked) => return Ok(checked),
            Err(problem) => problem,
        };
        let may_pass = matches!(problem.cause, Cause::UnknownTopic | Cause::NoLeader);
        if !(settings.table.create_topics && may_pass) || deadline.is_over() {
            return Err(problem);
        }
        deadline.pause(AGAIN)?;
    }
}

/// The largest message that the topic takes and the settings want.
fn largest_message(
    settings: &KafkaSettings,
    context: &OutputContext,
    topic: &str,
    checked: &Checked,
    deadline: &Deadline,
) -> u64 {
    let wanted = settings.table.message_size.map(|size| size.bytes);
    let told = Admin::new(&settings.client, deadline.clone()).and_then(|admin| {
        // A topic that is made with the first message gets what the broker has.
        let exists = checked.topics.iter().any(|known| known.name == topic && !known.partitions.is_empty());
        match checked.brokers.first() {
            Some((broker, ..)) if !exists => admin.largest_message_of_broker(*broker),
            _ => admin.largest_message(topic),
        }
    });
    let allowed = told.unwrap_or_else(|error| {
        let limit = wanted.unwrap_or(USUAL_LIMIT);
        context.notes.add(format!("note: {error}. Messages have at most {limit} bytes (message_size)"));
        limit
    });
    if let Some(wanted) = wanted.filter(|&wanted| wanted > allowed) {
        context.notes.add(format!(
            "note: message_size = {wanted} is more than topic {topic} takes: messages have at most {allowed} bytes \
             (max.message.bytes of the topic)"
        ));
    }
    let largest = wanted.unwrap_or(allowed).min(allowed).max(2 * MESSAGE_OVERHEAD as u64);
    // One that is larger than the memory would wait for ever.
    let half = settings.table.memory.bytes / 2;
    let events = |largest: u64| settings.packing(context, largest as usize).limits.events;
    if events(half) < events(largest) {
        context.notes.add(format!(
            "note: messages have at most {half} bytes, half of outputs.kafka.memory, so that one can be sent while the next is made"
        ));
    }
    largest.min(half)
}

/// What librdkafka is told. A setting that makes losses or doubles possible is taken, and said.
fn config(
    settings: &KafkaSettings,
    context: &OutputContext,
    largest: u64,
) -> Result<ClientConfig, Box<dyn Error>> {
    let memory = settings.table.memory.bytes;
    let (kilobytes, messages) = ((memory / 1024).max(1).to_string(), (memory / 1000).max(1).to_string());
    let largest = largest.clamp(1000, 1_000_000_000).to_string();
    let defaults = [
        // Messages are never given up: what happens to them is decided here.
        ("message.timeout.ms", "0"),
        ("queue.buffering.max.kbytes", &kilobytes),
        ("queue.buffering.max.messages", &messages),
        ("message.max.bytes", &largest),
        ("statistics.interval.ms", "1000"),
    ];
    let config = sending::config(&settings.client, &defaults)?;
    // librdkafka knows some options by two names.
    let value = |keys: &[&str]| keys.iter().find_map(|key| config.get(key)).unwrap_or_default();
    if value(&["enable.idempotence"]) != "true" {
        context.notes.add(
            "warning: outputs.kafka.options switches off enable.idempotence: messages may come twice, and in another order, \
             after a broker was lost",
        );
    }
    if !["all", "-1"].contains(&value(&["request.required.acks", "acks"])) {
        context.notes.add(
            "warning: outputs.kafka.options sets acks to less than all: messages that count as acknowledged may be lost with a \
             broker",
        );
    }
    if value(&["delivery.timeout.ms", "message.timeout.ms"]) != "0" {
        context.notes.add(
            "warning: outputs.kafka.options sets message.timeout.ms: messages that no broker acknowledges within that time are given \
             up, and counted as failed",
        );
    }
    Ok(config)
}

/// The spill, and the numbers of what an earlier run has left in it.
fn spill(
    settings: &KafkaSettings,
    context: &OutputContext,
) -> Result<(Option<Spill>, LastIds), Box<dyn Error>> {
    let mut left_over = LastIds::default();
    let Some(folder) = &settings.table.spill_folder else { return Ok((None, left_over)) };
    let (spill, notes) = Spill::open(folder, settings.spill_limit())?;
    notes.into_iter().for_each(|note| context.notes.add(note));
    let mut messages = 0;
    spill.visit_left_over(|record| {
        messages += 1;
        topic_end::note(&record.payload, &mut left_over);
    })?;
    if messages > 0 {
        let folder = folder.display();
        context.notes.add(format!("{messages} messages that an earlier run left in {folder} are sent first"));
    }
    Ok((Some(spill), left_over))
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}
