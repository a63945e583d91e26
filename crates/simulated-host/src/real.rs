//! The functions of the C library that stand behind the hooks.

use std::ffi::{CStr, c_int, c_long, c_uint, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The address of a function behind this library, looked up once.
pub(crate) fn next(cache: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    let known = cache.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    // SAFETY: `name` is a text that ends with a zero byte, and RTLD_NEXT may be asked from any library.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if found.is_null() {
        // Nothing can be said or done without the C library's functions.
        // SAFETY: has no conditions.
        unsafe { libc::abort() };
    }
    cache.store(found, Ordering::Relaxed);
    found
}

/// Declares a function that calls the C library's of the same name.
macro_rules! real {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => { $(
        /// The C library's.
        ///
        /// # Safety
        /// As the function of the C library.
        pub(crate) unsafe fn $name($($argument: $kind),*) -> $result {
            static CACHE: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
            let name = const {
                match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a name without zero bytes"),
                }
            };
            let address = next(&CACHE, name);
            // SAFETY: the C library has this function with these arguments.
            let function: unsafe extern "C" fn($($kind),*) -> $result = unsafe { std::mem::transmute(address) };
            // SAFETY: the caller keeps the conditions of the function.
            unsafe { function($($argument),*) }
        }
    )* };
}

real! {
    syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long;
    clock_gettime(clock: c_int, time: *mut libc::timespec) -> c_int;
    pthread_create(thread: *mut libc::pthread_t, attributes: *const libc::pthread_attr_t, start: extern "C" fn(*mut c_void) -> *mut c_void, argument: *mut c_void) -> c_int;
    pthread_join(thread: libc::pthread_t, value: *mut *mut c_void) -> c_int;
    sched_yield() -> c_int;
    sched_getaffinity(process: libc::pid_t, size: usize, set: *mut libc::cpu_set_t) -> c_int;
    clock_nanosleep(clock: c_int, flags: c_int, time: *const libc::timespec, left: *mut libc::timespec) -> c_int;
    poll(descriptors: *mut libc::pollfd, count: libc::nfds_t, timeout: c_int) -> c_int;
    ppoll(descriptors: *mut libc::pollfd, count: libc::nfds_t, timeout: *const libc::timespec, mask: *const libc::sigset_t) -> c_int;
    epoll_wait(queue: c_int, events: *mut libc::epoll_event, count: c_int, timeout: c_int) -> c_int;
    epoll_pwait(queue: c_int, events: *mut libc::epoll_event, count: c_int, timeout: c_int, mask: *const libc::sigset_t) -> c_int;
    getrandom(bytes: *mut c_void, count: usize, flags: c_uint) -> isize;
    open(path: *const libc::c_char, flags: c_int, mode: libc::mode_t) -> c_int;
    open64(path: *const libc::c_char, flags: c_int, mode: libc::mode_t) -> c_int;
    openat(folder: c_int, path: *const libc::c_char, flags: c_int, mode: libc::mode_t) -> c_int;
    openat64(folder: c_int, path: *const libc::c_char, flags: c_int, mode: libc::mode_t) -> c_int;
    close(descriptor: c_int) -> c_int;
    dup(descriptor: c_int) -> c_int;
    dup2(descriptor: c_int, other: c_int) -> c_int;
    dup3(descriptor: c_int, other: c_int, flags: c_int) -> c_int;
    fcntl(descriptor: c_int, command: c_int, argument: usize) -> c_int;
    fcntl64(descriptor: c_int, command: c_int, argument: usize) -> c_int;
    read(descriptor: c_int, bytes: *mut c_void, count: usize) -> isize;
    pread(descriptor: c_int, bytes: *mut c_void, count: usize, place: i64) -> isize;
    pread64(descriptor: c_int, bytes: *mut c_void, count: usize, place: i64) -> isize;
    write(descriptor: c_int, bytes: *const c_void, count: usize) -> isize;
    pwrite(descriptor: c_int, bytes: *const c_void, count: usize, place: i64) -> isize;
    pwrite64(descriptor: c_int, bytes: *const c_void, count: usize, place: i64) -> isize;
    writev(descriptor: c_int, parts: *const libc::iovec, count: c_int) -> isize;
    fsync(descriptor: c_int) -> c_int;
    fdatasync(descriptor: c_int) -> c_int;
    ftruncate(descriptor: c_int, length: i64) -> c_int;
    ftruncate64(descriptor: c_int, length: i64) -> c_int;
    fallocate(descriptor: c_int, mode: c_int, place: i64, length: i64) -> c_int;
    fallocate64(descriptor: c_int, mode: c_int, place: i64, length: i64) -> c_int;
    posix_fallocate(descriptor: c_int, place: i64, length: i64) -> c_int;
    posix_fallocate64(descriptor: c_int, place: i64, length: i64) -> c_int;
    statvfs64(path: *const libc::c_char, room: *mut libc::statvfs64) -> c_int;
    fstatvfs64(descriptor: c_int, room: *mut libc::statvfs64) -> c_int;
    rename(from: *const libc::c_char, to: *const libc::c_char) -> c_int;
    renameat2(from_folder: c_int, from: *const libc::c_char, to_folder: c_int, to: *const libc::c_char, flags: c_uint) -> c_int;
    unlink(path: *const libc::c_char) -> c_int;
    socket(family: c_int, kind: c_int, protocol: c_int) -> c_int;
    accept(socket: c_int, address: *mut libc::sockaddr, length: *mut libc::socklen_t) -> c_int;
    accept4(socket: c_int, address: *mut libc::sockaddr, length: *mut libc::socklen_t, flags: c_int) -> c_int;
    recv(socket: c_int, bytes: *mut c_void, count: usize, flags: c_int) -> isize;
    recvfrom(socket: c_int, bytes: *mut c_void, count: usize, flags: c_int, address: *mut libc::sockaddr, length: *mut libc::socklen_t) -> isize;
    recvmsg(socket: c_int, message: *mut libc::msghdr, flags: c_int) -> isize;
    recvmmsg(socket: c_int, messages: *mut libc::mmsghdr, count: c_uint, flags: c_int, timeout: *mut libc::timespec) -> c_int;
    send(socket: c_int, bytes: *const c_void, count: usize, flags: c_int) -> isize;
    sendto(socket: c_int, bytes: *const c_void, count: usize, flags: c_int, address: *const libc::sockaddr, length: libc::socklen_t) -> isize;
}

/// Sets the number of the last error of this thread.
pub(crate) fn set_errno(number: c_int) {
    // SAFETY: the address is that of this thread's number.
    unsafe { *libc::__errno_location() = number };
}

/// The number of the last error of this thread.
pub(crate) fn errno() -> c_int {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() }
}
