//! What a page answers to programs.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;

/// The JSON at a path of the page that is served at this address.
pub(crate) fn ask(page: &str, path: &str) -> Value {
    let mut stream = TcpStream::connect(page).expect("the page is served");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {page}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{path}: {error}"))
}
