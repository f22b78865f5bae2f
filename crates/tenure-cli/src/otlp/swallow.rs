//! A collector that takes everything and keeps nothing: what telemetry costs is measured against it.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

const TAKEN: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

/// Starts it on a free port of this machine; where it is.
pub(super) fn start() -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", listener.local_addr()?);
    std::thread::Builder::new().name("swallow".to_owned()).spawn(move || {
        for stream in listener.incoming().flatten() {
            // Few connections come, and all of them from this process.
            std::thread::spawn(move || swallow(stream));
        }
    })?;
    Ok(url)
}

fn swallow(stream: TcpStream) -> io::Result<()> {
    let mut answers = stream.try_clone()?;
    let mut requests = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if requests.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        io::copy(&mut requests.by_ref().take(length), &mut io::sink())?;
        answers.write_all(TAKEN)?;
    }
}
