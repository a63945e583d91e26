//! The threads, the clock, and who runs next.

use crate::faults::{Call, Fault, hit};
use crate::plan::Plan;
use crate::random::Random;
use crate::trace::Trace;
use crate::turn::{give, take};
use crate::wait::{Wait, Woken};
use crate::world::World;
use crate::{DEADLOCK, TOO_LONG, real};
use std::cell::{Cell, RefCell, RefMut};
use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

struct Thread {
    /// 1 while it is this thread's turn to go on. Never freed: the thread may look at it after it has been removed.
    turn: &'static AtomicU32,
    wait: Wait,
    woken: Woken,
    /// Its number in the C library, once it is there.
    handle: Option<libc::pthread_t>,
}

/// Everything simulated. Only the thread whose turn it is touches it, and lets it go before it gives the turn away.
pub(crate) struct Host(RefCell<State>);

// SAFETY: one thread at a time touches it; giving the turn away is a release, and taking it an acquisition.
unsafe impl Sync for Host {}

pub(crate) struct State {
    pub(crate) plan: Plan,
    pub(crate) random: Random,
    /// Nanoseconds since the start.
    pub(crate) now: u64,
    /// The clock on the wall minus `now`.
    pub(crate) wall: i64,
    threads: Vec<Thread>,
    world: World,
    pub(crate) trace: Trace,
    /// Readings of the clock since anything else happened.
    pub(crate) readings: u32,
    /// The file of each descriptor that is under the rules.
    files: Vec<Option<Box<str>>>,
    /// Where relative paths begin.
    here: String,
}

/// Nanoseconds of a reading of the clock, and of a turn.
const READING: u64 = 100;
const TURN: u64 = 500;
/// A thread is interrupted in one of this many hooks that do not wait.
const INTERRUPTED: u64 = 6;

static HOST: AtomicPtr<Host> = AtomicPtr::new(std::ptr::null_mut());

thread_local! {
    /// The number of this thread; none before it is known and after it has ended.
    static ME: Cell<Option<usize>> = const { Cell::new(None) };
    /// This thread is within a hook: its calls are its own.
    static WITHIN: Cell<bool> = const { Cell::new(false) };
}

/// Begins; this thread is the first.
pub(crate) fn start(plan: Plan) {
    let open = |path: &std::path::Path| {
        use std::os::fd::IntoRawFd;
        std::fs::File::create(path).ok().map(IntoRawFd::into_raw_fd)
    };
    let trace = Trace::new(plan.trace.as_deref().and_then(open));
    let world = World::new(plan.port, &plan.actions);
    let mut state = State {
        random: Random::new(plan.seed),
        now: 0,
        wall: plan.wall,
        threads: Vec::new(),
        world,
        trace,
        readings: 0,
        files: Vec::new(),
        here: std::env::current_dir().map(|here| here.display().to_string()).unwrap_or_default(),
        plan,
    };
    state.add_thread();
    let host = Box::leak(Box::new(Host(RefCell::new(state))));
    ME.set(Some(0));
    HOST.store(host, Ordering::Release);
    // SAFETY: the function may run when the process ends.
    unsafe { libc::atexit(flush) };
}

/// What has been gathered of the trace reaches its file.
extern "C" fn flush() {
    enter(|host, me| {
        let mut state = host.state();
        state.note(me, format_args!("exit"));
        state.trace.flush();
    });
}

/// Does something with the host, if this thread is one of it and not within a hook already: then the hook passes its call on.
pub(crate) fn enter<R>(work: impl FnOnce(&Host, usize) -> R) -> Option<R> {
    let me = ME.get()?;
    if WITHIN.get() {
        return None;
    }
    let host = HOST.load(Ordering::Acquire);
    if host.is_null() {
        return None;
    }
    WITHIN.set(true);
    // The program sees the number of the last error as if nothing had been in between.
    let errno = real::errno();
    // SAFETY: it lives for ever, and is only shared.
    let result = work(unsafe { &*host }, me);
    real::set_errno(errno);
    WITHIN.set(false);
    Some(result)
}

/// The time on the wall, in nanoseconds since 1970, for a hook that is within one already.
pub(crate) fn wall_now() -> Option<i64> {
    ME.get()?;
    let host = HOST.load(Ordering::Acquire);
    if host.is_null() {
        return None;
    }
    // SAFETY: it lives for ever, and is only shared.
    let state = unsafe { &*host }.state();
    Some(state.now.cast_signed().saturating_add(state.wall))
}

