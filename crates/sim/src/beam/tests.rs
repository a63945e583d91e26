use super::parts::Parts;
use super::*;
use crate::detector_model::{Charge, Resolution, TrueEvent};
use crate::electronics::Electronics;
use crate::layout::Layout;
use crate::random::{Stream, stream};
use evforge_core::geometry::LogicalGeometry;

/// A detector that has pixels and nothing else.
pub(super) struct Plate {
    pub(super) geometry: LogicalGeometry,
    pub(super) sensitive: fn(u32, u32, u32) -> bool,
    layout: Layout,
}

impl Plate {
    pub(super) fn new(sides: [u32; 3], sensitive: fn(u32, u32, u32) -> bool) -> Self {
        let [nx, ny, panels] = sides;
        let geometry = LogicalGeometry::new(nx, ny, 1, panels).unwrap();
        Self { geometry, sensitive, layout: Layout::default() }
    }
}

impl DetectorModel for Plate {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn geometry(&self) -> &LogicalGeometry {
        &self.geometry
    }

    fn is_sensitive(&self, x: u32, y: u32, panel: u32) -> bool {
        (self.sensitive)(x, y, panel)
    }

    fn add_neutron(&self, _: &Strike, _: &mut SmallRng, _: &mut Vec<Charge>) -> Option<TrueEvent> {
        None
    }

    fn add_gamma(&self, _: &Strike, _: &mut SmallRng, _: &mut Vec<Charge>) {}

    fn resolution(&self) -> Resolution {
        Resolution { clock_step_ps: 0, neighbours: [0, 0], min_hits: [1, 1], trigger: None }
    }

    fn electronics(&self) -> Electronics {
        Electronics {
            gain_spread: 0.0,
            dead_channels: 0.0,
            threshold: 0,
            largest_amplitude: 0,
            dead_time_ps: 0,
            jitter_ps: 0,
            latency_ps: 0,
            noise_per_second: 0.0,
        }
    }

    fn noise_amplitude(&self) -> f64 {
        0.0
    }
}

/// The period of the ESS in picoseconds, as [`Beam::new`] takes it.
const PERIOD_PS: u64 = 71_428_572_000;

fn settings(toml: &str) -> BeamSettings {
    toml::from_str(toml).unwrap()
}

fn plate() -> Plate {
    Plate::new([32, 16, 2], |_, _, _| true)
}

fn beam(toml: &str) -> Beam {
    Beam::new(&settings(toml), &plate(), &PulseTrain::ess()).unwrap()
}

fn refused(toml: &str) -> String {
    Beam::new(&settings(toml), &plate(), &PulseTrain::ess()).unwrap_err().to_string()
}

fn strikes(beam: &Beam, pulses: u64) -> Vec<Strike> {
    let mut strikes = Vec::new();
    for pulse in 0..pulses {
        let from = strikes.len();
        beam.neutrons(PERIOD_PS, None, &mut stream(1, Stream::Pulse(pulse)), &mut strikes);
        assert!(strikes[from..].is_sorted_by_key(|strike| strike.time_ps), "in the order of time");
    }
    strikes
}

/// True if a count is as expected, within 4 standard deviations.
pub(super) fn is_near(count: usize, expected: f64) -> bool {
    (count as f64 - expected).abs() <= 4.0 * expected.sqrt().max(1.0)
}

#[test]
fn neutrons_and_gammas_follow_their_rates() {
    let beam = beam("neutrons = '200kHz'\ngammas = '50kHz'");
    let neutrons = strikes(&beam, 14);
    assert!(is_near(neutrons.len(), 200_000.0), "{} neutrons", neutrons.len());
    let mut gammas = Vec::new();
    for pulse in 0..14 {
        beam.gammas(PERIOD_PS, &mut stream(1, Stream::Pulse(pulse)), &mut gammas);
    }
    assert!(is_near(gammas.len(), 50_000.0), "{} gammas", gammas.len());
    for strike in neutrons.iter().chain(&gammas) {
        assert!(strike.time_ps < PERIOD_PS && strike.panel < 2);
        assert!((0.0..32.0).contains(&strike.x) && (0.0..16.0).contains(&strike.y));
    }
    assert!(gammas.iter().all(|gamma| gamma.wavelength == 0.0));
}

#[test]
fn the_same_random_numbers_give_the_same_strikes() {
    let beam = beam("peak_factor = 8.0");
    assert_eq!(strikes(&beam, 5), strikes(&beam.clone(), 5));
}

