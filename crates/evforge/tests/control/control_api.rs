//! The HTTP interface of a real run: what it answers and changes, who may, and whoever means ill. And `evforge ctl`, which speaks it.

use crate::common::{PROGRAM, evforge, text, workspace};
use evforge_testkit::patience::{patience, wait_until};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A live run with a page, which leaves its token in a folder of its own.
struct Run {
    child: Child,
    page: SocketAddr,
    packets: String,
    folder: PathBuf,
    token: String,
}

impl Drop for Run {
    fn drop(&mut self) {
        // Ended already in the good case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

impl Run {
    fn start(folder: &Path, further: &[&str]) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(["run", "--config"])
            .arg(workspace().join("configs/gdgem-srs.toml"))
            .args(["--address", "127.0.0.1", "--port", "0", "--for", "10min", "--report"])
            .arg(folder.join("report.json"))
            .args(["--view", "127.0.0.1:0"])
            .args(further)
            .env("XDG_RUNTIME_DIR", folder)
            .env_remove("EVFORGE_TOKEN")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let mut said = String::new();
        let mut after = |begin: &str| loop {
            let line = lines.next().unwrap_or_else(|| panic!("no {begin:?} in {said}")).expect("text");
            said.push_str(&line);
            if let Some(rest) = line.strip_prefix(begin) {
                return rest.to_owned();
            }
        };
        let packets = after("receiving at UDP ");
        let page =
            after("live view at http://").parse().expect("an address alone: no token where no terminal is");
        std::thread::spawn(move || lines.for_each(drop));
        let mut run = Self { child, page, packets, folder: folder.to_owned(), token: String::new() };
        run.token = std::fs::read_to_string(run.token_file()).expect("its token").trim().to_owned();
        run
    }

    fn token_file(&self) -> PathBuf {
        self.folder.join("evforge").join(format!("{}.token", self.page.port()))
    }

    /// Asks with whatever headers.
    fn raw(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect_timeout(&self.page, patience()).expect("a connection");
        stream.set_read_timeout(Some(patience())).expect("a time-out");
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}",
            self.page
        );
        // A server that refuses may close before it has read all of it.
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = text(&answer);
        let (head, body) =
            answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{method} {path}: {answer:?}"));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    fn get(&self, path: &str) -> Answer {
        self.raw("GET", path, "", "")
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        let headers = format!("Authorization: Bearer {}\r\n", self.token);
        self.raw("POST", path, &headers, &body.to_string())
    }

    /// Sends it packets: how many.
    fn replay(&self, rate: &str) -> u64 {
        let capture = workspace().join("data/gdgem-srs.pcapng");
        let sent =
            evforge(&["replay", capture.to_str().expect("text"), "--to", &self.packets, "--rate", rate]);
        let said = text(&sent.stdout);
        let count = said.strip_prefix("sent ").and_then(|rest| rest.split_once(" packets"));
        count.and_then(|(count, _)| count.replace(' ', "").parse().ok()).unwrap_or_else(|| panic!("{said}"))
    }

    fn counter(&self, name: &str) -> u64 {
        let answer = self.get(&format!("/api/control/counters/{name}"));
        answer.json()["value"].as_u64().unwrap_or_else(|| panic!("{name}: {answer:?}"))
    }

    fn wait_for(&self, counter: &str, value: u64) {
        wait_until(format!("{counter} is {value}"), || self.counter(counter) == value);
    }

    /// What somebody without the token could have changed.
    fn state(&self) -> Value {
        json!([
            self.get("/api/control/parameters").json(),
            self.get("/api/control/calibration").json(),
            self.get("/api/control/monitor").json(),
            self.counter("control.state_changes"),
        ])
    }

    /// Ends it over HTTP: its report.
    fn end(mut self) -> Value {
        assert_eq!(self.post("/api/control/shutdown", &json!({})).json(), json!({ "done": true }));
        let status = self.child.wait().expect("it ends");
        assert!(!self.token_file().exists(), "the token is taken away");
        let report = std::fs::read(self.folder.join("report.json")).expect("a report");
        assert!(!text(&report).contains(&self.token), "the token is in no report");
        let report: Value = serde_json::from_slice(&report).expect("JSON");
        assert!(status.success(), "{status}: {report:#}");
        report
    }

    /// `evforge ctl`, as the same user on the same host.
    fn ctl(&self, arguments: &[&str]) -> Output {
        Command::new(PROGRAM)
            .arg("ctl")
            .args(arguments)
            .args(["--url", &self.page.to_string()])
            .env("XDG_RUNTIME_DIR", &self.folder)
            .env_remove("EVFORGE_TOKEN")
            .output()
            .expect("the program starts")
    }
}

