//! A certificate for a private server, so that TLS can be tried.

use std::path::Path;

use crate::Result;
use crate::server::{Account, output};

/// Makes `server.key` and `server.crt` in `folder`: for `localhost`, signed by itself, and not itself an authority.
pub(crate) fn certify(folder: &Path, account: Account) -> Result<()> {
    let mut openssl = account.command(Path::new("openssl"));
    openssl
        .current_dir(folder)
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout", "server.key", "-out", "server.crt"]);
    output(openssl).map(drop)
}
