//! Noticing that someone wrote to the log (`-wal`), which every commit does, by any process.
//!
//! The log is never opened here: closing it would drop SQLite's own locks on it. It is watched by its path, and its
//! directory too, for the log may not be there yet. Where the system cannot tell, the file is looked at every 40 ms.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

/// How often the log is looked at where the system does not tell.
const LOOK_EVERY: Duration = Duration::from_millis(40);

/// The watch, for the thread that waits.
#[derive(Debug)]
pub(crate) enum LogWatch {
    #[cfg(target_os = "linux")]
    Told(std::sync::Arc<told::Told>),
    Looking(Looking),
}

/// Silences the watch for a while, from elsewhere. Only where the kernel tells of each write: by a look at the file, two
/// that follow each other closely cannot be told from one.
#[derive(Debug)]
pub(crate) enum Ear {
    #[cfg(target_os = "linux")]
    Told(std::sync::Arc<told::Told>),
}

/// Ends the wait of the thread, from elsewhere.
#[derive(Debug)]
pub(crate) enum Nudge {
    #[cfg(target_os = "linux")]
    Event(std::sync::Arc<nix::sys::eventfd::EventFd>),
    Channel(mpsc::Sender<()>),
}

impl LogWatch {
    /// Watches the log of the database at this path.
    pub(crate) fn of(database: &Path) -> (Self, Nudge) {
        let mut log = database.as_os_str().to_owned();
        log.push("-wal");
        Self::of_file(log.into())
    }

    /// Watches another file in the same way.
    pub(crate) fn of_file(log: PathBuf) -> (Self, Nudge) {
        #[cfg(target_os = "linux")]
        match told::Told::new(&log) {
            Ok((told, nudge)) => return (Self::Told(told.into()), Nudge::Event(nudge)),
            // There is a limit to how many a user may have.
            Err(error) => tracing::warn!(%error, "the log cannot be watched; it is looked at every 40 ms"),
        }
        let (nudge, nudged) = mpsc::channel();
        let seen = Look::at(&log);
        (Self::Looking(Looking { log, seen, nudged }), Nudge::Channel(nudge))
    }

    /// Waits until the log may have been written to, or someone nudges. Answers whether it may have been written to. Unless
    /// `listening`, that is not looked for.
    pub(crate) fn wait(&mut self, listening: bool) -> io::Result<bool> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Told(told) => told.wait(listening),
            Self::Looking(looking) => Ok(looking.wait(listening)),
        }
    }

    /// The ear of this watch, where it has one.
    pub(crate) fn ear(&self) -> Option<Ear> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Told(told) => Some(Ear::Told(told.clone())),
            Self::Looking(_) => None,
        }
    }

    /// Forgets what was written up to now.
    pub(crate) fn forget(&mut self) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Told(told) => told.forget(),
            Self::Looking(looking) => {
                looking.seen = Look::at(&looking.log);
                Ok(())
            }
        }
    }
}

impl Ear {
    /// Whether the watch is to tell of what is written from now on.
    pub(crate) fn listen(&self, on: bool) -> io::Result<()> {
        match *self {
            #[cfg(target_os = "linux")]
            Self::Told(ref told) => told.listen(on),
        }
    }
}

impl Nudge {
    pub(crate) fn nudge(&self) {
        match self {
            #[cfg(target_os = "linux")]
            Self::Event(event) => {
                let _ = event.write(1);
            }
            Self::Channel(channel) => {
                let _ = channel.send(());
            }
        }
    }
}

/// Looks at the file again and again.
#[derive(Debug)]
pub(crate) struct Looking {
    log: PathBuf,
    seen: Look,
    nudged: mpsc::Receiver<()>,
}

/// What a look at the file shows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Look(Option<(u64, Option<SystemTime>)>);

impl Look {
    fn at(log: &Path) -> Self {
        Self(fs::metadata(log).ok().map(|found| (found.len(), found.modified().ok())))
    }
}

impl Looking {
    fn wait(&mut self, listening: bool) -> bool {
        let pause = if listening { LOOK_EVERY } else { Duration::MAX };
        loop {
            if listening && Look::at(&self.log) != self.seen {
                return true;
            }
            match self.nudged.recv_timeout(pause) {
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => return false,
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod told {
    //! The kernel tells of every write.

    use std::ffi::OsString;
    use std::io;
    use std::os::fd::AsFd;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use nix::errno::Errno;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use nix::sys::eventfd::{EfdFlags, EventFd};
    use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

    /// The kernel's watch on the log, and on its directory for a log that is made later.
    #[derive(Debug)]
    pub(crate) struct Told {
        log: PathBuf,
        name: OsString,
        inotify: Inotify,
        nudged: Arc<EventFd>,
    }

    impl Told {
        pub(super) fn new(log: &Path) -> io::Result<(Self, Arc<EventFd>)> {
            let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
            let nudged = Arc::new(EventFd::from_value_and_flags(0, flags)?);
            let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?;
            let directory = log.parent().ok_or(io::ErrorKind::NotFound)?;
            inotify.add_watch(directory, AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO)?;
            let name = log.file_name().unwrap_or_default().to_owned();
            let told = Self { log: log.to_owned(), name, inotify, nudged: nudged.clone() };
            told.watch_log()?;
            Ok((told, nudged))
        }

        /// One that is not there yet is watched when the directory tells of it.
        fn watch_log(&self) -> io::Result<()> {
            match self.inotify.add_watch(&self.log, AddWatchFlags::IN_MODIFY) {
                Ok(_) | Err(Errno::ENOENT) => Ok(()),
                Err(error) => Err(error.into()),
            }
        }

        /// Another mask takes the place of the one before, and nothing tells of that. Whether the log itself goes is known
        /// elsewhere, and an empty mask is refused.
        pub(super) fn listen(&self, on: bool) -> io::Result<()> {
            let mask = if on { AddWatchFlags::IN_MODIFY } else { AddWatchFlags::IN_DELETE_SELF };
            self.inotify.add_watch(&self.log, mask)?;
            Ok(())
        }

        pub(super) fn wait(&self, listening: bool) -> io::Result<bool> {
            let nudge = PollFd::new(self.nudged.as_fd(), PollFlags::POLLIN);
            let written = PollFd::new(self.inotify.as_fd(), PollFlags::POLLIN);
            let mut both = [nudge, written];
            let watched = if listening { &mut both[..] } else { &mut both[..1] };
            match poll(watched, PollTimeout::NONE) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
            let changed = listening && both[1].any().unwrap_or(false);
            // Empties the counter; that it was empty is no failure.
            let _ = self.nudged.read();
            Ok(changed)
        }

        pub(super) fn forget(&self) -> io::Result<()> {
            loop {
                match self.inotify.read_events() {
                    Ok(events) => {
                        if events.iter().any(|event| event.name.as_ref() == Some(&self.name)) {
                            self.watch_log()?;
                        }
                    }
                    Err(Errno::EAGAIN) => return Ok(()),
                    Err(Errno::EINTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
}
