//! An entry of a ring: what is in it belongs to one side at a time.

/// Memory of an entry, as the kernel lays it out. In models it is a cell of loom, which sees two sides at the same entry.
#[derive(Debug)]
#[repr(transparent)]
pub(super) struct RingEntry<T>(Cell<T>);

#[cfg(loom)]
type Cell<T> = loom::cell::UnsafeCell<T>;
#[cfg(not(loom))]
type Cell<T> = std::cell::UnsafeCell<T>;

impl<T: Copy> RingEntry<T> {
    /// With something in it.
    #[cfg(test)]
    pub(super) fn new(value: T) -> Self {
        Self(Cell::new(value))
    }

    /// What is in it.
    ///
    /// # Safety
    /// The entry must be this side's, and written.
    pub(super) unsafe fn read(&self) -> T {
        // SAFETY: as the caller says.
        #[cfg(not(loom))]
        return unsafe { self.0.get().read() };
        // SAFETY: as the caller says.
        #[cfg(loom)]
        return self.0.with(|entry| unsafe { entry.read() });
    }

    /// Puts something into it.
    ///
    /// # Safety
    /// The entry must be this side's.
    pub(super) unsafe fn write(&self, value: T) {
        // SAFETY: as the caller says.
        #[cfg(not(loom))]
        return unsafe { self.0.get().write(value) };
        // SAFETY: as the caller says.
        #[cfg(loom)]
        return self.0.with_mut(|entry| unsafe { entry.write(value) });
    }
}