#[test]
fn without_neutrons_nothing_arrives() {
    assert!(strikes(&beam("neutrons = '0Hz'"), 3).is_empty());
}

#[test]
fn a_neutron_arrives_when_its_wavelength_says() {
    let beam = beam("neutrons = '1MHz'\nflight_path = 20.0\nwavelengths = [2.0, 6.0]");
    let bin_ps = 1e9 / 64.0;
    // The protons' pulse and the end of the cold moderator's.
    let latest_ps = 2.86e9 + 14.0 * 0.287e9;
    for strike in strikes(&beam, 3) {
        assert!((2.0..=6.0).contains(&strike.wavelength), "{strike:?}");
        let flight = 20.0 * f64::from(strike.wavelength) * arrivals::PICOSECONDS_PER_METRE_ANGSTROM;
        let emitted = strike.time_ps as f64 - flight;
        assert!((-bin_ps..latest_ps + 2.0 * bin_ps).contains(&emitted), "{strike:?}: {emitted}");
    }
    let fastest = 20.0 * 2.0 * arrivals::PICOSECONDS_PER_METRE_ANGSTROM;
    assert!(strikes(&beam, 3).iter().all(|strike| strike.time_ps as f64 > fastest - bin_ps));
}

#[test]
fn the_mean_wavelength_is_that_of_the_moderators() {
    // The mean of a Maxwellian is sqrt(949/T) Γ(3/2). Long wavelengths arrive in later periods.
    let mean = |temperature: f64| (949.0 / temperature).sqrt() * 0.886_227;
    let range = "flight_path = 10.0\nwavelengths = [0.05, 60.0]\nframe_overlap = 'wrap'\nneutrons = '1MHz'\n";
    let thermal = "[[moderators]]\ntemperature = 325.0\nweight = 2.0\ndecay = '80us'\n";
    let cold = "[[moderators]]\ntemperature = 50.0\nweight = 1.0\ndecay = '287us'\n";
    for (moderators, expected) in [
        (thermal.to_owned(), mean(325.0)),
        (cold.to_owned(), mean(50.0)),
        (format!("{thermal}{cold}"), (2.0 * mean(325.0) + mean(50.0)) / 3.0),
    ] {
        let strikes = strikes(&beam(&format!("{range}{moderators}")), 7);
        let found =
            strikes.iter().map(|strike| f64::from(strike.wavelength)).sum::<f64>() / strikes.len() as f64;
        assert!((found - expected).abs() < 0.01 * expected, "{found} Å, expected {expected} Å");
    }
}

#[test]
fn what_is_late_is_cut_or_arrives_in_a_later_period() {
    // 1.5 to 3.2 Å over 160 m: 61 to 129 ms, and the period is 71.4 ms.
    let path = "neutrons = '1MHz'\nflight_path = 160.0\nwavelengths = [1.5, 3.2]\nproton_pulse = '100us'\n";
    let cut = strikes(&beam(path), 1);
    assert!(is_near(cut.len(), 1e6 / 14.0) && cut.iter().all(|strike| strike.time_ps > 60_000_000_000));
    assert!(cut.iter().all(|strike| strike.wavelength < 1.8));
    let wrapped = strikes(&beam(&format!("{path}frame_overlap = 'wrap'")), 1);
    assert!(is_near(wrapped.len(), 1e6 / 14.0));
    let early = wrapped.iter().filter(|strike| strike.time_ps < 50_000_000_000);
    assert!(early.clone().count() > wrapped.len() / 4);
    for strike in early {
        let flight = 160.0 * f64::from(strike.wavelength) * arrivals::PICOSECONDS_PER_METRE_ANGSTROM;
        let late = strike.time_ps as f64 + PERIOD_PS as f64 - flight;
        assert!((-4e7..5e9).contains(&late), "{strike:?}: {late}");
    }
}

/// The largest count within 1 ms, at steps of a quarter of a millisecond.
fn highest_millisecond(strikes: &[Strike]) -> usize {
    let mut quarters = vec![0_usize; 287];
    for strike in strikes {
        quarters[(strike.time_ps / 250_000_000) as usize] += 1;
    }
    quarters.windows(4).map(|window| window.iter().sum()).max().unwrap()
}