/// Every path with a good request and what it answers.
fn conversation() -> Vec<(&'static str, &'static str, Value, u16)> {
    let x = "detector.clustering.x.adc_threshold";
    vec![
        ("GET", "/api/control/version", json!(null), 200),
        ("GET", "/api/control/facts", json!(null), 200),
        ("GET", "/api/control/configuration", json!(null), 200),
        ("GET", "/api/control/state", json!(null), 200),
        ("GET", "/api/control/counters", json!(null), 200),
        ("GET", "/api/control/counters/{name}", json!(null), 200),
        ("GET", "/api/control/parameters", json!(null), 200),
        ("GET", "/api/control/changes/earliest", json!(null), 200),
        ("POST", "/api/control/changes", json!({ "changes": [{ "key": x, "value": 60 }] }), 200),
        (
            "POST",
            "/api/control/changes",
            json!({ "changes": [{ "key": x, "value": 61, "after_ns": 5_000_000_000_u64 }] }),
            200,
        ),
        ("POST", "/api/control/changes", json!({ "changes": [{ "key": x, "value": 61, "at_ns": 0 }] }), 409),
        ("POST", "/api/control/changes", json!({ "changes": [{ "key": "no.such", "value": 61 }] }), 400),
        ("POST", "/api/control/changes", json!({ "changes": [{ "key": x, "value": -1 }] }), 400),
        ("POST", "/api/control/changes", json!({ "change": [] }), 400),
        ("GET", "/api/control/calibration", json!(null), 200),
        ("POST", "/api/control/calibration", json!({ "on": false }), 200),
        ("POST", "/api/control/calibration", json!({ "on": true }), 409),
        ("POST", "/api/control/monitor", json!({ "on": true }), 200),
        ("GET", "/api/control/monitor", json!(null), 200),
        ("POST", "/api/control/clear", json!({}), 200),
        ("GET", "/api/control/runs", json!(null), 409),
        ("POST", "/api/control/runs", json!({ "title": "more", "set": ["a=1"] }), 409),
        ("POST", "/api/control/runs", json!({ "duration_s": -1 }), 400),
        ("POST", "/api/control/runs/stop", json!({}), 409),
        ("GET", "/api/control/log", json!(null), 200),
        ("POST", "/api/control/log/{group}", json!({ "level": "debug" }), 200),
        ("GET", "/api/state.json", json!(null), 200),
        ("GET", "/api/health", json!(null), 200),
    ]
}

