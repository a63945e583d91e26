//! Privileges are given up before anything that a user chose is read: configurations, libraries, captures.

use crate::CommandError;

use evforge_net::helper::Helper;
use evforge_net::privileges::{drop_all, is_secure_execution};
use evforge_net::user::User;

/// Starts the helper where it may be needed, then drops every privilege, unless they are to be kept, and becomes `user`, if one is
/// named.
///
/// # Errors
/// If there is no such user, or privileges cannot be given up; then nothing may go on. And if the program's file has
/// privileges and something is to be taken from the environment, which whoever starts it chooses.
pub(crate) fn give_up(
    uses_the_network: bool,
    user: Option<&str>,
    keeps_them: bool,
) -> Result<(), CommandError> {
    let has_file_privileges = is_secure_execution();
    if has_file_privileges {
        let mut named = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
        if let Some(name) = named.find(|name| name.starts_with("EVFORGE_")) {
            return Err(format!(
                "evforge has been given privileges by its file (setcap or set-user-ID), and takes nothing from the \
                 environment then: {name} is set. Unset it; and take the privileges away, which only evforge-helper \
                 needs: sudo setcap -r \"$(command -v evforge)\""
            )
            .into());
        }
        evforge_plugin::refuse_libraries(
            "evforge has been given privileges by its file (setcap or set-user-ID), and loads no library then. Only \
             evforge-helper needs privileges: sudo setcap -r \"$(command -v evforge)\"",
        );
    }
    let user = user.map(User::find).transpose()?;
    // Afterwards no program can get privileges any more.
    if uses_the_network
        && !has_file_privileges
        && let Err(error) = Helper::start()
    {
        tracing::warn!(target: evforge_log::group::RUN, "{error}");
    }
    if keeps_them {
        return Ok(());
    }
    drop_all(user.as_ref())
        .map_err(|error| format!("privileges cannot be given up, so nothing is done: {error}").into())
}

/// What to add to an error: root without privileges may do less than is expected of it.
pub(crate) fn advice(error: &str) -> Option<&'static str> {
    (User::is_root() && error.contains("Permission denied")).then_some(
        "evforge drops root's privileges, so files of other users are closed to it. Name the user that it is to \
         become: --user \"$SUDO_USER\"",
    )
}
