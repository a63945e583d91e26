//! What must hold for messages of every schema, and for bytes that are none.

mod bounds;
mod damage;
mod round_trip;