#[test]
fn a_conversation_over_every_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = Run::start(folder.path(), &["--set", "gdgem.sorting.window=1ms"]);
    let sent = run.replay("2kpps");
    run.wait_for("detector.packets_received", sent);
    let mut answers = Vec::new();
    for (method, path, body, status) in conversation() {
        let asked = path.replace("{name}", "main.uptime").replace("{group}", "input");
        let answer = if method == "GET" { run.get(&asked) } else { run.post(&asked, &body) };
        assert_eq!(answer.status, status, "{method} {path} {body}: {answer:?}");
        assert!(answer.head.contains("content-type: application/json"), "{answer:?}");
        answers.push(json!({ "method": method, "path": path, "status": status, "body": answer.json() }));
    }
    // Every path of the document is in it, but for the end.
    let document = std::fs::read(workspace().join("docs/openapi.json")).expect("the document");
    let document: Value = serde_json::from_slice(&document).expect("JSON");
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for method in methods.as_object().expect("methods").keys() {
            let is_asked = answers.iter().any(|answer| {
                answer["path"] == **path
                    && answer["method"].as_str().is_some_and(|asked| asked.to_lowercase() == *method)
            });
            assert!(
                is_asked || !path.starts_with("/api/control") || path.ends_with("/shutdown"),
                "{method} {path}"
            );
        }
    }
    assert_eq!(run.get("/api/openapi.json").json(), document);
    let values = run.get("/api/control/configuration").json();
    let origin = |key: &str| {
        let values = values["values"].as_array().expect("values").iter();
        values.clone().find(|value| value["key"] == key).map(|value| value["origin"].clone())
    };
    assert_eq!(origin("gdgem.sorting.window"), Some("set".into()));
    assert_eq!(origin("name"), Some("file".into()));
    assert_eq!(origin("outputs.view.address"), Some("option".into()));
    for (method, path, status, code) in [
        ("GET", "/api/control/nothing", 404, "not_found"),
        ("POST", "/api/control/nothing", 404, "not_found"),
        ("POST", "/api/control/state", 405, "wrong_method"),
        ("DELETE", "/api/control/log/input", 405, "wrong_method"),
        ("GET", "/api/control/state?x=1", 400, "invalid"),
        ("GET", "/api/control/counters/no.such", 404, "not_found"),
    ] {
        let answer = run.raw(method, path, "", "");
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{method} {path}: {answer:?}");
        assert!(answer.json()["error"]["remedy"].as_str().is_some_and(|remedy| !remedy.is_empty()));
    }
    check_by_python(folder.path(), &answers);
    let report = run.end();
    assert_eq!(
        report["streams"][0]["changes"].as_array().map(Vec::len),
        Some(2),
        "{:#}",
        report["streams"][0]["changes"]
    );
    assert_eq!(report["control"]["tokens_wrong"], 0);
}

/// The document and the answers, as another program understands them.
fn check_by_python(folder: &Path, answers: &[Value]) {
    let python = std::env::var_os("EVFORGE_PYTHON")
        .map_or_else(|| workspace().join(".venv/bin/python"), PathBuf::from);
    let probe = Command::new(&python).args(["-c", "import jsonschema, openapi_spec_validator"]).output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        return evforge_testkit::skip(
            "a_conversation_over_every_path (OpenAPI)",
            "Python cannot import jsonschema and openapi_spec_validator: `make test-tools` installs them",
        );
    }
    let file = folder.join("answers.json");
    std::fs::write(&file, json!(answers).to_string()).expect("a file");
    let output = Command::new(python)
        .arg(workspace().join("tests/python/check_openapi.py"))
        .arg(workspace().join("docs/openapi.json"))
        .arg(file)
        .output()
        .expect("Python starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("answers are as the document says"));
}

#[test]
fn without_the_token_nothing_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = Run::start(folder.path(), &[]);
    // A run without any packet is of no use, and says so by its status.
    let sent = run.replay("20kpps");
    run.wait_for("detector.packets_received", sent);
    let mode = std::fs::metadata(run.token_file()).expect("the file").permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    let before = run.state();
    let wrong = ["Bearer".to_owned(), format!("Bearer {}x", run.token), format!("Basic {}", run.token)];
    let headers = wrong.iter().map(|value| format!("Authorization: {value}\r\n"));
    let posts = conversation().into_iter().filter(|(method, ..)| *method == "POST");
    let mut paths: Vec<(String, Value)> =
        posts.map(|(_, path, body, _)| (path.replace("{group}", "input"), body)).collect();
    paths.extend(
        ["/monitor/on", "/monitor/off", "/api/control/shutdown"].map(|path| (path.to_owned(), json!({}))),
    );
    let mut refused = 0_u64;
    for headers in headers.chain([String::new(), format!("Cookie: token={}\r\n", run.token)]) {
        for (path, body) in &paths {
            let answer = run.raw("POST", path, &headers, &body.to_string());
            // 429 after too many wrong ones.
            assert!([401, 429].contains(&answer.status), "{path} {headers}: {answer:?}");
            assert!(["no_token", "wrong_token", "too_many"].contains(&answer.code().as_str()), "{answer:?}");
            refused += 1;
        }
    }
    // The token is in no address: a query is none.
    let answer = run.raw("POST", &format!("/monitor/on?token={}", run.token), "", "");
    assert_eq!(answer.status, 401);
    websocket_says(&run, &["monitor on", "{\"on\":true}", "/monitor/on"]);
    assert_eq!(run.state(), before);
    assert_eq!(run.counter("control.requests_unauthorised"), refused + 1);
    assert!(run.counter("control.tokens_wrong") >= 10);
    // Whoever has it goes on, after so many wrong ones.
    let switch = || run.post("/api/control/monitor", &json!({ "on": true })).status;
    wait_until("the right token is good", || switch() == 200);
    assert_ne!(run.state(), before);
    let report = run.end();
    assert_eq!(report["control"]["state_changes"], 2, "{:#}", report["control"]);
}

