//! A live run with its page, and what the page answers.

use crate::common::PROGRAM;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A live run with a page; killed when dropped.
pub(crate) struct Page {
    child: Child,
    /// Where it receives.
    pub(crate) receives: String,
    /// Host and port of its page.
    pub(crate) page: String,
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Page {
    pub(crate) fn start(config: &Path, folder: &Path, further: &[&str]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args([
            "run",
            "--overwrite",
            "--address",
            "127.0.0.1",
            "--port",
            "0",
            "--view",
            "127.0.0.1:0",
            "--config",
        ]);
        command.arg(config).args(further).current_dir(folder);
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let (mut said, mut receives, mut page) = (String::new(), None, None);
        while receives.is_none() || page.is_none() {
            let Some(Ok(line)) = lines.next() else { panic!("{}: {said}", config.display()) };
            receives = receives.or(line.strip_prefix("receiving at UDP ").map(str::to_owned));
            page = page.or(line.strip_prefix("live view at http://").map(str::to_owned));
            said += &line;
        }
        std::thread::spawn(move || lines.for_each(drop));
        let page = page.expect("seen").trim_end_matches('/').to_owned();
        Self { child, receives: receives.expect("seen"), page }
    }

    /// Content type and body of an answer, which must be a good one.
    pub(crate) fn ask(&self, path: &str, accept: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.page).expect("the page is served");
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAccept: {accept}\r\nConnection: close\r\n\r\n",
            self.page
        );
        stream.write_all(head.as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
        let kind = head.lines().find_map(|line| line.strip_prefix("content-type: ")).unwrap_or_default();
        (kind.to_owned(), whole(head, body))
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn metrics(&self) -> String {
        self.ask("/metrics", "*/*").1
    }

    pub(crate) fn state(&self) -> serde_json::Value {
        serde_json::from_str(&self.ask("/api/state.json", "*/*").1).expect("JSON")
    }

    /// Ends the run as an operator does.
    pub(crate) fn end(mut self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", "INT", &id]).status().expect("kill").success());
        self.child.wait().expect("it ends");
    }
}

/// A body that may come in pieces.
fn whole(head: &str, body: &str) -> String {
    if !head.contains("transfer-encoding: chunked") {
        return body.to_owned();
    }
    let (mut rest, mut whole) = (body, String::new());
    while let Some((length, after)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).expect("a length");
        whole += &after[..length];
        rest = after[length..].trim_start_matches("\r\n");
    }
    whole
}

/// The names of values in a text of metrics.
pub(crate) fn names(text: &str) -> std::collections::BTreeSet<String> {
    let values = text.lines().filter(|line| !line.starts_with('#'));
    values.map(|line| line.split(['{', ' ']).next().unwrap_or_default().to_owned()).collect()
}

/// The value of a line with this beginning: name and labels.
pub(crate) fn value(text: &str, name: &str, label: &str) -> Option<f64> {
    let line = text.lines().find(|line| {
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' '])) && line.contains(label)
    })?;
    line.rsplit(' ').next()?.parse().ok()
}
