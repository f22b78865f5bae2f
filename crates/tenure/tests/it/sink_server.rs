//! A receiver made by hand, which behaves in every way that a receiver can.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// The request line and the headers.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    /// All headers, names in lower case, in their order.
    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        let split = |line: &str| line.split_once(": ").map(|(n, v)| (n.to_ascii_lowercase(), v.to_owned()));
        self.head.lines().skip(1).filter_map(split).collect()
    }

    /// The value of a header that is there once at most.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let mut values = self.headers().into_iter().filter(|(found, _)| found == name);
        let value = values.next().map(|(_, value)| value);
        assert_eq!(values.next(), None, "{name} is there twice");
        value
    }
}

/// What becomes of a request.
pub(crate) enum Answer {
    /// Bytes, and the connection stays open for the next request.
    Say(Vec<u8>),
    /// Bytes, then the end.
    Close(Vec<u8>),
    /// Bytes, then nothing until the client goes.
    Hang(Vec<u8>),
    /// Bytes, then more of them until the client goes.
    Endless(Vec<u8>),
    /// Bytes one by one, with a pause before each, and again from the start.
    Drip(Vec<u8>, Duration),
}

/// A plain answer.
pub(crate) fn say(status: u16, headers: &[&str], body: &str) -> Answer {
    let mut text = format!("HTTP/1.1 {status} Whatever\r\n");
    for header in headers {
        text += &format!("{header}\r\n");
    }
    if !matches!(status, 204 | 304) {
        text += &format!("content-length: {}\r\n\r\n{body}", body.len());
    } else {
        text += "\r\n";
    }
    Answer::Say(text.into_bytes())
}

type Script = Arc<dyn Fn(&Asked) -> Answer + Send + Sync>;

/// A running receiver. Ends with the test's runtime.
#[derive(Clone)]
pub(crate) struct Receiver {
    pub(crate) port: u16,
    pub(crate) connections: Arc<AtomicUsize>,
    /// What an endless answer has sent.
    pub(crate) sent: Arc<AtomicUsize>,
    pub(crate) asked: Arc<Mutex<Vec<Asked>>>,
    /// How many connections are over.
    pub(crate) over: Arc<tokio::sync::watch::Sender<usize>>,
}

impl Receiver {
    pub(crate) async fn start(script: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        Self::with_tls(None, script).await
    }

    pub(crate) async fn with_tls(
        tls: Option<TlsAcceptor>,
        script: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let receiver = Self {
            port: listener.local_addr().unwrap().port(),
            connections: Arc::default(),
            sent: Arc::default(),
            asked: Arc::default(),
            over: Arc::new(tokio::sync::watch::Sender::new(0)),
        };
        let (ours, script): (_, Script) = (receiver.clone(), Arc::new(script));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                ours.connections.fetch_add(1, Ordering::SeqCst);
                let (ours, script, tls) = (ours.clone(), script.clone(), tls.clone());
                tokio::spawn(async move {
                    let _ = match tls {
                        None => ours.serve(stream, &script).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => ours.serve(stream, &script).await,
                            Err(error) => Err(error),
                        },
                    };
                    ours.over.send_modify(|over| *over += 1);
                });
            }
        });
        receiver
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/in", self.port)
    }

    pub(crate) fn last(&self) -> Asked {
        self.asked.lock().unwrap().last().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Waits until so many connections are over.
    pub(crate) async fn wait_over(&self, count: usize) {
        let mut over = self.over.subscribe();
        let waited = tokio::time::timeout(Duration::from_secs(20), over.wait_for(|over| *over >= count));
        waited.await.expect("the connection is not closed").unwrap();
    }

    async fn serve(
        &self,
        mut stream: impl AsyncRead + AsyncWrite + Unpin,
        script: &Script,
    ) -> io::Result<()> {
        while let Some(asked) = read(&mut stream).await? {
            self.asked.lock().unwrap().push(asked.clone());
            match script(&asked) {
                Answer::Say(bytes) => {
                    stream.write_all(&bytes).await?;
                    stream.flush().await?;
                }
                Answer::Close(bytes) => {
                    stream.write_all(&bytes).await?;
                    return stream.shutdown().await;
                }
                Answer::Hang(bytes) => {
                    stream.write_all(&bytes).await?;
                    stream.flush().await?;
                    // The client says nothing more, but ends.
                    let _ = stream.read(&mut [0; 16]).await;
                    return Ok(());
                }
                Answer::Endless(bytes) => {
                    stream.write_all(&bytes).await?;
                    loop {
                        stream.write_all(&[b'x'; 16 * 1024]).await?;
                        self.sent.fetch_add(16 * 1024, Ordering::SeqCst);
                    }
                }
                Answer::Drip(bytes, pause) => {
                    for byte in bytes.iter().cycle() {
                        // passes time: a slow receiver
                        tokio::time::sleep(pause).await;
                        stream.write_all(&[*byte]).await?;
                    }
                }
            }
        }
        Ok(())
    }
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Asked>> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).expect("headers are ASCII");
    let mut asked = Asked { head, body: bytes[end + 4..].to_vec() };
    let length: usize = asked.header("content-length").unwrap_or_default().parse().expect("a length");
    while asked.body.len() < length {
        if stream.read_buf(&mut asked.body).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(asked))
}
