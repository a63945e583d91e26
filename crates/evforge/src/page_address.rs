//! Where a browser finds the page of a live view.

use evforge_net::interfaces::own_addresses;
use std::net::{IpAddr, SocketAddr};

/// The addresses that people can open: of a view that listens on all addresses, those of this host, its name first.
pub(crate) fn page_urls(address: SocketAddr) -> Vec<String> {
    if !address.ip().is_unspecified() {
        return vec![format!("http://{address}")];
    }
    let port = address.port();
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = match name.trim() {
        "" => "localhost",
        name => name,
    };
    // Where the system does not tell its addresses, the name is left.
    let own = own_addresses().unwrap_or_default();
    let reached = own.into_iter().filter(|own| may_be_opened(*own, address.ip()));
    let numbers = reached.map(|own| format!("http://{}", SocketAddr::new(own, port)));
    [format!("http://{name}:{port}")].into_iter().chain(numbers).collect()
}

/// Whether others can open `own` where a server listens on `all`. A link-local address of IPv6 needs the reader's interface, too.
fn may_be_opened(own: IpAddr, all: IpAddr) -> bool {
    match own {
        IpAddr::V4(own) => !own.is_loopback(),
        IpAddr::V6(own) => all.is_ipv6() && !own.is_loopback() && !own.is_unicast_link_local(),
    }
}

/// The same as one text, which the page's line on the terminal has; with the token, if there is one, where a browser reads it and
/// does not send it.
pub(crate) fn page_text(address: SocketAddr, token: Option<&str>) -> String {
    let end = token.map_or_else(String::new, |token| format!("/#token={token}"));
    let urls: Vec<String> = page_urls(address).into_iter().map(|url| url + &end).collect();
    urls.join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_itself_and_all_addresses_are_those_of_this_host() {
        assert_eq!(page_text("127.0.0.1:8080".parse().unwrap(), None), "http://127.0.0.1:8080");
        assert_eq!(page_text("[::1]:80".parse().unwrap(), Some("t")), "http://[::1]:80/#token=t");
        let urls = page_urls("0.0.0.0:8080".parse().unwrap());
        assert!(urls.iter().all(|url| url.starts_with("http://") && url.ends_with(":8080")), "{urls:?}");
        assert!(!urls[0].contains("0.0.0.0") && urls.iter().all(|url| !url.contains("127.")), "{urls:?}");
        let own: Vec<IpAddr> = own_addresses().unwrap();
        assert!(own.contains(&"127.0.0.1".parse().unwrap()), "{own:?}");
        let others = own.iter().filter(|own| own.is_ipv4() && !own.is_loopback()).count();
        assert_eq!(urls.len(), 1 + others, "{urls:?}");
    }

    #[test]
    fn link_local_addresses_are_left_out() {
        let all = "::".parse().unwrap();
        let open = |own: &str| may_be_opened(own.parse().unwrap(), all);
        assert_eq!(["fe80::1", "::1", "fd00::7", "10.0.0.1"].map(open), [false, false, true, true]);
        assert!(!may_be_opened("fd00::7".parse().unwrap(), "0.0.0.0".parse().unwrap()));
    }
}
