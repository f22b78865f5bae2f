//! What the scenes need: a dashboard with tokens, relays, and messages.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::harness::{Store, signal, wait_for};

/// A dashboard process, ended with the test.
pub(crate) struct Dashboard {
    child: Child,
    log: String,
    pub(crate) url: String,
    tokens: String,
}

/// Tokens in clear, by what they allow; long enough to be taken.
pub(crate) const OPERATOR: &str = "operator-token-of-the-browser-tests";
pub(crate) const VIEWER: &str = "viewer-token-of-the-browser-tests";
pub(crate) const EXPIRED: &str = "expired-token-of-the-browser-tests";

impl Dashboard {
    /// One with three tokens: ada may do everything, vera may look, eve's token has ended.
    pub(crate) fn start(store: &Store, name: &str) -> Self {
        let tokens = store.path(&format!("{name}.tokens"));
        let lines = [
            line("ada", "operate,payloads", OPERATOR, ""),
            line("vera", "view", VIEWER, ""),
            line("eve", "operate", EXPIRED, " until=2020-01-01T00:00:00Z"),
        ];
        write_private(&tokens, &lines.join("\n"));
        let log = store.path(&format!("{name}.log"));
        let file = File::create(&log).expect("a log");
        let mut command = store.command(&["dashboard", "--listen", "127.0.0.1:0", "--tokens", &tokens]);
        let mut child = command.stdout(Stdio::null()).stderr(file).spawn().expect("a process");
        let url = wait_for("the address of a dashboard", || {
            if let Some(status) = child.try_wait().expect("a status") {
                panic!("the dashboard has ended ({status}): {}", fs::read_to_string(&log).unwrap_or_default());
            }
            let said = fs::read_to_string(&log).unwrap_or_default();
            let at = said.split("dashboard at ").nth(1)?;
            // The line is whole only with its end.
            at.contains('\n').then(|| at.split_whitespace().next().unwrap_or_default().to_owned())
        });
        Self { child, log, url, tokens }
    }

    /// The address of a page.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Takes every token but the viewer's away.
    pub(crate) fn revoke(&self) {
        write_private(&self.tokens, &line("vera", "view", VIEWER, ""));
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        signal(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), Signal::SIGKILL);
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("{}:\n{}", self.log, fs::read_to_string(&self.log).unwrap_or_default());
        }
    }
}

fn line(name: &str, may: &str, token: &str, until: &str) -> String {
    use sha2::Digest as _;
    let hash: String = sha2::Sha256::digest(token.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{name} {may} sha256:{hash}{until}")
}

fn write_private(path: &str, text: &str) {
    // Written beside and moved over, as an operator's editor does it.
    let beside = format!("{path}.new");
    fs::write(&beside, text).expect("a file");
    fs::set_permissions(&beside, fs::Permissions::from_mode(0o600)).expect("rights of a file");
    fs::rename(&beside, path).expect("a file in its place");
}

/// Sends a message; its id.
pub(crate) fn send(store: &Store, options: &[&str]) -> String {
    let sent = store.tenure(&[&["send", "--json"], options].concat()).ok().json();
    sent["id"].as_str().expect("an id").to_owned()
}

/// An answer of a receiver that will not take a message.
pub(crate) fn refusal(words: &str) -> String {
    format!("HTTP/1.1 400 Bad Request\r\ncontent-length: {}\r\n\r\n{words}", words.len())
}
