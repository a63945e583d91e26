//! What outputs keep from one run of a program to the next: the server of a page, for example.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Things that outlive a run, by name. Clones have the same things.
#[derive(Clone, Default)]
pub struct Kept(Arc<Mutex<BTreeMap<String, Arc<dyn Any + Send + Sync>>>>);

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.lock().unwrap_or_else(PoisonError::into_inner).keys()).finish()
    }
}

impl Kept {
    /// What was kept under this name, if it is a `T`.
    pub fn get<T: Send + Sync + 'static>(&self, name: &str) -> Option<Arc<T>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        kept.and_then(|thing| thing.downcast().ok())
    }

    /// Keeps it under this name, in the place of what was there.
    pub fn keep<T: Send + Sync + 'static>(&self, name: &str, thing: Arc<T>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), thing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_by_its_name_and_its_type() {
        let kept = Kept::default();
        kept.keep("a", Arc::new(7_u32));
        assert_eq!(kept.clone().get::<u32>("a").as_deref(), Some(&7));
        assert_eq!((kept.get::<u64>("a"), kept.get::<u32>("b")), (None, None));
    }
}
