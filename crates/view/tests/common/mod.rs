//! A small live view, events for it, and a browser's side of the WebSocket.
// Each test program uses a part of this.
#![allow(dead_code, clippy::unwrap_used)]

use evforge_control::control::Configuration;
use evforge_control::{
    ConfiguredValue, Control, ControlAccess, ControlDesk, ControlSlot, LogGroup, LogLevels, Refusal,
    RunEnded, RunFacts, RunService, RunStarted, RunsState, Token, ValueOrigin, WantedChange, WantedRun,
};
use evforge_core::change::{Change, ChangeTime, Parameter};
use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::output::{Output, Taken};
use evforge_core::pulse::PulseTrain;
use evforge_core::pulsed::{CalendarRule, PulseStage, PulseStageSettings};
use evforge_core::run_state::{OutputState, RunState};
use evforge_testkit::patience::patience;
use evforge_view::look_frame::LookFrame;
use evforge_view::{LiveSink, LiveView, ShownContent, ViewOptions};
use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// Options for a detector of `nx` x `ny` pixels at the ESS, any port, pictures every 50 ms.
pub(crate) fn options(nx: u32, ny: u32) -> ViewOptions {
    let geometry = LogicalGeometry::flat(nx, ny).unwrap();
    ViewOptions {
        address: "127.0.0.1:0".parse().unwrap(),
        picture_interval: Duration::from_millis(50),
        ..ViewOptions::new("Test detector", geometry, PulseTrain::ess())
    }
}

/// What a view of trains shows, with modules from this number.
pub(crate) fn trains(first_module: u32) -> ShownContent {
    ShownContent {
        things: "trains".to_owned(),
        pixel: "mean".to_owned(),
        panel: "module".to_owned(),
        first_panel: first_module,
        chart: "Pulses".to_owned(),
        across: "pulse".to_owned(),
        up: "sum".to_owned(),
    }
}

pub(crate) fn start(options: ViewOptions) -> (LiveView, LiveSink) {
    let view = LiveView::start(options).unwrap();
    let sink = view.sink();
    (view, sink)
}

/// Gives events (time, pixel id) to a sink.
pub(crate) fn feed(sink: &mut LiveSink, events: &[(u64, u32)]) {
    let mut batch = EventBatch::new(events.len());
    for &(time_ns, pixel_id) in events {
        assert!(batch.push(Event { time_ns, pixel_id }));
    }
    hand_on(sink, &batch);
}

/// Gives a batch of a detector to a sink, by way of the stage that assigns pulses.
pub(crate) fn hand_on(sink: &mut LiveSink, events: &EventBatch) {
    let settings = PulseStageSettings::new(PulseTrain::ess(), CalendarRule::Readout);
    PulseStage::new(settings).hand_on(events, None, &mut |batch| {
        assert_eq!(sink.take(&Arc::new(batch)), Ok(Taken::Yes));
    });
}

/// What must be known to change anything.
pub(crate) const TOKEN: &str = "0123456789abcdef-test";
/// The header that says it.
pub(crate) const BEARER: &str = "Authorization: Bearer 0123456789abcdef-test\r\n";

/// A run without a detector, which knows its thresholds and can be told to have none.
#[derive(Default)]
pub(crate) struct Quiet {
    facts: RunFacts,
    /// Nothing can be done in it.
    pub(crate) refuses: bool,
}

fn refused() -> Refusal {
    Refusal::NotPossible("not in this run".into())
}

