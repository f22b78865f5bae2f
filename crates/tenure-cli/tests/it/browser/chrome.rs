//! A browser of one test's own, driven over WebDriver. It waits for conditions and never for time alone.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Browsers at once: the machines of tests have two cores.
const AT_ONCE: usize = 2;
/// How long to wait for what must happen on a page.
const PATIENCE: Duration = Duration::from_secs(40);

static PLACES: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// One of the places for a browser.
struct Place;

impl Place {
    fn take() -> Self {
        let mut taken = PLACES.0.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken >= AT_ONCE {
            taken = PLACES.1.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        *taken += 1;
        Self
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *PLACES.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        PLACES.1.notify_one();
    }
}

/// A browser with a profile of its own.
pub(crate) struct Chrome {
    client: Option<Client>,
    runtime: Runtime,
    driver: Child,
    _profile: TempDir,
    _place: Place,
}

impl Chrome {
    /// Starts one; `None`, said aloud, where there is none.
    pub(crate) fn start() -> Option<Self> {
        let (Some(browser), Some(driver)) = (find("chromium"), find("chromedriver")) else {
            let ci = std::env::var("CI").is_ok_and(|value| value == "true" || value == "1");
            assert!(!ci, "chromium or chromedriver is not installed, and with CI=true that is a failure");
            let said = "CHROMIUM IS NOT INSTALLED (chromium, chromium-driver): a test in a browser passes without having been run";
            let _ = writeln!(std::io::stderr(), "{said}");
            return None;
        };
        let place = Place::take();
        let profile = tempfile::tempdir().expect("a directory");
        let mut driver = Command::new(driver)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver");
        let port = port(&mut driver);
        let options = json!({
            "binary": browser,
            "args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "--lang=en",
                "--window-size=1280,800", format!("--user-data-dir={}", profile.path().display()),
            ],
        });
        let capabilities =
            json!({ "goog:chromeOptions": options, "goog:loggingPrefs": { "browser": "ALL" } });
        let Value::Object(capabilities) = capabilities else { unreachable!("it is an object") };
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let client = runtime.block_on(async {
            let connector = hyper_util::client::legacy::connect::HttpConnector::new();
            let mut builder = ClientBuilder::new(connector);
            builder.capabilities(capabilities).connect(&format!("http://127.0.0.1:{port}")).await
        });
        let client = client.expect("a session of the browser");
        Some(Self { client: Some(client), runtime, driver, _profile: profile, _place: place })
    }

    fn client(&self) -> &Client {
        self.client.as_ref().expect("a browser that is not closed")
    }

    /// Goes to an address.
    pub(crate) fn go(&self, url: &str) {
        self.runtime.block_on(self.client().goto(url)).unwrap_or_else(|error| panic!("{url}: {error}"));
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        self.runtime.block_on(self.client().current_url()).unwrap().to_string()
    }

    /// Runs a script of the test's in the page, and answers what it returns.
    pub(crate) fn eval(&self, script: &str) -> Value {
        self.runtime
            .block_on(self.client().execute(script, vec![]))
            .unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// The text that a reader sees in an element; nothing where there is none.
    pub(crate) fn text(&self, css: &str) -> String {
        let script = format!("const e = document.querySelector({}); return e ? e.innerText : ''", json!(css));
        self.eval(&script).as_str().unwrap_or_default().to_owned()
    }

    /// Waits until an element's text fits.
    pub(crate) fn wait_text(&self, css: &str, what: &str, fits: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let text = self.text(css);
            if fits(&text) {
                return text;
            }
            assert!(
                Instant::now() < deadline,
                "waited {PATIENCE:?} in vain for {what} in {css} at {}: {text}",
                self.url()
            );
            std::thread::sleep(Duration::from_millis(30)); // passes time: between two looks
        }
    }

    /// Waits until an element's text holds something.
    pub(crate) fn wait_for(&self, css: &str, words: &str) -> String {
        self.wait_text(css, words, |text| text.contains(words))
    }

    /// Clicks the first element that fits, once it is there.
    pub(crate) fn click(&self, css: &str) {
        self.act(Locator::Css(css), css);
    }

    /// Clicks a button or a link by its words.
    pub(crate) fn press(&self, words: &str) {
        let path = format!(
            "//main//*[self::a or self::button or self::summary][contains(normalize-space(.), \"{words}\")]"
        );
        self.act(Locator::XPath(&path), words);
    }

