//! The sender of a measurement on another host: an agent there starts `evforge send` or `evforge drop send` for whoever knows its token.
//!
//! ```text
//!  receiver's host                                     sender's host
//!  evforge measure sweep --sender HOST:PORT
//!   ├─ evforge receive                  ◄───── UDP ──── evforge send
//!   └─ evforge measure at HOST:PORT     ◄───── TCP ───► evforge measure agent
//!      (stands for the sender: its end                  (starts and ends it, and looks at the
//!       is the sender's end)                             cores of its host meanwhile)
//! ```
//!
//! One connection is one program. Whoever closes it, and however it breaks, ends the program: so nothing is left on either host.
//!
//! | you look for | it is in |
//! |---|---|
//! | what is said over the connection | [`protocol`] |
//! | what an agent starts, and what it refuses | [`allowed`] |
//! | the agent | [`Agent`] |
//! | the program that stands for the sender | [`run_at`] |

mod agent;
pub mod allowed;
mod at;
pub mod protocol;

pub use agent::{Agent, AgentError};
pub use at::{HOST_FIGURES, RemoteError, SenderHost, run_at, sender_host};