/// A new thread waits for its first turn. From then on it is one of the host's.
pub(crate) fn begin_thread(me: usize, turn: &'static AtomicU32) {
    take(turn);
    ME.set(Some(me));
}

/// This thread has ended: somebody else goes on.
pub(crate) fn end_thread() {
    let next = enter(|host, me| {
        let mut state = host.state();
        state.threads[me].wait = Wait::Ended;
        state.note(me, format_args!("ended"));
        let next = state.next(me);
        state.threads[next].turn
    });
    ME.set(None);
    if let Some(next) = next {
        give(next);
    }
}

impl Host {
    /// Everything; to be let go before the turn is given away.
    pub(crate) fn state(&self) -> RefMut<'_, State> {
        self.0.borrow_mut()
    }

    /// Waits, while others go on.
    pub(crate) fn wait(&self, me: usize, wait: Wait) -> Woken {
        let (next, mine, its) = {
            let mut state = self.state();
            state.readings = 0;
            (state.threads[me].wait, state.threads[me].woken) = (wait, Woken::Yes);
            let next = state.next(me);
            (next, state.threads[me].turn, state.threads[next].turn)
        };
        if next != me {
            give(its);
            take(mine);
        }
        self.state().threads[me].woken
    }

    /// Others may go on now.
    pub(crate) fn may_turn(&self, me: usize) {
        let is_interrupted = {
            let mut state = self.state();
            state.readings = 0;
            state.random.once_in(INTERRUPTED)
        };
        if is_interrupted {
            self.wait(me, Wait::Turn);
        }
    }

    /// What is to become of a call on the file `name`, and noted; the time that it takes has passed then.
    pub(crate) fn fault(&self, me: usize, call: Call, name: &str) -> Option<Fault> {
        let (fault, now) = {
            let mut state = self.state();
            let State { plan, random, now, .. } = &mut *state;
            let (rule, fault) = hit(&plan.rules, random, *now, call, name)?;
            state.note(me, format_args!("fault {rule} {call:?} {name}: {fault:?}"));
            (fault, state.now)
        };
        if let Fault::Slow(time) = fault {
            self.wait(me, Wait::Until(now + time));
            return None;
        }
        Some(fault)
    }

    /// The same, for a call that can only fail as a whole: the number of the error.
    pub(crate) fn failure(&self, me: usize, call: Call, name: &str) -> Option<c_int> {
        match self.fault(me, call, name)? {
            Fault::Fails(number) => Some(number),
            Fault::Short | Fault::Slow(_) => None,
        }
    }
}

impl State {
    /// A thread that waits for its first turn.
    pub(crate) fn add_thread(&mut self) -> (usize, &'static AtomicU32) {
        let turn: &'static AtomicU32 = Box::leak(Box::new(AtomicU32::new(0)));
        self.threads.push(Thread { turn, wait: Wait::Turn, woken: Woken::Yes, handle: None });
        (self.threads.len() - 1, turn)
    }

    /// It could not be started.
    pub(crate) fn drop_thread(&mut self, thread: usize) {
        self.threads[thread].wait = Wait::Ended;
    }

    pub(crate) fn name_thread(&mut self, thread: usize, handle: libc::pthread_t) {
        self.threads[thread].handle = Some(handle);
    }

    /// The thread of a number of the C library that has not been waited for, if it is one of ours.
    pub(crate) fn thread_of(&mut self, handle: libc::pthread_t) -> Option<usize> {
        let found = self.threads.iter().rposition(|thread| thread.handle == Some(handle))?;
        // The C library gives the number to another one afterwards.
        self.threads[found].handle = None;
        Some(found)
    }

    /// Writes a line of the trace.
    pub(crate) fn note(&mut self, me: usize, what: std::fmt::Arguments<'_>) {
        self.trace.line(self.now, me, what);
    }

    /// Wakes up to `count` threads that wait at an address, drawn among them.
    pub(crate) fn wake(&mut self, address: usize, count: usize) -> usize {
        let mut woken = 0;
        while woken < count {
            let waits = |thread: &Thread| matches!(thread.wait, Wait::Address(at, _) if at == address);
            let waiting: Vec<usize> =
                (0..self.threads.len()).filter(|&thread| waits(&self.threads[thread])).collect();
            let Some(&one) = self.random.one_of(&waiting) else { break };
            self.threads[one].wait = Wait::Turn;
            woken += 1;
        }
        woken
    }

