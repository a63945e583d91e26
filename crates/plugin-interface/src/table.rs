//! From a [`Detector`] to the table of functions of the header.

use crate::author::{Detector, Events, Failure, Outcome, Packet};
use crate::layout::{
    Description, DetectorInterface, Handle, INTERFACE_VERSION, Packet as RawPacket, Progress, RawEvents,
    Source,
};
use std::any::Any;
use std::ffi::c_char;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Exports a [`Detector`] from the library: the function `evforge_detector` of the header.
#[macro_export]
macro_rules! export_detector {
    ($detector:ty) => {
        /// What evforge asks for when it has loaded this library.
        #[unsafe(no_mangle)]
        pub extern "C" fn evforge_detector(_host_version: u32) -> *const $crate::layout::DetectorInterface {
            $crate::table::interface::<$detector>()
        }
    };
}

/// The table of a detector. The host decides whether it works with the version that is in it.
pub fn interface<D: Detector>() -> &'static DetectorInterface {
    const { &Table::<D>::TABLE }
}

/// Codes of failures.
const FAILED: i32 = 1;
const PANICKED: i32 = 2;

struct Table<D>(PhantomData<D>);

impl<D: Detector> Table<D> {
    const TABLE: DetectorInterface = DetectorInterface {
        version: INTERFACE_VERSION,
        struct_size: size_of::<DetectorInterface>() as u32,
        name: D::NAME.as_ptr(),
        counter_infos: D::COUNTERS.as_ptr().cast(),
        counter_count: D::COUNTERS.len(),
        create: Some(create::<D>),
        describe: Some(describe::<D>),
        ingest: Some(ingest::<D>),
        publish_closed: Some(publish_closed::<D>),
        close: Some(close::<D>),
        counters: Some(counters::<D>),
        sources: Some(sources::<D>),
        destroy: Some(destroy::<D>),
    };
}

/// Puts a text into the host's place for a problem.
///
/// # Safety
/// `place` has room for `capacity` bytes, or is null.
unsafe fn tell(problem: &str, place: *mut c_char, capacity: usize) {
    if place.is_null() || capacity == 0 {
        return;
    }
    let length = problem.len().min(capacity - 1);
    // SAFETY: this many bytes and the 0 have room.
    unsafe {
        place.cast::<u8>().copy_from_nonoverlapping(problem.as_ptr(), length);
        place.add(length).write(0);
    }
}

/// The words of a panic.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("for reasons unknown"))
}

/// # Safety
/// As the header says of this function.
unsafe extern "C" fn create<D: Detector>(
    settings: *const c_char,
    length: usize,
    problem: *mut c_char,
    capacity: usize,
) -> *mut Handle {
    let bytes = if length == 0 {
        &[]
    } else {
        // SAFETY: the host gives this many bytes.
        unsafe { std::slice::from_raw_parts(settings.cast::<u8>(), length) }
    };
    let made = catch_unwind(|| {
        let settings = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
        D::new(settings)
    });
    match made.unwrap_or_else(|panic| Err(words(panic.as_ref()))) {
        Ok(detector) => Box::into_raw(Box::new(detector)).cast(),
        Err(refusal) => {
            // SAFETY: the host's place is as large as it says.
            unsafe { tell(&refusal, problem, capacity) };
            std::ptr::null_mut()
        }
    }
}

/// # Safety
/// As the header says of this function; so all below.
unsafe extern "C" fn describe<D: Detector>(detector: *const Handle, description: *mut Description) {
    // SAFETY: the handle is one of `create`, and the host's place begins with its size.
    let (detector, struct_size) = unsafe { (&*detector.cast::<D>(), (*description).struct_size) };
    // After a panic the description stays empty, which the host refuses.
    if let Ok(told) = catch_unwind(AssertUnwindSafe(|| detector.description())) {
        let told = Description { struct_size, ..told };
        let bytes = (struct_size as usize).min(size_of::<Description>());
        // An older host knows fewer members.
        // SAFETY: both places have this many bytes.
        unsafe { description.cast::<u8>().copy_from_nonoverlapping((&raw const told).cast(), bytes) };
    }
}