/// Says something over the WebSocket, which is closed for it.
fn websocket_says(run: &Run, messages: &[&str]) {
    for message in messages {
        let mut stream = TcpStream::connect(run.page).expect("a connection");
        stream.set_read_timeout(Some(patience())).expect("a time-out");
        let head = format!(
            "GET /api/live HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
            run.page
        );
        stream.write_all(head.as_bytes()).expect("a request");
        let length = u8::try_from(message.len()).expect("short");
        // A text, masked by zeros.
        let frame = [&[0x81, 0x80 | length, 0, 0, 0, 0], message.as_bytes()].concat();
        stream.write_all(&frame).expect("a message");
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).expect("it closes");
        assert!(rest.starts_with(b"HTTP/1.1 101"), "{}", text(&rest[..rest.len().min(200)]));
    }
}

/// Numbers that look random, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[usize::try_from(self.next() % all.len() as u64).expect("an index")]
    }
}

#[test]
fn hostile_requests_harm_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = Run::start(folder.path(), &[]);
    let before = run.state();
    let sent = std::thread::scope(|scope| {
        let replay = scope.spawn(|| run.replay("2kpps"));
        // A header and bodies that trickle in.
        let head = format!(
            "POST /api/control/changes HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: 500\r\n\r\n{{",
            run.page, run.token
        );
        let mut slow: Vec<TcpStream> = (0..4)
            .map(|number| {
                let mut stream = TcpStream::connect(run.page).expect("a connection");
                let part =
                    if number % 2 == 0 { head.as_str() } else { "GET /api/control/state HTTP/1.1\r\nHo" };
                stream.write_all(part.as_bytes()).expect("a part");
                stream
            })
            .collect();
        let huge = "x".repeat(1 << 20);
        let answer = run.post("/api/control/changes", &json!(huge));
        assert_eq!((answer.status, answer.code().as_str()), (413, "too_large"));
        // Of a length that is not said.
        let chunked = format!("Authorization: Bearer {}\r\nTransfer-Encoding: chunked\r\n", run.token);
        let mut stream = TcpStream::connect(run.page).expect("a connection");
        stream.set_read_timeout(Some(patience())).expect("a time-out");
        let head = format!("POST /api/control/changes HTTP/1.1\r\nHost: {}\r\n{chunked}\r\n", run.page);
        let _ = stream.write_all(format!("{head}100000\r\n{huge}\r\n0\r\n\r\n").as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(text(&answer).starts_with("HTTP/1.1 413"), "{}", text(&answer));
        let mut random = Random(0x5eed);
        for _ in 0..3000 {
            let method = random.of(&["GET", "POST", "PUT", "DELETE", "BREW", "POST", "POST"]);
            let path = random.of(&[
                "/api/control/changes",
                "/api/control/state",
                "/api/control/counters/%00%ff",
                "/api/control/log/a%2f..",
                "/api/control/runs",
                "/monitor/on",
                "/api/control/calibration",
                "/api/control/../../etc/passwd",
                "/%",
                "/api/control/monitor?on=true",
                "/api/control/counters/\u{1F980}",
                "*",
                "/api/control/changes/earliest",
            ]);
            let mut headers =
                random.of(&["", "Content-Type: text/plain\r\n", "Expect: 100-continue\r\n"]).to_owned();
            if random.next().is_multiple_of(2) {
                headers += &format!("Authorization: Bearer {}\r\n", run.token);
            }
            // Nothing of it is a good request: nothing may change.
            let body = random.of(&[
                "",
                "{",
                "[]",
                "null",
                "{\"on\":1}",
                "{\"changes\":[{}]}",
                "\u{0}\u{1}",
                "{\"changes\":[{\"key\":\"\",\"value\":1}]}",
                "{\"changes\":[{\"key\":\"x\",\"value\":1e99}]}",
                "{\"on\":true,\"on\":true,\"x\":[[[[[[[[[[",
                "{\"level\":5}",
                "\"",
                "{\"changes\":[{\"key\":\"x\",\"value\":1,\"at_ns\":1,\"after_ns\":1}]}",
            ]);
            if path == "/monitor/on" && headers.contains("Bearer") && method == "POST" {
                continue;
            }
            let mut stream = TcpStream::connect(run.page).expect("a connection");
            stream.set_read_timeout(Some(patience())).expect("a time-out");
            let request = format!(
                "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
                run.page,
                body.len()
            );
            let _ = stream.write_all(request.as_bytes());
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            let answer = text(&answer);
            assert!(!answer.contains(" 500 ") && !answer.contains("panicked"), "{request}: {answer}");
        }
        // Those that trickle are cut.
        for stream in &mut slow {
            stream.set_read_timeout(Some(patience())).expect("a time-out");
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest);
            assert!(rest.is_empty() || text(&rest).starts_with("HTTP/1.1 408"), "{}", text(&rest));
        }
        replay.join().expect("no panic")
    });
    // Faster than anybody may ask.
    let flooding: Vec<u16> = std::thread::scope(|scope| {
        let flood = || {
            let mut stream = TcpStream::connect(run.page).expect("a connection");
            stream.set_read_timeout(Some(patience())).expect("a time-out");
            let request = format!("GET /api/control/version HTTP/1.1\r\nHost: {}\r\n\r\n", run.page);
            let many = request.repeat(4000);
            let mut reading = stream.try_clone().expect("a second handle");
            let writer = std::thread::spawn(move || {
                let _ = stream.write_all(many.as_bytes());
                stream
            });
            let (mut statuses, mut lines) = (Vec::new(), BufReader::new(&mut reading).lines());
            while statuses.len() < 4000 {
                let Some(Ok(line)) = lines.next() else { break };
                if let Some(status) = line.split("HTTP/1.1 ").nth(1) {
                    statuses.push(status[..3].parse().expect("a status"));
                }
            }
            drop(writer.join());
            statuses
        };
        let floods: Vec<_> = (0..2).map(|_| scope.spawn(flood)).collect();
        floods.into_iter().flat_map(|flood| flood.join().expect("no panic")).collect()
    });
    assert!(flooding.len() > 4000 && flooding.iter().all(|status| [200, 429].contains(status)));
    wait_until("it answers as often as usual", || run.get("/api/control/version").status == 200);
    run.wait_for("detector.packets_received", sent);
    assert_eq!(run.state(), before);
    let report = run.end();
    let packets = &report["streams"][0]["packets"];
    assert_eq!((&packets["lost"], &packets["received"]), (&0.into(), &sent.into()), "{packets:#}");
    assert_eq!(report["streams"][0]["unaccounted"], 0);
    let control = &report["control"];
    assert!(control["requests_too_large"].as_u64().is_some_and(|count| count >= 3), "{control:#}");
    assert_eq!(control["state_changes"], 1, "its end: {control:#}");
}

