//! Canaries: secrets that must show nowhere.

use std::time::Duration;

use tenure::core::contract::Sink as _;
use tenure::sink::{Http, HttpOptions, Secret, SinkOptions, from_url};
use tokio::net::TcpListener;

use crate::sink::message;
use crate::sink_server::{Answer, Receiver, say};

const TOKEN: &str = "canary-t0ken-abcdef";
const SIGNING: &str = "canary-s1gning-abcdef";
const QUERY: &str = "canary-qu3ry-abcdef";
const PATH: &str = "canary-p4th-abcdef";
const USER: &str = "canary-us3r-abcdef";

fn options() -> HttpOptions {
    HttpOptions {
        token: Some(TOKEN.into()),
        signing_secret: Some(SIGNING.into()),
        timeout: Duration::from_millis(500),
        ..HttpOptions::default()
    }
}

fn clean(what: impl std::fmt::Debug) {
    let shown = format!("{what:?}");
    // Parts of them neither.
    for canary in [TOKEN, SIGNING, QUERY, PATH, USER] {
        let part = &canary[7..12];
        assert!(!shown.contains(part), "{canary} shows in {shown}");
    }
}

#[test]
fn secrets_show_in_no_debug() {
    clean(options());
    clean(Secret::new(TOKEN));
    let url = format!("http://127.0.0.1:1/{PATH}?key={QUERY}");
    let sink = Http::new(&url, Default::default(), options()).unwrap();
    clean(sink.name());
    clean(&sink);
    clean(SinkOptions { http: options(), ..SinkOptions::default() });
}

#[test]
fn a_url_that_cannot_be_used_is_not_repeated() {
    let urls = [
        format!("http://{USER}:{TOKEN}@host/{PATH}?{QUERY}"),
        format!("https://{USER}@host/"),
        format!("https://:{TOKEN}@host/"),
        format!("http://ho st/{PATH}"),
        format!("http://host:{TOKEN}/"),
        format!("http://host:99999/{PATH}?{QUERY}"),
        format!("http://[{USER}]/{PATH}"),
        format!("http:///?{QUERY}"),
        format!("ftp://{USER}:{TOKEN}@host/{PATH}"),
        format!("{USER}:{TOKEN}@host/{PATH}"),
        format!("{PATH}/?{QUERY}"),
        format!("stdout:{TOKEN}"),
    ];
    for url in urls {
        let made = from_url(&url, SinkOptions { http: options(), ..SinkOptions::default() });
        match made {
            // `http:///?q` means `http://?q` to a browser: no host.
            Ok(sink) => panic!("{url} made {sink:?}"),
            Err(error) => {
                clean(&error);
                clean(error.to_string());
            }
        }
    }
    let user = Http::new("https://u:p@host/", Default::default(), options()).unwrap_err().to_string();
    assert!(user.contains("holds a user or password") && user.contains("token instead"), "{user}");
    let unusable = HttpOptions { token: Some(format!("{TOKEN} \r\n").as_str().into()), ..options() };
    clean(Http::new("https://host/", Default::default(), unusable).unwrap_err().to_string());
    let no_pem = options().root_certificate(TOKEN);
    clean(Http::new("https://host/", Default::default(), no_pem).unwrap_err().to_string());
}

#[tokio::test]
async fn an_answer_that_repeats_the_request_gives_no_secret_away() {
    for status in [200, 302, 400, 401, 500, 503] {
        let echo = move |asked: &crate::sink_server::Asked| {
            let location = format!("location: http://{USER}:{TOKEN}@127.0.0.1/{PATH}?{QUERY}");
            say(status, &[&location], &format!("{} and {SIGNING}", asked.header("authorization").unwrap()))
        };
        let receiver = Receiver::start(echo).await;
        let sink =
            Http::new(&format!("{}?key={QUERY}", receiver.url()), Default::default(), options()).unwrap();
        let verdict = sink.deliver(&message("A")).await;
        assert!(receiver.last().head.contains(TOKEN), "the token was sent");
        assert!(receiver.last().head.contains(QUERY), "the query was sent");
        assert!(status < 400 || format!("{verdict:?}").contains("Bearer *** and ***"), "{verdict:?}");
        clean(verdict);
    }
    // The whole request, as debug pages show it.
    let receiver = Receiver::start(|asked| say(500, &[], &asked.head)).await;
    let url = format!("http://127.0.0.1:{}/?key={QUERY}", receiver.port);
    let verdict = Http::new(&url, Default::default(), options()).unwrap().deliver(&message("A")).await;
    assert!(format!("{verdict:?}").contains("POST /?*** HTTP/1.1"), "{verdict:?}");
    clean(verdict);
}

#[tokio::test]
async fn a_failure_gives_no_secret_away() {
    let answers: [fn() -> Answer; 4] = [
        || Answer::Hang(Vec::new()),
        || Answer::Close(Vec::new()),
        || Answer::Close(b"rubbish".to_vec()),
        || {
            Answer::Close(
                format!("HTTP/1.1 500 X\r\ncontent-length: 99\r\n\r\n{}", &TOKEN[..13]).into_bytes(),
            )
        },
    ];
    for answer in answers {
        let receiver = Receiver::start(move |_| answer()).await;
        for scheme in ["http", "https"] {
            let url = format!("{scheme}://127.0.0.1:{}/{PATH}?{QUERY}", receiver.port);
            let pem = rcgen::generate_simple_self_signed(["localhost".into()]).unwrap().cert.pem();
            let sink = Http::new(&url, Default::default(), options().root_certificate(pem)).unwrap();
            clean(sink.deliver(&message("A")).await);
        }
    }
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/{PATH}?{QUERY}");
    clean(Http::new(&url, Default::default(), options()).unwrap().deliver(&message("A")).await);
}
