//! What is asked on a connection to Postgres: simple queries and executions of the extended protocol.

use super::Asked;

/// Counts them in the stream from client to server.
#[derive(Default)]
pub(in crate::bench) struct Counter {
    unread: Vec<u8>,
    session: Option<Session>,
}

/// What a connection is for, as its greeting says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Session {
    /// Everything on it is for presence.
    Presence,
    Other,
}

impl Counter {
    pub(super) fn eat(&mut self, bytes: &[u8], asked: &Asked) {
        self.unread.extend_from_slice(bytes);
        loop {
            // The greeting has no type byte.
            let head = usize::from(self.session.is_some());
            let Some(length) = self.unread.get(head..head + 4) else { return };
            let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]) as usize;
            let Some(message) = self.unread.get(..head + length) else { return };
            match (self.session, message.first()) {
                (None, _) => self.session = greeting(message),
                (Some(Session::Presence), Some(b'Q' | b'E')) => {
                    asked.ping();
                }
                (Some(Session::Other), Some(b'Q' | b'E')) => {
                    asked.statements(1);
                }
                _ => {}
            }
            self.unread.drain(..head + length.max(1));
        }
    }
}

/// What the session is for; `None` for a question about encryption, after which the greeting is yet to come.
fn greeting(message: &[u8]) -> Option<Session> {
    let [_, _, _, _, major_high, major_low, _, _, parameters @ ..] = message else { return None };
    if [*major_high, *major_low] != [0, 3] {
        return None;
    }
    let texts: Vec<&[u8]> = parameters.split(|byte| *byte == 0).collect();
    let name = texts.chunks(2).find(|pair| pair[0] == b"application_name").and_then(|pair| pair.get(1));
    let presence = name.is_some_and(|name| name.ends_with(b" presence"));
    Some(if presence { Session::Presence } else { Session::Other })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting_of(application: &str) -> Vec<u8> {
        let text = format!("user\0u\0application_name\0{application}\0database\0d\0\0");
        let length = u32::try_from(8 + text.len()).unwrap();
        [&length.to_be_bytes()[..], &[0, 3, 0, 0], text.as_bytes()].concat()
    }

    fn query(sql: &str) -> Vec<u8> {
        let length = u32::try_from(5 + sql.len()).unwrap();
        [b"Q", &length.to_be_bytes()[..], sql.as_bytes(), b"\0"].concat()
    }

    fn counted(stream: &[u8], piece: usize) -> (u64, u64) {
        let (mut counter, asked) = (Counter::default(), Asked::default());
        stream.chunks(piece).for_each(|bytes| counter.eat(bytes, &asked));
        asked.counts()
    }

    #[test]
    fn only_what_the_presence_session_says_counts_as_pings() {
        // The question about encryption comes first.
        let question = [0, 0, 0, 8, 4, 210, 22, 47];
        let said = [query("select pg_backend_pid()"), query("select 1")].concat();
        for piece in [1, 7, 1000] {
            for (name, expected) in [("tenure presence", (0, 2)), ("tenure", (2, 0)), ("presence", (2, 0))] {
                let stream = [&question[..], &greeting_of(name), &said].concat();
                assert_eq!(counted(&stream, piece), expected, "{name}");
                assert_eq!(counted(&[greeting_of(name), said.clone()].concat(), piece), expected, "{name}");
            }
        }
    }
}
