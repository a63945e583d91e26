//! Users of this host, as `/etc/passwd` and `/etc/group` list them.
//!
//! Read from the files and not through the system's name services, whose plug-ins would be code from elsewhere in a
//! process with privileges. Users that are only known there are given by their numbers.

use std::fs;
use std::io;

/// A user of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name, or the number if it has none.
    pub name: String,
    /// Number of the user.
    pub uid: u32,
    /// Number of the main group.
    pub gid: u32,
    /// Numbers of all groups, the main one included.
    pub groups: Vec<u32>,
}

impl User {
    /// The user with this name or number.
    ///
    /// # Errors
    /// If there is none in `/etc/passwd`, or it cannot be read.
    pub fn find(name_or_number: &str) -> io::Result<Self> {
        let passwd = fs::read_to_string("/etc/passwd")?;
        let group = fs::read_to_string("/etc/group").unwrap_or_default();
        Self::find_in(name_or_number, &passwd, &group).ok_or_else(|| {
            let why = format!("there is no user {name_or_number:?} in /etc/passwd");
            io::Error::new(io::ErrorKind::NotFound, why)
        })
    }

    /// Whether this process belongs to root.
    pub fn is_root() -> bool {
        rustix::process::geteuid().is_root()
    }

    fn find_in(wanted: &str, passwd: &str, group: &str) -> Option<Self> {
        let number: Option<u32> = wanted.parse().ok();
        let (name, uid, gid) = passwd.lines().find_map(|line| {
            let mut fields = line.split(':');
            let (name, uid) = (fields.next()?, fields.nth(1)?.parse().ok()?);
            let gid = fields.next()?.parse().ok()?;
            (name == wanted || number == Some(uid)).then(|| (name.to_owned(), uid, gid))
        })?;
        let mut groups = vec![gid];
        for line in group.lines() {
            let fields: Vec<&str> = line.split(':').collect();
            if let [_, _, number, members] = fields[..]
                && members.split(',').any(|member| member == name)
                && let Ok(number) = number.parse()
                && !groups.contains(&number)
            {
                groups.push(number);
            }
        }
        Some(Self { name, uid, gid, groups })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\nbroken\ndaq:x:1001:1002:DAQ:/home/daq:/bin/sh\n";
    const GROUP: &str = "daq:x:1002:\nshow:x:7:anna,daq\nother:x:8:daquiri\n";

    #[test]
    fn users_are_found_by_name_and_by_number_with_their_groups() {
        let daq = User { name: "daq".into(), uid: 1001, gid: 1002, groups: vec![1002, 7] };
        assert_eq!(User::find_in("daq", PASSWD, GROUP), Some(daq.clone()));
        assert_eq!(User::find_in("1001", PASSWD, GROUP), Some(daq));
        for unknown in ["broken", "", "1002", "x", "-1"] {
            assert_eq!(User::find_in(unknown, PASSWD, GROUP), None, "{unknown}");
        }
        assert!(User::find("no-such-user-here").unwrap_err().to_string().contains("/etc/passwd"));
    }
}
