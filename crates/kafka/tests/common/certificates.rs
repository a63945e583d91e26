//! Certificates for tests, made with openssl.

use evforge_testkit::outside::succeed;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Somebody who signs certificates.
pub(crate) struct Authority {
    folder: PathBuf,
    name: String,
}

impl Authority {
    /// A new one, in files of this name.
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        let authority = Self { folder: folder.to_owned(), name: name.to_owned() };
        authority.openssl(&format!(
            "req -x509 -newkey rsa:2048 -nodes -keyout {name}.key -out {name}.pem -days 30 -subj /CN=authority-{name}"
        ));
        std::fs::write(folder.join(format!("{name}.index")), "").expect("a file");
        let settings = format!(
            "[ca]\ndefault_ca = it\n[it]\ndatabase = {name}.index\nnew_certs_dir = .\nrand_serial = yes\n\
             default_md = sha256\npolicy = any\ncopy_extensions = copy\nunique_subject = no\n[any]\ncommonName = supplied\n"
        );
        std::fs::write(folder.join(format!("{name}.cnf")), settings).expect("a file");
        authority
    }

    /// Its own certificate: what a client trusts.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join(format!("{}.pem", self.name))
    }

    /// A certificate for a host with its key, in one file: valid now, or last year.
    pub(crate) fn certificate(&self, host: &str, is_expired: bool) -> PathBuf {
        let name = &self.name;
        let (from, to) = match is_expired {
            true => ("20200101000000Z", "20210101000000Z"),
            false => ("20200101000000Z", "20991231000000Z"),
        };
        self.openssl(&format!(
            "req -newkey rsa:2048 -nodes -keyout host.key -out host.csr -subj /CN={host} -addext subjectAltName=DNS:{host}"
        ));
        self.openssl(&format!(
            "ca -batch -notext -config {name}.cnf -cert {name}.pem -keyfile {name}.key -in host.csr -out host.pem \
             -startdate {from} -enddate {to}"
        ));
        let read = |file: &str| std::fs::read_to_string(self.folder.join(file)).expect("a file");
        let whole = read("host.key") + &read("host.pem") + &read(&format!("{name}.pem"));
        let file = self.folder.join(format!("{name}-{host}-{is_expired}.pem"));
        std::fs::write(&file, whole).expect("a file");
        file
    }

    fn openssl(&self, arguments: &str) {
        succeed(Command::new("openssl").args(arguments.split(' ')).current_dir(&self.folder));
    }
}
