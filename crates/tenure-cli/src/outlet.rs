//! Writing without waiting for a reader.
//!
//! Whoever looks after a command must not stand still because nobody reads what it says. Lines go through a queue to a
//! thread that does the waiting; when the queue is full, the oldest are left out, so that the last word is heard.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// How many lines wait for a reader at most.
const LINES_MAX: usize = 256;

/// One stream, and the thread that writes to it.
pub(crate) struct Outlet {
    /// `None` when the system has no thread to give; then nothing is said.
    queue: Option<Arc<Queue>>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Vec<u8>>,
    /// A line is being written.
    busy: bool,
    written: u64,
}

static STDOUT: OnceLock<Outlet> = OnceLock::new();
static STDERR: OnceLock<Outlet> = OnceLock::new();

/// Standard output, for what must not wait.
pub(crate) fn stdout() -> &'static Outlet {
    STDOUT.get_or_init(|| Outlet::start(io::stdout()))
}

/// Standard error.
pub(crate) fn stderr() -> &'static Outlet {
    STDERR.get_or_init(|| Outlet::start(io::stderr()))
}

/// Waits until everything is written; gives up on a stream to which nothing was for `patience`.
pub(crate) fn flush(patience: Duration) {
    for outlet in [&STDOUT, &STDERR].into_iter().filter_map(OnceLock::get) {
        outlet.flush(patience);
    }
}

impl Outlet {
    fn start(stream: impl Write + Send + 'static) -> Self {
        let queue = Arc::new(Queue::default());
        let theirs = Arc::clone(&queue);
        let drain = move || theirs.drain(stream);
        let thread = thread::Builder::new().name("tenure-outlet".into()).spawn(drain);
        Self { queue: thread.is_ok().then_some(queue) }
    }

    /// Takes bytes that end with a line, and returns at once.
    pub(crate) fn put(&self, bytes: Vec<u8>) {
        let Some(queue) = &self.queue else { return };
        let mut state = queue.lock();
        if state.waiting.len() >= LINES_MAX {
            state.waiting.pop_front();
        }
        state.waiting.push_back(bytes);
        queue.changed.notify_all();
    }

    fn flush(&self, patience: Duration) {
        let Some(queue) = &self.queue else { return };
        let mut state = queue.lock();
        while !state.is_done() {
            let written = state.written;
            let stuck = |state: &mut State| !state.is_done() && state.written == written;
            let waited = queue.changed.wait_timeout_while(state, patience, stuck);
            let (after, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            if waited.timed_out() {
                return;
            }
            state = after;
        }
    }
}

impl State {
    fn is_done(&self) -> bool {
        !self.busy && self.waiting.is_empty()
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn drain(&self, mut stream: impl Write) {
        loop {
            let bytes = self.next();
            // A reader that went away (`tenure … | head`) is no error.
            let _ = stream.write_all(&bytes).and_then(|()| stream.flush());
            let mut state = self.lock();
            state.busy = false;
            state.written += 1;
            self.changed.notify_all();
        }
    }

    fn next(&self) -> Vec<u8> {
        let idle = |state: &mut State| state.waiting.is_empty();
        let mut state = self.changed.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
        state.busy = true;
        state.waiting.pop_front().unwrap_or_default()
    }
}

/// Lets `tracing` write through an outlet: it hands over a whole line at a time.
pub(crate) struct LogLine;

impl Write for LogLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        stderr().put(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{PipeReader, PipeWriter, Read};
    use std::time::Instant;

    fn full_pipe() -> (PipeReader, PipeWriter) {
        let (reader, writer) = io::pipe().unwrap();
        let capacity = nix::fcntl::fcntl(&writer, nix::fcntl::FcntlArg::F_GETPIPE_SZ).unwrap();
        (&writer).write_all(&vec![b'\n'; usize::try_from(capacity).unwrap()]).unwrap();
        (reader, writer)
    }

    #[test]
    fn a_stream_that_nobody_reads_holds_nobody_up() {
        let (_reader, writer) = full_pipe();
        let outlet = Outlet::start(writer);
        let began = Instant::now();
        for _ in 0..LINES_MAX * 2 {
            outlet.put(b"line\n".to_vec());
        }
        outlet.flush(Duration::from_millis(50));
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }

    #[test]
    fn a_late_reader_hears_the_last_word() {
        let (mut reader, writer) = full_pipe();
        let outlet = Outlet::start(writer);
        let last = LINES_MAX * 2;
        for number in 1..=last {
            outlet.put(format!("line {number}\n").into_bytes());
        }
        let read = thread::spawn(move || {
            let (mut text, mut buffer) = (String::new(), [0; 4096]);
            while !text.ends_with(&format!("\nline {last}\n")) {
                let count = reader.read(&mut buffer).unwrap();
                text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
            }
            text
        });
        outlet.flush(Duration::from_secs(20));
        let text = read.join().unwrap();
        assert!(!text.contains(&format!("\nline {}\n", LINES_MAX / 2)), "the oldest are left out");
    }
}
