//! Requests to the helper with privileges, and its rules.

use super::Seed;

/// Good ones, and some that are wrong in one way each.
pub fn seeds() -> Vec<Seed> {
    let request = |request: &str| format!("{{\"version\":1,\"request\":{request}}}");
    let receiver = request(
        r#"{"receiver":{"interface":"eth2","queues":[0,1],"ports":[9000],"modes":["zero_copy","driver"],"ring":64,"frames":64,"flow_rules":false}}"#,
    );
    let rules = "[[allow]]\nusers = [\"daq\", 7]\ninterfaces = [\"eth2\"]\nports = [9000, \"9100-9110\"]\nsend = true\n\
                 largest_memory = \"1GB\"\nlargest_buffer = \"16MB\"\nlargest_priority = 50\n";
    let seeds = [
        ("check", request(r#"{"check":{"interface":"eth2","ports":[9000,9001]}}"#)),
        ("receiver", receiver.clone()),
        ("receiver-all-queues", receiver.replace("[0,1]", "null")),
        ("receiver-unknown-field", receiver.replace("ring", "rings")),
        ("receiver-port-that-is-not", receiver.replace("9000", "90000")),
        ("steer", request(r#"{"steer":{"session":1,"address":"10.0.0.1","ports":[9000]}}"#)),
        ("close", request(r#"{"close":{"session":4294967295}}"#)),
        ("sender", request(r#"{"sender":{"interface":"eth2","longest":9014}}"#)),
        (
            "socket",
            request(r#"{"socket":{"bind":"[::]:53","receive_buffer":1,"send_buffer":null,"busy_poll":50}}"#),
        ),
        ("priority", request(r#"{"priority":{"thread":-1,"priority":99}}"#)),
        ("another-version", receiver.replace("\"version\":1", "\"version\":2")),
        ("rules", rules.to_owned()),
        ("rules-ports-the-wrong-way", rules.replace("9100-9110", "9110-9100")),
        ("rules-port-0", rules.replace("9000", "0")),
        ("rules-unknown-key", rules.replace("send", "sends")),
        ("rules-memory-without-unit", rules.replace("1GB", "1")),
        ("empty", String::new()),
    ];
    seeds.into_iter().map(|(name, text)| Seed::new(name, text)).collect()
}
