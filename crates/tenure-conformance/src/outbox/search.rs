//! Finding messages: by pages, by time, and no further than was asked for.
