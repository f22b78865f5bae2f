//! What is asked on a connection to MySQL or MariaDB: texts, of which each statement counts, and executions of what was
//! prepared. Without TLS, that is: what is encrypted cannot be counted.

use super::Asked;

/// A text of one or more statements.
const QUERY: u8 = 0x03;
/// A sign of life is asked for.
const PING: u8 = 0x0e;
/// What was prepared is run.
const EXECUTE: u8 = 0x17;
/// The session of a holder's presence says this of itself, before all else.
const PRESENCE: &[u8] = b"@tenure = 'presence'";

/// Counts them in the stream from client to server.
#[derive(Default)]
pub(in crate::bench) struct Counter {
    unread: Vec<u8>,
    greeted: bool,
    /// Everything that follows is for presence.
    presence: bool,
}

impl Counter {
    pub(super) fn eat(&mut self, bytes: &[u8], asked: &Asked) {
        self.unread.extend_from_slice(bytes);
        while let Some(&[low, middle, high, number]) = self.unread.first_chunk::<4>() {
            let end = 4 + u32::from_le_bytes([low, middle, high, 0]) as usize;
            let Some(packet) = self.unread.get(4..end) else { return };
            // A greeting answers the server's; every command begins anew, and what goes on counts up.
            match (number, packet.split_first()) {
                (0, Some((command, text))) if self.greeted => {
                    self.presence |= *command == QUERY && says(text, PRESENCE);
                    match *command {
                        QUERY | EXECUTE | PING if self.presence => asked.ping(),
                        QUERY => asked.statements(statements(text)),
                        EXECUTE => asked.statements(1),
                        _ => {}
                    }
                }
                _ => self.greeted = true,
            }
            self.unread.drain(..end);
        }
    }
}

/// How many statements a text holds; what stands in quotes divides nothing.
fn statements(text: &[u8]) -> u64 {
    let (mut count, mut quote, mut said) = (0, None, false);
    for byte in text {
        match (quote, byte) {
            (Some(end), byte) if end == *byte => quote = None,
            (Some(_), _) => {}
            (None, b';') => {
                count += u64::from(std::mem::take(&mut said));
            }
            (None, byte) => {
                said |= !byte.is_ascii_whitespace();
                quote = matches!(byte, b'\'' | b'"' | b'`').then_some(*byte);
            }
        }
    }
    count + u64::from(said)
}

fn says(text: &[u8], words: &[u8]) -> bool {
    text.windows(words.len()).any(|window| window.eq_ignore_ascii_case(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_le_bytes();
        [&length[..3], &[number], payload].concat()
    }

    fn query(sql: &str) -> Vec<u8> {
        packet(0, &[&[QUERY], sql.as_bytes()].concat())
    }

    fn counted(stream: &[u8], piece: usize) -> (u64, u64) {
        let (mut counter, asked) = (Counter::default(), Asked::default());
        stream.chunks(piece).for_each(|bytes| counter.eat(bytes, &asked));
        asked.counts()
    }

    #[test]
    fn each_statement_of_a_text_counts_and_a_greeting_does_not() {
        let greeting = [packet(1, b"\x85\xa6"), packet(3, b"more of it")].concat();
        let said = [
            query("begin;\nselect ';', `a;b`;\n commit; "),
            packet(0, &[EXECUTE, 1, 0, 0, 0]),
            packet(0, &[PING]),
        ];
        for piece in [1, 5, 1000] {
            assert_eq!(counted(&[greeting.clone(), said.concat()].concat(), piece), (4, 0));
        }
    }

    #[test]
    fn only_what_the_presence_session_says_counts_as_pings() {
        let stream = [
            packet(1, b"hello"),
            query("SET SESSION wait_timeout = 2, @tenure = 'presence'; SELECT CONNECTION_ID()"),
            query("select 1; select 2"),
            packet(0, &[PING]),
        ];
        assert_eq!(counted(&stream.concat(), 3), (0, 3));
    }
}
