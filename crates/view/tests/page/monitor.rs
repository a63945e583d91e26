//! Monitor data over HTTP: asked for, switched, and refused to pages from elsewhere.
#![allow(clippy::unwrap_used)]

use crate::common::{Answer, BEARER, access, ask, get, options, post, start};
use evforge_view::{LiveView, MonitorControl, ViewOptions};
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Barrier};

/// Monitor data that say how often they have been asked for.
#[derive(Debug, Default)]
struct CountedControl {
    on: AtomicBool,
    asked: AtomicU64,
    must_stay_on: bool,
    /// While it is there, answers wait for somebody to come to it.
    barrier: Option<Barrier>,
}

impl MonitorControl for CountedControl {
    fn switch(&self, on: bool) -> Result<(), String> {
        if self.must_stay_on && !on {
            return Err("it must stay on".into());
        }
        self.on.store(on, Relaxed);
        Ok(())
    }

    fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    fn json(&self) -> Option<String> {
        if let Some(barrier) = &self.barrier {
            barrier.wait();
        }
        let before = self.asked.fetch_add(1, Relaxed);
        (before > 0).then(|| json!({ "asked_before": before }).to_string())
    }
}

fn start_with(control: CountedControl) -> (LiveView, Arc<CountedControl>) {
    let control = Arc::new(control);
    let (view, _sink) =
        start(ViewOptions { monitor: Some(control.clone()), control: Some(access()), ..options(2, 2) });
    (view, control)
}

#[test]
fn a_monitor_is_switched_on_looked_at_and_switched_off() {
    let (view, control) = start_with(CountedControl::default());
    let address = view.address();
    let off = get(address, "/monitor.json");
    assert!(off.status == 200 && off.head.contains("content-type: application/json"));
    assert_eq!((off.json(), control.asked.load(Relaxed)), (json!({ "on": false }), 0));
    // The answer to the switch is the first look, for which there is no copy yet.
    assert_eq!(post(address, "/monitor/on", BEARER).json(), json!({ "on": true, "data": null }));
    assert!(control.is_on());
    let seen = get(address, "/monitor.json");
    assert_eq!(seen.json(), json!({ "on": true, "data": { "asked_before": 1 } }));
    assert!(seen.head.contains("cache-control: no-store"));
    assert_eq!(post(address, "/monitor/off", BEARER).json(), json!({ "on": false }));
    assert!(!control.is_on());
}

#[test]
fn a_monitor_that_must_stay_on_says_why() {
    let (view, control) = start_with(CountedControl { must_stay_on: true, ..CountedControl::default() });
    assert_eq!(post(view.address(), "/monitor/on", BEARER).status, 200);
    let refused = post(view.address(), "/monitor/off", BEARER);
    assert_eq!((refused.status, refused.text(), control.is_on()), (409, "it must stay on\n", true));
}

#[test]
fn a_view_without_a_monitor_says_so() {
    let (view, _sink) = start(ViewOptions { control: Some(access()), ..options(2, 2) });
    let answers: [Answer; 3] = [
        get(view.address(), "/monitor.json"),
        post(view.address(), "/monitor/on", BEARER),
        post(view.address(), "/monitor/off", BEARER),
    ];
    for answer in answers {
        assert!(answer.status == 404 && answer.text().contains("has no monitor data"), "{}", answer.text());
    }
}

#[test]
fn only_posts_of_the_own_page_and_of_scripts_switch() {
    let (view, control) = start_with(CountedControl::default());
    let (address, host) = (view.address(), view.address().to_string());
    // A picture or a link in a page from elsewhere can only GET.
    assert_eq!(get(address, "/monitor/on").status, 405);
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1"] {
        let refused = post(address, "/monitor/on", &format!("Origin: {origin}\r\n{BEARER}"));
        assert_eq!(refused.status, 403, "{origin}");
    }
    assert_eq!(ask("POST", address, "/monitor/on", "evil.example", BEARER).status, 403);
    assert!(!control.is_on());
    assert_eq!(post(address, "/monitor/on", &format!("Origin: http://{host}\r\n{BEARER}")).status, 200);
    assert!(control.is_on());
    let refused = ask("GET", address, "/monitor.json", &host, "Origin: http://evil.example\r\n");
    assert_eq!((refused.status, control.asked.load(Relaxed)), (403, 1));
}

#[test]
fn slow_monitor_data_do_not_hold_up_the_view() {
    let on = AtomicBool::new(true);
    let (view, control) =
        start_with(CountedControl { on, barrier: Some(Barrier::new(2)), ..CountedControl::default() });
    let address = view.address();
    let looker = std::thread::spawn(move || get(address, "/monitor.json").status);
    // The look is still waiting, or has not begun; the rest of the view answers.
    assert_eq!(get(address, "/api/health").json()["status"], "ok");
    control.barrier.as_ref().unwrap().wait();
    assert_eq!(looker.join().unwrap(), 200);
}

#[test]
fn without_the_token_nothing_is_switched() {
    let (view, control) = start_with(CountedControl::default());
    let address = view.address();
    for (headers, code) in [
        ("", "no_token"),
        ("Authorization: Basic 0123456789abcdef-test\r\n", "no_token"),
        ("Authorization: Bearer\r\n", "no_token"),
        ("Authorization: Bearer 0123456789abcdef-tesT\r\n", "wrong_token"),
        ("Authorization: Bearer 0123456789abcdef-test2\r\n", "wrong_token"),
    ] {
        let refused = post(address, "/monitor/on", headers);
        assert_eq!((refused.status, &refused.json()["error"]["code"]), (401, &json!(code)), "{headers}");
        assert!(refused.head.contains("www-authenticate: bearer"), "{}", refused.head);
    }
    assert!(!control.is_on());
    // A page without a run behind it.
    let control = Arc::new(CountedControl::default());
    let (view, _sink) = start(ViewOptions { monitor: Some(control.clone()), ..options(2, 2) });
    let refused = post(view.address(), "/monitor/on", BEARER);
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (403, &json!("read_only")));
    assert!(!control.is_on());
}

#[test]
fn wrong_tokens_are_limited() {
    let (view, control) = start_with(CountedControl::default());
    let wrong = "Authorization: Bearer guessed-guessed-guessed\r\n";
    let statuses: Vec<u16> = (0..30).map(|_| post(view.address(), "/monitor/on", wrong).status).collect();
    assert!(statuses[..10].iter().all(|status| *status == 401), "{statuses:?}");
    assert!(statuses.contains(&429), "{statuses:?}");
    // Looking costs no token.
    assert_eq!(get(view.address(), "/monitor.json").status, 200);
    assert!(!control.is_on());
}