/// Runs a function of the detector that hands out events.
///
/// # Safety
/// The places are those of the host; `given` packets were given.
unsafe fn settle(
    given: usize,
    events: *mut RawEvents,
    progress: *mut Progress,
    (problem, capacity): (*mut c_char, usize),
    run: impl FnOnce(&mut Events<'_>) -> Result<Outcome, Failure>,
) -> i32 {
    // SAFETY: the host's places are good until the call returns, and nobody else uses them.
    let (mut events, progress) = unsafe { (Events::new(&mut *events), &mut *progress) };
    let ended = catch_unwind(AssertUnwindSafe(|| run(&mut events)));
    let (code, text) = match ended {
        Ok(Ok(outcome)) => {
            (progress.taken, progress.more) = match outcome {
                Outcome::Done => (given, 0),
                Outcome::More { taken } => (taken, 1),
            };
            return 0;
        }
        Ok(Err(failure)) => {
            progress.taken = failure.taken;
            (FAILED, failure.problem)
        }
        Err(panic) => (PANICKED, words(panic.as_ref())),
    };
    // SAFETY: the host's place is as large as it says.
    unsafe { tell(&text, problem, capacity) };
    code
}

unsafe extern "C" fn ingest<D: Detector>(
    detector: *mut Handle,
    packets: *const RawPacket,
    count: usize,
    events: *mut RawEvents,
    progress: *mut Progress,
    problem: *mut c_char,
    capacity: usize,
) -> i32 {
    // SAFETY: the handle is one of `create` and used by this call alone.
    let detector = unsafe { &mut *detector.cast::<D>() };
    let packets: &[Packet<'_>] = if count == 0 {
        &[]
    } else {
        // SAFETY: the host gives this many packets, good until the call returns; `Packet` has their layout.
        unsafe { std::slice::from_raw_parts(packets.cast(), count) }
    };
    // SAFETY: the places are those of the host.
    unsafe { settle(count, events, progress, (problem, capacity), |events| detector.ingest(packets, events)) }
}

unsafe extern "C" fn publish_closed<D: Detector>(
    detector: *mut Handle,
    events: *mut RawEvents,
    progress: *mut Progress,
    problem: *mut c_char,
    capacity: usize,
) -> i32 {
    // SAFETY: the handle is one of `create` and used by this call alone; the places are those of the host.
    unsafe {
        let detector = &mut *detector.cast::<D>();
        settle(0, events, progress, (problem, capacity), |events| detector.publish_closed(events))
    }
}

unsafe extern "C" fn close<D: Detector>(
    detector: *mut Handle,
    events: *mut RawEvents,
    progress: *mut Progress,
    problem: *mut c_char,
    capacity: usize,
) -> i32 {
    // SAFETY: the handle is one of `create` and used by this call alone; the places are those of the host.
    unsafe {
        let detector = &mut *detector.cast::<D>();
        settle(0, events, progress, (problem, capacity), |events| detector.close(events))
    }
}

unsafe extern "C" fn counters<D: Detector>(detector: *const Handle, values: *mut u64, count: usize) {
    // SAFETY: the handle is one of `create`, and the host has this many places, all written.
    let (detector, values) =
        unsafe { (&*detector.cast::<D>(), std::slice::from_raw_parts_mut(values, count)) };
    // After a panic they stay 0, which the host notices.
    let _ = catch_unwind(AssertUnwindSafe(|| detector.counters(values)));
}

unsafe extern "C" fn sources<D: Detector>(
    detector: *const Handle,
    sources: *mut Source,
    capacity: usize,
) -> usize {
    // SAFETY: the handle is one of `create`, and the host has this many places, all written.
    let (detector, sources) =
        unsafe { (&*detector.cast::<D>(), std::slice::from_raw_parts_mut(sources, capacity)) };
    catch_unwind(AssertUnwindSafe(|| detector.sources(sources))).unwrap_or(0)
}

unsafe extern "C" fn destroy<D: Detector>(detector: *mut Handle) {
    // SAFETY: the handle is one of `create`, and this is its last use.
    let detector = unsafe { Box::from_raw(detector.cast::<D>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(detector)));
}
