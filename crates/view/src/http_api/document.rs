//! The part of `docs/http-api.md` that is made from the declarations.

use super::objects::{OBJECTS, Object};
use super::route::{Answer, Content, Route};
use super::routes::{EVERYWHERE, GUARDED, routes};
use crate::control::{body, door};
use crate::json_object::Field;
use crate::options::ViewOptions;
use evforge_core::geometry::{GeometryError, LogicalGeometry};
use evforge_core::pulse::PulseTrain;
use std::fmt::Write as _;

/// The modules whose comments describe the frames.
const FRAMES: &str = include_str!("../frame.rs");
const LOOK_FRAMES: &str = include_str!("../look_frame.rs");

/// Markdown: limits, paths, objects and frames.
///
/// # Errors
/// None that can happen: a geometry of one pixel is possible.
pub fn document() -> Result<String, GeometryError> {
    let mut text = String::new();
    limits(&mut text, &ViewOptions::new("", LogicalGeometry::flat(1, 1)?, PulseTrain::ess()));
    text.push_str("\n## Paths\n\n| path | what it is for |\n|---|---|\n");
    for route in routes() {
        let title = title(route);
        let anchor: String = title.chars().filter(|&c| c.is_alphanumeric() || " -_".contains(c)).collect();
        let anchor = anchor.to_lowercase().replace(' ', "-");
        let _ = writeln!(text, "| [{title}](#{anchor}) | {} |", route.purpose);
    }
    text.push_str("\nEvery path may also answer:\n\n");
    answers(&mut text, EVERYWHERE);
    text.push_str("\nPaths below `/api/control`, and those that change something, may also answer with [`ErrorAnswer`](#erroranswer):\n\n");
    answers(&mut text, GUARDED);
    routes().for_each(|route| path(&mut text, route));
    text.push_str(
        "\n## Objects\n\n*May be absent* says that a field is left out where there is nothing to say, *or null* that it is there and empty.\n",
    );
    OBJECTS.iter().for_each(|object| fields(&mut text, object));
    for (heading, module) in [("Frames", FRAMES), ("Frames of looks", LOOK_FRAMES)] {
        let _ = writeln!(text, "\n## {heading}\n");
        for line in module.lines().map_while(|line| line.strip_prefix("//!")) {
            let line =
                line.strip_prefix(' ').unwrap_or(line).replace("[`LookHead`]", "[`LookHead`](#lookhead)");
            let _ = writeln!(text, "{line}");
        }
    }
    Ok(text)
}

/// Numbers that the options set, as they are without any.
fn limits(text: &mut String, options: &ViewOptions) {
    let seconds = |time: std::time::Duration| format!("{} s", time.as_secs_f64());
    text.push_str("\n## Limits\n\n| limit | | what happens beyond it |\n|---|---|---|\n");
    let rows = [
        (
            "open connections",
            options.most_connections.to_string(),
            "the oldest that has asked for nothing gets 503 and is closed; if all have asked, the new one",
        ),
        (
            "open connections of one address (of IPv6: of one network of 64 bits)",
            options.most_connections_of_one_address.to_string(),
            "the same",
        ),
        ("descriptors of the process that are left to its files", "64".into(), "the same"),
        (
            "time for the header of a request, and between an answer and the next one",
            seconds(options.request_timeout),
            "the connection is closed",
        ),
        (
            "time in which nothing of an answer is taken",
            seconds(options.write_timeout),
            "the connection is closed",
        ),
        ("WebSockets", options.most_clients.to_string(), "503"),
        (
            "WebSockets of one address (of IPv6: of one network of 64 bits)",
            options.most_clients_of_one_address.to_string(),
            "the same",
        ),
        (
            "updates that a WebSocket has not acknowledged",
            options.window.to_string(),
            "it gets no more; what it misses is counted in `skipped`",
        ),
        (
            "time in which a WebSocket acknowledges nothing",
            seconds(options.client_timeout),
            "the WebSocket is closed, with code 1008",
        ),
        (
            "requests of one address below `/api/control`, and of those that change something, in a second",
            door::REQUESTS.per_second.to_string(),
            "429",
        ),
        (
            "wrong tokens of one address: at once, and one more each second",
            door::WRONG_TOKENS.at_once.to_string(),
            "429, also for the right one",
        ),
        ("such requests that are worked on at a time", door::AT_WORK.to_string(), "they wait, then 503"),
        ("bytes of a body", body::LARGEST.to_string(), "413, and the connection is closed"),
        (
            "time for the body of a request",
            seconds(options.request_timeout),
            "408, and the connection is closed",
        ),
        ("time between updates", seconds(options.picture_interval), "there are none in between"),
    ];
    for (limit, value, beyond) in rows {
        let _ = writeln!(text, "| {limit} | {value} | {beyond} |");
    }
}

