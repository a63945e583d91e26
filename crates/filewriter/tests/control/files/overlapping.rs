//! Two jobs at once on the same topics.

use crate::control_common::kafka::*;
use crate::control_common::*;
use crate::files::support::*;
use evforge_filewriter::control::service::ServiceSettings;
use evforge_testkit::kafka_broker::{Broker, is_possible};
use hdf5_metno::File;

#[test]
fn runs_that_overlap_have_each_what_belongs_to_it() {
    if !is_possible("runs_that_overlap_have_each_what_belongs_to_it") {
        return;
    }
    let (broker, folder) = (Broker::start(), folder());
    topics(&broker, &[POOL, OWN, CONTROL, DATA, LOGS]);
    let here = client(&broker);
    let settings = ServiceSettings { jobs_at_most: 2, ..service(&broker) };
    let writer = Writer::start(settings.clone(), runner(&settings, folder.path()));
    let begin_ms = now_ms();
    let time = |number: i32| ns(begin_ms) + i64::from(number) * 50 * MS;
    let data = |numbers: std::ops::Range<i32>| {
        let payload = |number| ev44(BANK, i64::from(number), time(number), &[number + 1]);
        send_all(&here, DATA, numbers.map(payload));
    };
    send(&here, POOL, &start(JOB, "run_1.nxs", &structure(), begin_ms));
    let mut control = Listener::open(&here, CONTROL);
    assert_eq!(control.next("answ")["status_code"], 201);
    data(0..20);
    // The second run begins in the middle of what was sent.
    send(&here, POOL, &start(JOB_2, "run_2.nxs", &structure(), begin_ms + 500));
    assert_eq!(control.next("answ")["status_code"], 201);
    data(20..40);
    let stop_1 = begin_ms + 1200;
    let stop_2 = begin_ms + 1700;
    send(&here, CONTROL, &stop(JOB_2, stop_2));
    send(&here, CONTROL, &stop(JOB, stop_1));
    for _ in 0..2 {
        let end = control.next("wrdn");
        assert_eq!(end["error_encountered"], false, "{end}");
    }
    for (name, numbers) in [("run_1.nxs", 0..=24), ("run_2.nxs", 10..=34)] {
        let path = in_files(folder.path(), name);
        check_complete(&path);
        let pixels: Vec<[i32; 1]> = numbers.clone().map(|number| [number + 1]).collect();
        let all: Vec<(i64, &[i32])> =
            numbers.zip(&pixels).map(|(number, pixel)| (time(number), &pixel[..])).collect();
        assert_eq!(events(&File::open(&path).unwrap(), "entry/events"), expected(&all), "{name}");
    }
    writer.end();
}
