//! Pipes that nobody reads.

use std::fs::OpenOptions;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// A pipe that takes nothing more, until somebody reads.
pub(crate) fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, writer) = io::pipe().expect("a pipe");
    fill(&format!("/proc/self/fd/{}", reader.as_raw_fd()));
    (reader, writer)
}

/// Fills the pipe behind a path of `/proc/PID/fd` with empty lines.
pub(crate) fn fill(path: &str) {
    let mut options = OpenOptions::new();
    let mut pipe =
        options.write(true).custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits()).open(path).expect("a pipe");
    // First in large pieces, then to the last byte.
    for piece in [4096, 1] {
        while pipe.write(&vec![b'\n'; piece]).is_ok() {}
    }
}