impl Control for Quiet {
    fn facts(&self) -> &RunFacts {
        &self.facts
    }
    fn state(&self) -> Arc<RunState> {
        let output = OutputState { id: "csv".into(), failure: Some("gone".into()), ..OutputState::default() };
        Arc::new(RunState { outputs: vec![output], ..RunState::default() })
    }
    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter { key: "x.threshold".into(), value: 1, largest: 9, unit: "counts", help: "One." }]
    }
    fn earliest_change(&self) -> Result<Option<ChangeTime>, Refusal> {
        if self.refuses { Err(Refusal::Ended) } else { Ok(Some(ChangeTime { restarts: 0, time_ns: 5 })) }
    }
    fn change(&self, wanted: Vec<WantedChange>) -> Vec<Result<Change, Refusal>> {
        let parameters = self.parameters();
        let change = |wanted: WantedChange| {
            if self.refuses {
                return Err(refused());
            }
            evforge_core::change::find_parameter(&parameters, &wanted.key, wanted.value)?;
            let at = ChangeTime { restarts: 0, time_ns: 5 };
            Ok(Change { at, key: wanted.key.into(), value: wanted.value })
        };
        wanted.into_iter().map(change).collect()
    }
    fn calibration_mode(&self) -> bool {
        false
    }
    fn set_calibration_mode(&self, _: bool) -> Result<(), Refusal> {
        if self.refuses { Err(refused()) } else { Ok(()) }
    }
    fn clear(&self) -> Result<(), Refusal> {
        if self.refuses { Err(refused()) } else { Ok(()) }
    }
    fn shut_down(&self) {}
}

impl RunService for Quiet {
    fn runs(&self) -> RunsState {
        let run = RunStarted { files: vec!["run.nxs".into()], ..RunStarted::default() };
        let last = RunEnded { run: run.clone(), ..RunEnded::default() };
        RunsState { run: Some(run), last: Some(last), ..RunsState::default() }
    }
    fn start(&self, wanted: WantedRun) -> Result<RunStarted, Refusal> {
        Ok(RunStarted { title: wanted.title.unwrap_or_default(), ..RunStarted::default() })
    }
    fn stop(&self) -> Result<RunEnded, Refusal> {
        Ok(RunEnded::default())
    }
    fn shut_down(&self) {}
}

impl LogLevels for Quiet {
    fn groups(&self) -> Vec<LogGroup> {
        vec![LogGroup { name: "input".into(), level: "info".into(), help: "Packets.".into() }]
    }
    fn set(&self, group: &str, _: &str) -> Result<(), Refusal> {
        if group == "input" { Ok(()) } else { Err(Refusal::Invalid(format!("no group {group}"))) }
    }
}

fn facts() -> RunFacts {
    let values = [
        ("a", ValueOrigin::File { line: 3 }),
        ("b", ValueOrigin::Set),
        ("c", ValueOrigin::Option("--c".into())),
    ];
    let values = values.map(|(key, origin)| ConfiguredValue { key: key.into(), value: "1".into(), origin });
    let configuration = Configuration { values: values.into(), ..Configuration::default() };
    RunFacts { version: "1".into(), build: "test".into(), configuration, ..RunFacts::default() }
}

/// A desk for a run that can do everything, and the token.
pub(crate) fn access() -> ControlAccess {
    let run = Arc::new(Quiet { facts: facts(), refuses: false });
    let desk = ControlDesk::new(Arc::clone(&run) as Arc<dyn Control>, Arc::default(), Arc::new(|_| {}));
    let desk = desk.with_service(Arc::clone(&run) as Arc<dyn RunService>).with_logs(run);
    ControlAccess { desk: Arc::new(desk), token: Arc::new(Token::new(TOKEN, "test").unwrap()) }
}

/// A desk for a run that refuses everything, and has neither further runs nor a log; or for no run at all.
pub(crate) fn poor_access(has_run: bool) -> ControlAccess {
    let slot = ControlSlot::new(facts());
    if has_run {
        slot.set(Some(Arc::new(Quiet { facts: facts(), refuses: true })));
    }
    let desk = ControlDesk::of_slot(slot, Arc::default(), Arc::new(|_| {}));
    ControlAccess { desk: Arc::new(desk), token: Arc::new(Token::new(TOKEN, "test").unwrap()) }
}