    fn act(&self, locator: Locator<'_>, what: &str) {
        let clicked = self.runtime.block_on(async {
            let element = self.client().wait().at_most(PATIENCE).for_element(locator).await?;
            element.click().await
        });
        clicked.unwrap_or_else(|error| panic!("{what} at {}: {error}\n{}", self.url(), self.text("body")));
    }

    /// Writes into a field.
    pub(crate) fn write(&self, css: &str, text: &str) {
        let written = self.runtime.block_on(async {
            let element = self.client().wait().at_most(PATIENCE).for_element(Locator::Css(css)).await?;
            element.clear().await?;
            element.send_keys(text).await
        });
        written.unwrap_or_else(|error| panic!("{css} at {}: {error}", self.url()));
    }

    /// Says yes to what the page asks.
    pub(crate) fn accept(&self) {
        self.runtime.block_on(self.client().accept_alert()).expect("a question");
    }

    /// Presses a key wherever the focus is.
    pub(crate) fn key(&self, key: &str) {
        let pressed =
            self.runtime.block_on(async { self.client().active_element().await?.send_keys(key).await });
        pressed.unwrap_or_else(|error| panic!("{key:?}: {error}"));
    }

    /// Logs in with a token.
    pub(crate) fn log_in(&self, at: &str, token: &str) {
        // Until the database is open there is a page that says so, and no login.
        self.go(at);
        self.wait_text("body", "the login", |text| {
            let is_there = text.contains("Log in");
            if !is_there {
                self.go(at);
            }
            is_there
        });
        self.write("input[name=password]", token);
        self.click("form button.main");
        self.wait_for("footer", "You are");
        // That there was no database yet was to be expected.
        drop(self.complaints());
    }

    /// Sends a command of the browser's own protocol.
    pub(crate) fn cdp(&self, command: &str, parameters: Value) -> Value {
        let command = Cdp { command: command.to_owned(), parameters };
        self.runtime.block_on(self.client().issue_cmd(command)).expect("a command of the browser")
    }

    /// A screen of this size, light or dark.
    pub(crate) fn screen(&self, width: u32, height: u32, dark: bool) {
        let phone = width < 600;
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone });
        self.cdp("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = if dark { "dark" } else { "light" };
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.cdp("Emulation.setEmulatedMedia", features);
    }

    /// A picture of the screen.
    pub(crate) fn picture(&self, file: &Path) {
        let bytes = self.runtime.block_on(self.client().screenshot()).expect("a picture");
        assert!(bytes.len() > 5_000, "{}: a picture of nothing", file.display());
        std::fs::write(file, bytes).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }

    /// What the browser complained about since it was asked last: errors of scripts, refused by the policy, not found.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let lines = self.runtime.block_on(self.client().issue_cmd(Log)).expect("the log of the browser");
        let severe = |line: &&Value| line["level"] == "SEVERE";
        let lines = lines.as_array().cloned().unwrap_or_default();
        lines
            .iter()
            .filter(severe)
            .map(|line| line["message"].as_str().unwrap_or_default().to_owned())
            .collect()
    }
}

impl Drop for Chrome {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            let _ = self
                .runtime
                .block_on(async { tokio::time::timeout(Duration::from_secs(5), client.close()).await });
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// The port is in the line that says that it has begun.
fn port(driver: &mut Child) -> u16 {
    let mut lines = BufReader::new(driver.stdout.take().expect("its output")).lines();
    let line = lines.by_ref().map_while(Result::ok).find(|line| line.contains("successfully on port "));
    let line = line.expect("chromedriver says its port");
    let digits: String =
        line.rsplit("on port ").next().unwrap().chars().take_while(char::is_ascii_digit).collect();
    // What it says later is read away, so that it never waits for a reader.
    std::thread::spawn(move || lines.for_each(drop));
    digits.parse().expect("a port")
}

fn find(program: &str) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|folder| folder.join(program)).find(|program| program.is_file());
    found.and_then(|program| program.to_str().map(str::to_owned))
}

/// A command of the browser's own protocol, through the driver.
#[derive(Debug)]
struct Cdp {
    command: String,
    parameters: Value,
}

impl WebDriverCompatibleCommand for Cdp {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({ "cmd": self.command, "params": self.parameters }).to_string()))
    }
}

/// The log of the browser.
#[derive(Debug)]
struct Log;

impl WebDriverCompatibleCommand for Log {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/se/log", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({ "type": "browser" }).to_string()))
    }
}
