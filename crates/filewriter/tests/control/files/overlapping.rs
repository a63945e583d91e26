//! Two jobs at once on the same topics.

use crate::control_common::kafka::*;
use crate::control_common::*;
use crate::files::support::*;
use evforge_filewriter::control::service::ServiceSettings;
use evforge_testkit::kafka_broker::shared;
use hdf5_metno::File;

#[test]
fn runs_that_overlap_have_each_what_belongs_to_it() {
    let Some(broker) = shared("runs_that_overlap_have_each_what_belongs_to_it") else { return };
    let (site, folder) = (Site::Shared(broker), folder());
    let [pool, _, control_topic, of_events, of_logs] = site.topics([POOL, OWN, CONTROL, DATA, LOGS]);
    let (here, structure) = (site.client(), structure_of(of_events, of_logs));
    let settings = ServiceSettings { jobs_at_most: 2, ..site.service(SERVICE) };
    let writer = writer(&settings, runner(&settings, folder.path()));
    let begin_ms = now_ms();
    let time = |number: i32| ns(begin_ms) + i64::from(number) * 50 * MS;
    let data = |numbers: std::ops::Range<i32>| {
        let payload = |number| ev44(BANK, i64::from(number), time(number), &[number + 1]);
        send_all(&here, of_events, numbers.map(payload));
    };
    send(&here, pool, &start(JOB, "run_1.nxs", &structure, control_topic, begin_ms));
    let mut control = Listener::open(&here, control_topic);
    assert_eq!(control.next("answ")["status_code"], 201);
    data(0..20);
    // The second run begins in the middle of what was sent.
    send(&here, pool, &start(JOB_2, "run_2.nxs", &structure, control_topic, begin_ms + 500));
    assert_eq!(control.next("answ")["status_code"], 201);
    data(20..40);
    let stop_1 = begin_ms + 1200;
    let stop_2 = begin_ms + 1700;
    send(&here, control_topic, &stop(JOB_2, stop_2));
    send(&here, control_topic, &stop(JOB, stop_1));
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