/// An answer over HTTP.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The headers in small letters.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// Sends a request without a body, with `more` headers.
pub(crate) fn ask(method: &str, address: SocketAddr, path: &str, host: &str, more: &str) -> Answer {
    ask_with(method, address, path, host, more, "")
}

/// The same with a body.
pub(crate) fn ask_with(
    method: &str,
    address: SocketAddr,
    path: &str,
    host: &str,
    more: &str,
    body: &str,
) -> Answer {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let length = if method == "POST" { format!("Content-Length: {}\r\n", body.len()) } else { String::new() };
    let head =
        format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{length}{more}\r\n{body}");
    stream.write_all(head.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_lowercase(), body: bytes[end + 4..].to_vec() }
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    ask("GET", address, path, &address.to_string(), "")
}

pub(crate) fn post(address: SocketAddr, path: &str, more: &str) -> Answer {
    ask("POST", address, path, &address.to_string(), more)
}

/// A browser that does what it is told.
pub(crate) struct Browser {
    pub(crate) socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    pub(crate) hello: Value,
    /// The newest frame of its last look.
    pub(crate) picture: Option<LookFrame>,
    /// The number that it gave its looks last.
    pub(crate) wanted: u64,
}

impl Browser {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let (mut socket, _) = connect_async(format!("ws://{address}/api/live")).await.unwrap();
        let hello = match receive(&mut socket).await {
            Some(Message::Text(text)) => serde_json::from_str(&text).unwrap(),
            other => panic!("expected a greeting, found {other:?}"),
        };
        Self { socket, hello, picture: None, wanted: 0 }
    }

    /// The next update, without acknowledging it; its picture, if it has one, is then in `picture`.
    pub(crate) async fn update(&mut self) -> Value {
        let Some(Message::Text(text)) = receive(&mut self.socket).await else { panic!("expected a status") };
        let status: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(status["type"], "status", "{status}");
        if status["wanted"] != self.wanted {
            // What comes is not what it wants now.
            self.picture = None;
        }
        for _ in status["frames"].as_array().unwrap() {
            match receive(&mut self.socket).await {
                Some(Message::Binary(bytes)) => self.picture = Some(LookFrame::decode(&bytes).unwrap()),
                other => panic!("expected a picture, found {other:?}"),
            }
        }
        status
    }

    /// The next refusal of what it wanted, whatever updates come before.
    pub(crate) async fn refusal(&mut self) -> String {
        loop {
            let Some(Message::Text(text)) = receive(&mut self.socket).await else { continue };
            let said: Value = serde_json::from_str(&text).unwrap();
            if said["type"] == "refused" {
                return said["message"].as_str().unwrap().to_owned();
            }
            self.acknowledge(&said).await;
        }
    }

    pub(crate) async fn acknowledge(&mut self, status: &Value) {
        self.say(format!("ack {}", status["number"])).await;
    }

    pub(crate) async fn say(&mut self, text: String) {
        self.socket.send(Message::text(text)).await.unwrap();
    }

    /// Takes and acknowledges updates until `wanted`.
    pub(crate) async fn update_until(
        &mut self,
        wanted: impl Fn(&Value, Option<&LookFrame>) -> bool,
    ) -> Value {
        let search = async {
            loop {
                let status = self.update().await;
                self.acknowledge(&status).await;
                if wanted(&status, self.picture.as_ref()) {
                    return status;
                }
            }
        };
        timeout(patience(), search).await.expect("the update never came")
    }

    /// The code with which the server closes, whatever it sends before.
    pub(crate) async fn close_code(&mut self) -> Option<u16> {
        loop {
            match receive(&mut self.socket).await {
                Some(Message::Close(frame)) => return frame.map(|frame| frame.code.into()),
                Some(_) => {}
                None => return None,
            }
        }
    }
}

/// The next message, or none at the end of the connection.
async fn receive(socket: &mut WebSocketStream<MaybeTlsStream<TcpStream>>) -> Option<Message> {
    timeout(patience(), socket.next()).await.expect("the server is silent")?.ok()
}
