//! Messages of every schema and layout, for tests and fuzzing: a seed gives their values. With the feature `examples`.

pub mod foreign;
mod made;
mod runs;
mod values;

/// Puts down what `encode` of a struct makes.
macro_rules! put {
    ($values:ident $name:literal $message:expr) => {
        let bytes = $message.encode(&mut $values.encoder).to_vec();
        $values.made.push(($name, bytes));
    };
}

pub(crate) use put;

pub use made::messages;