#[test]
fn the_peak_is_as_high_as_it_says() {
    for factor in ["", "peak_factor = 1.0", "peak_factor = 1.5", "peak_factor = 10.0", "peak_factor = 50.0"] {
        let beam = beam(&format!("neutrons = '1MHz'\n{factor}"));
        let strikes = strikes(&beam, 14);
        assert!(is_near(strikes.len(), 1e6), "{factor}: {}", strikes.len());
        let found = highest_millisecond(&strikes) as f64 / 14.0 * 1000.0;
        // Windows at fixed steps may miss a narrow peak by an eighth of a millisecond.
        let ratio = found / beam.peak_rate();
        assert!((0.86..1.06).contains(&ratio), "{factor}: {found} Hz in 1 ms, said {} Hz", beam.peak_rate());
    }
    assert_eq!(beam("peak_factor = 10.0").peak_rate(), 200_000.0);
    assert_eq!(beam("").average_rate(), 20_000.0);
}

#[test]
fn a_peak_that_cannot_be_is_refused() {
    for factor in ["0.9", "72.0", "nan", "inf", "-3.0"] {
        let error = refused(&format!("peak_factor = {factor}"));
        assert!(error.starts_with("simulation.beam.peak_factor: found "), "{error}");
        assert!(error.ends_with("expected 1 (a steady beam) to 71.4 (all neutrons within 1 ms of a pulse)"));
    }
}

#[test]
fn values_that_no_beam_has_are_refused_with_their_key() {
    for (toml, key) in [
        ("neutrons = '2000MHz'", "neutrons"),
        ("gammas = '2000MHz'", "gammas"),
        ("flight_path = 0.0", "flight_path"),
        ("flight_path = nan", "flight_path"),
        ("wavelengths = [3.0, 2.0]", "wavelengths"),
        ("wavelengths = [nan, 2.0]", "wavelengths"),
        ("wavelengths = [1.0, 1000.0]", "wavelengths"),
        // These would arrive after the next pulse.
        ("wavelengths = [10.0, 12.0]", "wavelengths"),
        ("flight_path = 1000.0\nwavelengths = [1.0, 50.0]\nframe_overlap = 'wrap'", "wavelengths"),
        ("proton_pulse = '1s'", "proton_pulse"),
        ("moderators = []", "moderators"),
        ("[[moderators]]\ntemperature = 0.0\nweight = 1.0\ndecay = '1us'", "moderators.temperature"),
        ("[[moderators]]\ntemperature = 9.0\nweight = -1.0\ndecay = '1us'", "moderators.weight"),
        ("[[moderators]]\ntemperature = 9.0\nweight = 1.0\ndecay = '1s'", "moderators.decay"),
    ] {
        let error = refused(toml);
        assert!(error.starts_with(&format!("simulation.beam.{key}: found ")), "{toml}: {error}");
        assert!(error.contains("expected"), "{error}");
    }
    let pulses = PulseTrain::from_millihertz(100, 0).unwrap();
    let error = Beam::new(&BeamSettings::default(), &plate(), &pulses).unwrap_err().to_string();
    assert!(error.contains("10000 ms apart"), "{error}");
    assert!(toml::from_str::<BeamSettings>("neutron = '1kHz'").is_err());
    assert!(toml::from_str::<BeamSettings>("frame_overlap = 'keep'").is_err());
}

/// Of a part there is what a whole pulse has during it, and nothing else; together, parts have the share of the whole
/// that they take of its time, and as much of every rate.
#[test]
fn parts_of_pulses_have_their_rates() {
    let beam = beam("neutrons = '100MHz'");
    let drawn = |part: Option<&Range<u64>>| {
        let mut strikes = Vec::new();
        beam.neutrons(PERIOD_PS, part, &mut stream(1, Stream::Pulse(7)), &mut strikes);
        strikes
    };
    let whole = drawn(None);
    let parts = Parts { count: 16, length_ps: 1_000_000_000, around_ps: None };
    for number in 0..16 {
        let part = parts.of_pulse(number, PERIOD_PS);
        let found = drawn(Some(&part));
        assert!(found.is_sorted_by_key(|strike| strike.time_ps));
        assert!(found.iter().all(|strike| part.contains(&strike.time_ps)), "{number}");
        let expected = whole.iter().filter(|strike| part.contains(&strike.time_ps)).count() as f64;
        let allowed = 6.0 * (2.0 * expected).sqrt() + 1.0;
        assert!((found.len() as f64 - expected).abs() < allowed, "{number}: {} of {expected}", found.len());
    }
    assert_eq!(drawn(Some(&(0..PERIOD_PS))), whole);
}