    /// The clock of all intervals, which moves with every reading: those who look at it until it has moved come to an end.
    pub(crate) fn read_clock(&mut self) -> u64 {
        self.readings = self.readings.saturating_add(1);
        self.now += READING << (self.readings / 256).min(14);
        self.now
    }

    /// Who goes on. Time passes if nobody can.
    fn next(&mut self, me: usize) -> usize {
        self.now += TURN;
        loop {
            self.happen(me);
            self.wake_those_due();
            let ready: Vec<usize> = (0..self.threads.len())
                .filter(|&thread| matches!(self.threads[thread].wait, Wait::Turn))
                .collect();
            if let Some(&next) = self.random.one_of(&ready) {
                if self.plan.full {
                    self.note(next, format_args!("turn of {}", ready.len()));
                }
                return next;
            }
            let deadlines = self.threads.iter().filter_map(|thread| thread.wait.deadline());
            match deadlines.chain(self.world.next_at()).min() {
                Some(time) if time > self.plan.limit => self.give_up("the limit is reached", TOO_LONG),
                Some(time) => self.now = self.now.max(time),
                None => self.give_up("all threads wait for ever", DEADLOCK),
            }
        }
    }

    /// Makes happen what the plan has for now.
    fn happen(&mut self, me: usize) {
        while let Some(action) = self.world.due(self.now) {
            let told = self.world.make_happen(&action, &self.plan.folder, &mut self.wall);
            self.note(me, format_args!("{told}"));
        }
    }

    fn wake_those_due(&mut self) {
        for index in 0..self.threads.len() {
            let wait = self.threads[index].wait;
            let is_late = wait.deadline().is_some_and(|deadline| deadline <= self.now);
            let woken = match wait {
                Wait::Descriptors(descriptors, count, _) => {
                    // SAFETY: the thread waits, and so does the memory with its descriptors.
                    let ready = unsafe { real::poll(descriptors, count as libc::nfds_t, 0) } != 0;
                    if ready { Some(Woken::Yes) } else { is_late.then_some(Woken::InVain) }
                }
                Wait::End(thread) => matches!(self.threads[thread].wait, Wait::Ended).then_some(Woken::Yes),
                _ => is_late.then_some(Woken::InVain),
            };
            if let Some(woken) = woken {
                (self.threads[index].wait, self.threads[index].woken) = (Wait::Turn, woken);
            }
        }
    }

    /// Ends the process, and says who waits for what.
    fn give_up(&mut self, why: &str, status: i32) -> ! {
        let waits: Vec<String> = self.threads.iter().map(|thread| format!("{:?}", thread.wait)).collect();
        for (thread, wait) in waits.iter().enumerate() {
            self.note(thread, format_args!("{wait}"));
        }
        self.note(0, format_args!("{why}"));
        self.trace.flush();
        eprintln!("simulated host: {why}, {} ms after the start: {waits:?}", self.now / 1_000_000);
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(status) }
    }

    /// The name of a file, if it is under the rules.
    pub(crate) fn name_of(&self, path: &str) -> Option<Box<str>> {
        let folder = self.plan.folder.to_str()?;
        if folder.is_empty() {
            return None;
        }
        let path = path.strip_prefix("./").unwrap_or(path);
        if !path.starts_with('/') {
            return (self.here == folder && !path.is_empty()).then(|| path.into());
        }
        path.strip_prefix(folder)?.strip_prefix('/').map(Into::into)
    }

    /// A descriptor is that of this file from now on; of none without a name.
    pub(crate) fn set_file(&mut self, descriptor: c_int, name: Option<Box<str>>) {
        let Ok(index) = usize::try_from(descriptor) else { return };
        if index >= self.files.len() {
            if name.is_none() {
                return;
            }
            self.files.resize(index + 1, None);
        }
        self.files[index] = name;
    }

    /// The file of a descriptor, if it is under the rules.
    pub(crate) fn file(&self, descriptor: c_int) -> Option<Box<str>> {
        self.files.get(usize::try_from(descriptor).ok()?)?.clone()
    }
}