fn title(route: &Route) -> String {
    format!("{} `{}`", route.method.name(), route.path)
}

fn path(text: &mut String, route: &Route) {
    let _ = writeln!(text, "\n### {}\n\n{}", title(route), route.purpose);
    match route.parameters {
        Some([]) => text.push_str("\nNo parameters.\n"),
        Some(parameters) => {
            text.push_str("\n| parameter | meaning | range | default |\n|---|---|---|---|\n");
            for parameter in parameters {
                let _ = writeln!(
                    text,
                    "| `{}` | {} | {} | {} |",
                    parameter.name, parameter.meaning, parameter.range, parameter.default
                );
            }
        }
        None => text.push_str("\nParameters are not looked at.\n"),
    }
    if route.changes {
        text.push_str("\nNeeds [the token](#the-token).\n");
    }
    if let Some(body) = route.body {
        let _ = writeln!(text, "\nThe body is {}.", link(body));
    }
    let _ = match route.content {
        Content::Object(name) => writeln!(text, "\nThe answer is {}.\n", link(name)),
        Content::List(name) => writeln!(text, "\nThe answer is a list of {}.\n", link(name)),
        Content::Other(words) => writeln!(text, "\nThe answer is {words}.\n"),
    };
    answers(text, route.answers);
    let (end, more) = route.example;
    let method = if route.method.name() == "GET" { "" } else { "-X POST " };
    let quoted = if end.contains('?') { "'" } else { "" };
    let _ = writeln!(text, "\n```sh\ncurl {method}{quoted}http://127.0.0.1:8080/{end}{quoted}{more}\n```");
}

fn answers(text: &mut String, answers: &[Answer]) {
    text.push_str("| status | content type | when |\n|---|---|---|\n");
    for Answer { status, content_type, when } in answers {
        let content_type = if content_type.is_empty() { "–" } else { content_type };
        let _ = writeln!(text, "| {status} | {content_type} | {when} |");
    }
}

fn fields(text: &mut String, object: &Object) {
    let _ = writeln!(text, "\n### `{}`\n\n{}\n", object.name, object.help.trim());
    text.push_str("| field | type | meaning |\n|---|---|---|\n");
    for field in object.fields {
        let Field { of, help, .. } = field;
        let (name, help) = (field.written(), help.trim().replace('|', "\\|"));
        let of: String = of.chars().filter(|c| !c.is_whitespace()).collect();
        let _ = if field.is_flat() {
            writeln!(text, "| … | all of {} | {help} |", link(bare(&of)))
        } else if field.may_be_absent() {
            // What is left out instead of being null is never null.
            let words = kind(field.never_null(&of));
            writeln!(text, "| `{name}` | {words}; may be absent | {help} |")
        } else {
            writeln!(text, "| `{name}` | {} | {help} |", kind(&of))
        };
    }
}

/// A type as it is called in JSON.
pub(super) fn kind(of: &str) -> String {
    let inside = |start: &str| of.strip_prefix(start).and_then(|of| of.strip_suffix('>'));
    if let Some(of) = inside("Option<") {
        format!("{} or null", kind(of))
    } else if let Some(of) = inside("Vec<") {
        format!("list of {}", several(&kind(of)))
    } else if let Some(of) = inside("BTreeMap<&'staticstr,").or(inside("BTreeMap<String,")) {
        format!("object of {}", several(&kind(of)))
    } else if let Some((of, count)) = array(of) {
        format!("{count} {}", several(&kind(of)))
    } else if of == "(u64,u64)" {
        "pair of integers".into()
    } else {
        match bare(of) {
            "u8" | "u16" | "u32" | "u64" | "usize" => "integer".into(),
            "f32" | "f64" => "number".into(),
            "bool" => "true or false".into(),
            "String" | "str" => "text".into(),
            object => link(object),
        }
    }
}

/// What an array holds, and how many of them.
pub(super) fn array(of: &str) -> Option<(&str, usize)> {
    let (of, count) = of.strip_prefix('[')?.strip_suffix(']')?.rsplit_once(';')?;
    Some((of, count.parse().ok()?))
}

/// Several of what [`kind`] says.
fn several(kind: &str) -> String {
    match kind {
        "pair of integers" => "pairs of integers".into(),
        array if array.starts_with(|first: char| first.is_ascii_digit()) => format!("groups of {array}"),
        "integer" | "number" | "text" => format!("{kind}s"),
        object => object.to_owned(),
    }
}

/// A type without references and modules.
pub(super) fn bare(of: &str) -> &str {
    let of = of.strip_prefix("&'static").or(of.strip_prefix("&'a")).unwrap_or(of);
    of.rsplit("::").next().unwrap_or(of)
}

fn link(object: &str) -> String {
    format!("[`{object}`](#{})", object.to_lowercase())
}
