//! Behind a proxy that is set up as the guide says for nginx: the login, live views and changes work.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use super::chrome::Chrome;
use super::stage::{Dashboard, send};
use crate::harness::{Store, tests_on};

tests_on!(sqlite: behind_a_proxy_as_the_guide_has_it_everything_works);

/// What browsers know it by: a name of this machine, which they trust with cookies without TLS.
const NAME: &str = "ops.localhost";

/// Which `Host` the proxy sends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Host {
    /// nginx's `$http_host`: what the browser sent.
    AsSent,
    /// nginx's `$host`: the same without its port.
    WithoutPort,
}

/// What nginx does with `location / { proxy_pass …; }`: HTTP/1.0 and a connection for each request. Answers where it listens.
fn proxy(upstream: String, host: Host) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let upstream = upstream.clone();
            thread::spawn(move || pass(client, &upstream, host));
        }
    });
    port
}

/// One request. The browser is told that the connection ends with the answer.
fn pass(client: TcpStream, upstream: &str, host: Host) -> Option<()> {
    let mut reader = BufReader::new(client.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut head = line.replace("HTTP/1.1", "HTTP/1.0");
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? <= 2 {
            break;
        }
        let (name, value) = line.split_once(':')?;
        match name.to_ascii_lowercase().as_str() {
            "connection" => continue,
            "host" if host == Host::WithoutPort => line = format!("Host: {NAME}\r\n"),
            "content-length" => length = value.trim().parse().ok()?,
            _ => {}
        }
        head.push_str(&line);
    }
    head.push_str("X-Forwarded-For: 203.0.113.7\r\nX-Forwarded-Proto: https\r\nX-Real-IP: 203.0.113.7\r\n");
    head.push_str("Connection: close\r\n\r\n");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut server = TcpStream::connect(upstream).ok()?;
    server.write_all(head.as_bytes()).ok()?;
    server.write_all(&body).ok()?;
    // As it comes, and not when it is whole: `proxy_buffering off`.
    let _ = std::io::copy(&mut server, &mut &client);
    client.shutdown(Shutdown::Both).ok()
}

fn behind_a_proxy_as_the_guide_has_it_everything_works(store: &Store) {
    let Some(chrome) = Chrome::start() else { return };
    store.tenure(&["migrate"]).ok();
    let dashboard = Dashboard::start_with(store, "dashboard", store.url(), &["--host", NAME]);
    let upstream = dashboard.url.strip_prefix("http://").unwrap().strip_suffix("/_tenure").unwrap();
    let port = proxy(upstream.to_owned(), Host::AsSent);
    let at = format!("http://{NAME}:{port}/_tenure");
    // The root leads to the dashboard, by an address that the browser can follow.
    chrome.go(&format!("http://{NAME}:{port}/"));
    chrome.log_in(&at, &dashboard.operator.token);
    assert!(chrome.url().starts_with(&at), "{}", chrome.url());
    chrome.go(&format!("{at}/outbox"));
    chrome.wait_for("#live", "live");
    // A live view is not held back by the proxy.
    send(store, &["--topic", "orders", "{}"]);
    chrome.wait_text("main .tiles", "a message", |text| text.contains("waits\n1"));
    chrome.click("footer form button");
    chrome.wait_for("body", "Log in");
    assert_eq!(chrome.complaints(), Vec::<String>::new());
    // On a port of its own, the name without the port is not what the browser calls it, and a change is refused.
    let port = proxy(upstream.to_owned(), Host::WithoutPort);
    chrome.go(&format!("http://{NAME}:{port}/_tenure/login"));
    chrome.write("input[name=password]", &dashboard.operator.token);
    chrome.click("form button.main");
    chrome.wait_for("body", "the request comes from a page of another site");
}