#[test]
fn ten_thousand_changes_under_load_lose_nothing() {
    const CLIENTS: u64 = 4;
    const REQUESTS: u64 = 250;
    const EACH: u64 = 10;
    let folder = tempfile::tempdir().expect("a folder");
    let run = Run::start(folder.path(), &[]);
    let (sent, taken) = std::thread::scope(|scope| {
        let replay = scope.spawn(|| run.replay("2kpps"));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let run = &run;
                scope.spawn(move || {
                    let mut taken = 0;
                    for request in 0..REQUESTS {
                        let change = |number: u64| {
                            let plane = if (client + number).is_multiple_of(2) { "x" } else { "y" };
                            let value = 50 + (request + number) % 7;
                            json!({ "key": format!("gdgem.clustering.{plane}.adc_threshold"), "value": value })
                        };
                        let changes: Vec<Value> = (0..EACH).map(change).collect();
                        let answer = run.post("/api/control/changes", &json!({ "changes": changes }));
                        assert_eq!(answer.status, 200, "{answer:?}");
                        taken += answer.json()["changes"].as_array().map_or(0, Vec::len) as u64;
                    }
                    taken
                })
            })
            .collect();
        let taken: u64 = clients.into_iter().map(|client| client.join().expect("no panic")).sum();
        (replay.join().expect("no panic"), taken)
    });
    assert_eq!(taken, CLIENTS * REQUESTS * EACH);
    run.wait_for("detector.packets_received", sent);
    let report = run.end();
    let stream = &report["streams"][0];
    assert_eq!(stream["changes"].as_array().map(Vec::len), usize::try_from(taken).ok());
    assert_eq!((&stream["packets"]["lost"], &stream["packets"]["received"]), (&0.into(), &sent.into()));
    assert_eq!(stream["unaccounted"], 0);
    assert_eq!(report["control"]["state_changes"], CLIENTS * REQUESTS + 1);
}

