//! The page of `evforge train receive`, while trains come in.

use crate::common::{evforge, wait_until};
use crate::page_json::ask;
use crate::train_receive::receiver;
use evforge_lab::page_client::{PageClient, Wants};
use evforge_train::generate::CounterPattern;
use evforge_wire::train::{TrainDetector, TrainLayout};
use serde_json::Value;

const IMAGES: u32 = 4;
const PIXELS: usize = 65_536;

/// The images of a train that was sent: the first value of each pixel.
fn images(detector: TrainDetector, train: u64) -> Vec<Vec<u64>> {
    let [_, rows, columns] = detector.shape();
    let image = |image| {
        let mut bytes = vec![0; detector.image_bytes()];
        CounterPattern::new(train, image).fill(0, &mut bytes);
        let values = &bytes.as_chunks().0[..rows * columns];
        values.iter().map(|value| u16::from_le_bytes(*value).into()).collect()
    };
    (0..u64::from(IMAGES)).map(image).collect()
}

/// What a panel of the page shows of it.
fn means(detector: TrainDetector, train: u64) -> Vec<u64> {
    let images = images(detector, train);
    let mean = |pixel: usize| {
        let sum: u64 = images.iter().map(|image| image[pixel]).sum();
        (sum as f64 / f64::from(IMAGES)).round() as u64
    };
    (0..images[0].len()).map(mean).collect()
}

fn numbers(answer: &Value) -> Vec<u64> {
    answer.as_array().expect("numbers").iter().map(|number| number.as_u64().expect("a number")).collect()
}

#[test]
fn the_page_shows_the_newest_train_of_each_module_its_pulses_and_the_ledger() {
    let folder = tempfile::tempdir().expect("a folder");
    let images_of_train = IMAGES.to_string();
    let of_trains = ["--images", &images_of_train];
    let page = ["--view", "127.0.0.1:0", "--senders", "2", "--open", "1"];
    let receiver = receiver(folder.path(), &[&of_trains[..], &page].concat());
    let page = receiver.page.clone().expect("the program says where its page is");
    let client = PageClient::open(page.parse().expect("an address"), Wants::Everything).expect("a page");
    let to = ["train", "send", "--to", &receiver.address, "--modules", "2", "--trains", "3"];
    let how = ["--frequency", "2Hz", "--rate", "20kpps", "--fault", "lost:train=1,packet=3"];
    evforge(&[&to[..], &of_trains, &how].concat());
    // The second train of both modules is incomplete, which the third one makes known: number 2.
    wait_until("the trains are as they must be", || {
        ask(&page, "/api/state.json")["ledger"]["balances"]
            == serde_json::json!([{"of": "trains", "entered": 6, "left": 4, "discarded": 2, "held": 0}])
    });
    wait_until("both modules are in the picture", || {
        let counts = numbers(&ask(&page, "/api/image.json")["counts"]);
        assert_eq!(counts.len(), 2 * PIXELS);
        counts.chunks_exact(PIXELS).all(|panel| panel.iter().any(|value| *value > 0))
    });
    let image = ask(&page, "/api/image.json");
    assert_eq!((&image["nx"], &image["ny"]), (&512.into(), &256.into()));
    // Row by row: those of both panels side by side.
    let counts = numbers(&image["counts"]);
    let panel = |module: usize| -> Vec<u64> {
        counts.chunks_exact(512).flat_map(|row| row[256 * module..][..256].iter().copied()).collect()
    };
    // A busy machine may pass a train over: the one that is shown is whole in any case, and no mixture.
    let good = [1, 3];
    let shown: Vec<u64> = (0..2)
        .map(|module| {
            let is_shown = |train: &u64| means(TrainDetector::Lpd, *train) == panel(module);
            good.into_iter()
                .find(is_shown)
                .unwrap_or_else(|| panic!("module {module} shows no train that was sent"))
        })
        .collect();
    let mut sums = vec![0; IMAGES as usize];
    for train in &shown {
        images(TrainDetector::Lpd, *train)
            .iter()
            .zip(&mut sums)
            .for_each(|(image, sum)| *sum += image.iter().sum::<u64>());
    }
    let pulses = numbers(&ask(&page, "/api/spectrum.json")["counts"]);
    assert_eq!((pulses.len(), &pulses[..sums.len()]), (2700, &sums[..]), "trains {shown:?}");
    assert!(pulses[sums.len()..].iter().all(|sum| *sum == 0));
    let state = ask(&page, "/api/state.json");
    let packets = 6 * TrainLayout::of(TrainDetector::Lpd, IMAGES).packets(8184) - 2;
    let ledger = &state["ledger"];
    assert_eq!((&state["events"], &ledger["packets"]["received"]), (&4.into(), &packets.into()));
    // Numbers of trains are missing, and nobody knows how many packets those had.
    assert_eq!((&ledger["packets"]["lost"], &ledger["packets"]["lost_at_least"]), (&Value::Null, &2.into()));
    assert_eq!((&ledger["unlocated"], &ledger["unaccounted"]), (&2.into(), &0.into()));
    let discarded = ledger["discarded"].as_array().expect("reasons");
    let count = |of: &str| -> u64 {
        let reasons = discarded.iter().filter(|reason| reason["of"] == of);
        reasons.filter_map(|reason| reason["count"].as_u64()).sum()
    };
    assert_eq!(count("trains"), 2, "{discarded:?}");
    assert!(count("packets") > 0);
    assert_eq!(ledger["sources"].as_array().map(Vec::len), Some(1));
    let (_, said, report) = receiver.interrupt();
    let view = &report["view"];
    assert_eq!((&view["trains_offered"], &report["unaccounted"]), (&4.into(), &0.into()), "{said}");
    assert!(view["trains_summed"].as_u64() >= Some(2), "{view}");
    assert!(said.contains("of 4 trains were in its picture"), "{said}");
    let seen = client.finish().expect("the page ends with the run");
    assert!(seen.updates.iter().any(|update| update.has_picture), "{seen:?}");
    assert_eq!(seen.updates.last().map(|update| update.events), Some(4));
}

