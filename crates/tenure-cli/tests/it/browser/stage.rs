//! What the scenes need: a dashboard with tokens, relays, and messages.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::harness::{Store, run, signal, tenure, wait_for};

/// A dashboard process, ended with the test.
pub(crate) struct Dashboard {
    child: Child,
    log: String,
    pub(crate) url: String,
    file: String,
    /// Of ada, who may do everything.
    pub(crate) operator: Token,
    /// Of vera, who may look.
    pub(crate) viewer: Token,
    /// Of eve, whose token has ended.
    pub(crate) expired: Token,
}

/// A token, and its line in the file.
pub(crate) struct Token {
    pub(crate) token: String,
    line: String,
}

impl Token {
    fn make(name: &str, may: &str) -> Self {
        let said =
            run(tenure().args(["dashboard", "token", "--name", name, "--allow", may, "--json"])).ok().json();
        let text = |key: &str| said[key].as_str().unwrap_or_else(|| panic!("no {key}: {said}")).to_owned();
        Self { token: text("token"), line: text("line") }
    }
}

impl Dashboard {
    /// One with three tokens: ada may do everything, vera may look, eve's token has ended.
    pub(crate) fn start(store: &Store, name: &str) -> Self {
        Self::start_with(store, name, store.url(), &[])
    }

    /// The same, which reaches the database by another address, or has further options.
    pub(crate) fn start_with(store: &Store, name: &str, db: &str, more: &[&str]) -> Self {
        let file = store.path(&format!("{name}.tokens"));
        let operator = Token::make("ada", "operate,payloads");
        let viewer = Token::make("vera", "view");
        let mut expired = Token::make("eve", "operate");
        expired.line.push_str(" until=2020-01-01T00:00:00Z");
        write_private(&file, &[&operator, &viewer, &expired].map(|token| token.line.as_str()).join("\n"));
        let log = store.path(&format!("{name}.log"));
        let output = File::create(&log).expect("a log");
        let mut command = tenure();
        command.args(["dashboard", "--listen", "127.0.0.1:0", "--tokens", &file]).args(more);
        command.args(["--db", db, "--table-prefix", store.prefix()]);
        let mut child = command.stdout(Stdio::null()).stderr(output).spawn().expect("a process");
        let url = wait_for("the address of a dashboard", || {
            if let Some(status) = child.try_wait().expect("a status") {
                panic!(
                    "the dashboard has ended ({status}): {}",
                    fs::read_to_string(&log).unwrap_or_default()
                );
            }
            let said = fs::read_to_string(&log).unwrap_or_default();
            let at = said.split("dashboard at ").nth(1)?;
            // The line is whole only with its end.
            at.contains('\n').then(|| at.split_whitespace().next().unwrap_or_default().to_owned())
        });
        Self { child, log, url, file, operator, viewer, expired }
    }

    /// The address of a page.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Takes every token but the viewer's away.
    pub(crate) fn revoke(&self) {
        write_private(&self.file, &self.viewer.line);
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