#[test]
fn ctl_speaks_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = Run::start(folder.path(), &[]);
    let sent = run.replay("2kpps");
    run.wait_for("detector.packets_received", sent);
    let good = |arguments: &[&str]| {
        let output = run.ctl(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let json = |arguments: &[&str]| -> Value {
        let said = good(&[arguments, &["--json"]].concat());
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {said}"))
    };
    assert!(good(&["state"]).contains("gdgem-srs"));
    assert_eq!(json(&["state"])["packets"], sent);
    assert!(good(&["counters"]).contains("detector.packets_received"));
    assert_eq!(good(&["counters", "detector.packets_received"]).trim(), sent.to_string());
    assert!(good(&["config"]).contains("[gdgem"));
    assert!(good(&["config", "--origins"]).contains("gdgem-srs.toml:"));
    assert!(good(&["parameters"]).contains("gdgem.clustering.x.adc_threshold"));
    assert!(
        good(&["set", "gdgem.clustering.x.adc_threshold=70"])
            .starts_with("gdgem.clustering.x.adc_threshold = 70 from ")
    );
    let later = json(&["set", "detector.clustering.y.adc_threshold=71", "--after", "2s"]);
    assert_eq!(later["changes"][0]["value"], 71);
    assert_eq!(good(&["monitor", "on"]), "on\n");
    assert_eq!(run.get("/api/control/monitor").json()["on"], true);
    assert_eq!(good(&["clear"]), "done\n");
    assert_eq!(good(&["monitor", "off"]), "off\n");
    assert_eq!(good(&["calibration", "off"]), "off\n");
    let bad = |arguments: &[&str], why: &str| {
        let output = run.ctl(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(text(&output.stderr).contains(why), "{arguments:?}: {}", text(&output.stderr));
    };
    bad(&["run", "start"], "`evforge serve`");
    bad(&["run", "status"], "`evforge serve`");
    bad(&["run", "stop", "--title", "x"], "evforge ctl run start");
    assert!(good(&["log"]).contains("parse"));
    assert_eq!(good(&["log", "input=debug"]), "done\n");
    bad(&["log", "imput=debug"], "input");
    bad(&["log", "input=loud"], "debug");
    bad(&["log", "input"], "GROUP=LEVEL");
    bad(&["counters", "no.such"], "no counter");
    bad(&["calibration", "on"], "no output of this run takes raw packets");
    bad(&["set", "gdgem.clustering.x.adc_threshold=70", "--at", "0"], "too early");
    let other = folder.path().join("other.token");
    std::fs::write(&other, "a token that is not it".replace(' ', "-")).expect("a file");
    let file = other.to_str().expect("text").to_owned();
    bad(&["clear", "--token-file", &file], "chmod 600");
    std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o600)).expect("its mode");
    bad(&["clear", "--token-file", &file], "not the token of the run");
    // Nobody listens, and something else does.
    let ctl = |url: &str| {
        let output = Command::new(PROGRAM).args(["ctl", "state", "--url", url]).output().expect("it starts");
        assert_eq!(output.status.code(), Some(1));
        text(&output.stderr)
    };
    assert!(ctl("127.0.0.1:1").contains("no run answers at http://127.0.0.1:1"));
    assert!(ctl("https://127.0.0.1").contains("expected http://HOST:PORT"));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = listener.local_addr().expect("its address").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(2) {
            let mut stream = stream.expect("a connection");
            let _ = stream.read(&mut [0; 1000]);
            let _ = stream
                .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
        }
    });
    assert!(ctl(&url).contains("is no run of evforge"));
    assert_eq!(good(&["shutdown"]), "done\n");
    let mut run = run;
    assert!(run.child.wait().expect("it ends").success());
}
