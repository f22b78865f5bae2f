//! A connection whose other end must read: one that does not take its answer, or takes it by drops, is cut.
//!
//! Time in which nothing can be written adds up; every byte that is taken pays some of it back. So a slow line is borne as long
//! as it keeps to a least rate, and one that stands still only for a while.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::limits::{READ_RATE_MIN, TAKE_WITHIN};

/// A stream, and how long its other end has kept it waiting.
#[derive(Debug)]
pub(crate) struct Paced<S> {
    stream: S,
    /// How long nothing could be written, but for what was paid back.
    waited: Duration,
    /// Since when nothing can be written, and when it is cut.
    stands: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl<S> Paced<S> {
    pub(crate) const fn new(stream: S) -> Self {
        Self { stream, waited: Duration::ZERO, stands: None }
    }

    /// What the stream says, unless it says for too long that it can take nothing.
    fn keep(&mut self, cx: &mut Context<'_>, said: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match said {
            Poll::Ready(taken) => {
                if let Some((since, _)) = self.stands.take() {
                    self.waited += since.elapsed();
                }
                if let Ok(bytes) = taken {
                    let paid = Duration::from_secs_f64(bytes as f64 / READ_RATE_MIN as f64);
                    self.waited = self.waited.saturating_sub(paid);
                }
                Poll::Ready(taken)
            }
            Poll::Pending => {
                let left = TAKE_WITHIN.saturating_sub(self.waited);
                let (_, cut) =
                    self.stands.get_or_insert_with(|| (Instant::now(), Box::pin(tokio::time::sleep(left))));
                ready!(cut.as_mut().poll(cx));
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the other end does not read")))
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, to)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let said = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.keep(cx, said)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let said = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.keep(cx, said)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    // A socket has nothing of its own to flush, so no time passes here or at the end.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_that_stops_reading_is_cut() {
        let (ours, theirs) = tokio::io::duplex(1_000);
        let began = Instant::now();
        let error = Paced::new(ours).write_all(&[0; 5_000]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() >= TAKE_WITHIN && began.elapsed() < TAKE_WITHIN * 2, "{:?}", began.elapsed());
        drop(theirs);
    }

    /// Reads so many bytes every second; how long it was borne.
    async fn drops(bytes: usize) -> (io::Result<()>, Duration) {
        let (ours, mut theirs) = tokio::io::duplex(1_000);
        let reads = tokio::spawn(async move {
            let mut to = vec![0; bytes];
            while theirs.read_exact(&mut to).await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        let began = Instant::now();
        let wrote = Paced::new(ours).write_all(&vec![0; bytes * 200]).await;
        reads.abort();
        (wrote, began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_reads_by_drops_is_cut_and_one_that_reads_slowly_is_not() {
        let (wrote, after) = drops(READ_RATE_MIN / 4).await;
        assert_eq!(wrote.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(after < TAKE_WITHIN * 3, "{after:?}");
        let (wrote, after) = drops(READ_RATE_MIN * 2).await;
        assert!(wrote.is_ok() && after > TAKE_WITHIN * 5, "{after:?}");
    }
}