#[test]
fn packets_of_no_use_are_told_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let receiver = receiver(folder.path(), &["--images", "4", "--view", "127.0.0.1:0"]);
    let page = receiver.page.clone().expect("the program says where its page is");
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    wait_until("the page says what is wrong with the packets", || {
        socket.send_to(&[0; 5], &receiver.address).expect("it is sent");
        ask(&page, "/api/state.json")["feed"]["state"] == "rejecting"
    });
    let feed = ask(&page, "/api/state.json")["feed"].clone();
    assert!(feed["reason"].as_str().is_some_and(|reason| reason.contains("too short")), "{feed}");
    assert!(!receiver.interrupt().0);
}

#[test]
fn images_of_every_detector_have_their_own_shape() {
    for (name, detector, shape) in
        [("agipd", TrainDetector::Agipd, (128, 512)), ("dssc", TrainDetector::Dssc, (512, 128))]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let images_of_train = IMAGES.to_string();
        let of_trains = ["--images", &images_of_train, "--detector", name];
        let receiver = receiver(folder.path(), &[&of_trains[..], &["--view", "127.0.0.1:0"]].concat());
        let page = receiver.page.clone().expect("the program says where its page is");
        let to = ["train", "send", "--to", &receiver.address, "--trains", "1", "--rate", "20kpps"];
        evforge(&[&to[..], &of_trains].concat());
        // The first train is always pictured.
        let mut image = Value::Null;
        wait_until("the picture is that of the train", || {
            image = ask(&page, "/api/image.json");
            numbers(&image["counts"]) == means(detector, 1)
        });
        assert_eq!((&image["nx"], &image["ny"]), (&shape.0.into(), &shape.1.into()), "{name}");
        let sums: Vec<u64> = images(detector, 1).iter().map(|image| image.iter().sum()).collect();
        wait_until("the pulses are those of the train", || {
            numbers(&ask(&page, "/api/spectrum.json")["counts"])[..sums.len()] == sums
        });
        let (is_good, said, _) = receiver.interrupt();
        assert!(is_good, "{said}");
    }
}
