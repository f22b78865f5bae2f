//! Tokens: who has one is who the line says.
//!
//! ```text
//! # name  permissions       SHA-256 of the token                    until when
//! ada     operate,payloads  sha256:0f3a…(64 hexadecimal digits)     until=2027-01-31T00:00:00Z
//! ```
//!
//! Only hashes are kept. They are plain SHA-256, which is right for secrets of high entropy and wrong for passwords; hence
//! tokens that people think of are refused as far as their length tells. What comes in is compared with every line, in
//! the same time wherever it differs.

use std::fmt;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use tenure_core::observe::ACTOR_MAX_BYTES;

use super::file::TokenFile;
use super::{Permissions, SigningKey, moment};

/// The most lines of tokens.
pub const TOKENS_MAX: usize = 1_000;
/// The fewest characters of a token that is given in clear.
pub const TOKEN_MIN_CHARS: usize = 20;
/// The longest token that is looked up at all.
const TOKEN_MAX_BYTES: usize = 512;

/// The tokens that a dashboard knows. Make them by [`Tokens::make`], or on the command line by `tenure dashboard token`.
pub struct Tokens {
    lines: Mutex<Vec<Line>>,
    file: Option<TokenFile>,
    /// Signs sessions where no key was given.
    key: SigningKey,
}

/// One token: whose it is, and what it allows. It holds the hash only.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) permissions: Permissions,
    pub(super) hash: [u8; 32],
    pub(super) until: Option<SystemTime>,
}

/// Something is wrong with tokens or keys. The messages never hold one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokensError {
    /// There is no line.
    #[error("no tokens are given: make one with `tenure dashboard token --name NAME --allow view`")]
    None,
    /// Too many lines.
    #[error("there are more than {TOKENS_MAX} tokens")]
    TooMany,
    /// A line is not as it should be.
    #[error(
        "line {line} of the tokens: {why}; a line is `name permissions sha256:HEX [until=2027-01-31T00:00:00Z]`"
    )]
    Line {
        /// Counted from one.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// A word that is no permission.
    #[error("permissions are `view`, `operate` and `payloads`, with commas between")]
    Permission,
    /// A name that cannot be an operator's.
    #[error(
        "a name has 1 to {ACTOR_MAX_BYTES} bytes, and no blanks, colons, semicolons, `#` or control characters"
    )]
    Name,
    /// A token in clear that is too short.
    #[error(
        "the token has {chars} characters and needs {TOKEN_MIN_CHARS}: only its SHA-256 is kept, so it has to be \
         random and long; make one with `tenure dashboard token`"
    )]
    ShortToken {
        /// How many it has.
        chars: usize,
    },
    /// A key that is too short.
    #[error("the signing key has {bytes} bytes and needs 32 random ones at least")]
    ShortKey {
        /// How many it has.
        bytes: usize,
    },
    /// Others may read the file.
    #[error("others than its owner may read the tokens in {path} (mode {mode:o}): run `chmod 600 {path}`")]
    ReadByOthers {
        /// Which file.
        path: String,
        /// Its mode.
        mode: u32,
    },
    /// The file cannot be read.
    #[error("the tokens in {path} cannot be read: {message}")]
    File {
        /// Which file.
        path: String,
        /// Why.
        message: String,
    },
    /// The operating system gave no random bytes.
    #[error("the operating system gave no random bytes")]
    NoRandomness,
}

impl Tokens {
    /// Reads lines; `;` ends one as well, so that they can stand in a variable of the environment.
    pub fn parse(text: &str) -> Result<Self, TokensError> {
        let lines = read_lines(text).collect::<Result<Vec<_>, _>>()?;
        Self::of(lines)
    }

    /// Reads a file, and reads it again when it changes: a line that is taken out ends its sessions within seconds. Refused
    /// when others than the owner may read it. While it is away nobody is let in.
    pub fn file(path: impl AsRef<Path>) -> Result<Self, TokensError> {
        let (file, text) = TokenFile::open(path.as_ref())?;
        let mut tokens = Self::parse(&text)?;
        tokens.file = Some(file);
        Ok(tokens)
    }

    /// One token in clear, of an operator by that name.
    pub fn in_clear(name: &str, permissions: Permissions, token: &str) -> Result<Self, TokensError> {
        check_name(name)?;
        let chars = token.chars().count();
        if chars < TOKEN_MIN_CHARS || token.len() > TOKEN_MAX_BYTES {
            return Err(TokensError::ShortToken { chars });
        }
        Self::of(vec![Line { name: name.to_owned(), permissions, hash: hash(token), until: None }])
    }

    /// These and those. Only one of them may come from a file.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        let more = other.lines.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.file = match (self.file, other.file) {
            (Some(file), _) => Some(file.beside(more.clone())),
            (None, Some(file)) => Some(file.beside(locked(&self.lines).clone())),
            (None, None) => None,
        };
        locked(&self.lines).extend(more);
        self
    }

    /// Makes a new token: 32 random bytes. Answers the token, which is nowhere else, and the line that lets it in.
    pub fn make(
        name: &str,
        permissions: Permissions,
        until: Option<SystemTime>,
    ) -> Result<(String, String), TokensError> {
        check_name(name)?;
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|_| TokensError::NoRandomness)?;
        let token = format!("tnr_{}", URL_SAFE_NO_PAD.encode(bytes));
        let until = until.map(|until| format!(" until={}", moment::write(until))).unwrap_or_default();
        let line = format!("{name} {permissions} sha256:{}{until}", hexadecimal(&hash(&token)));
        Ok((token, line))
    }

    fn of(lines: Vec<Line>) -> Result<Self, TokensError> {
        match lines.len() {
            0 => Err(TokensError::None),
            1..=TOKENS_MAX => Ok(Self { lines: Mutex::new(lines), file: None, key: SigningKey::random()? }),
            _ => Err(TokensError::TooMany),
        }
    }

    /// Whose token this is. Compares with every line and ends no earlier when it has found one.
    pub(super) fn look_up(&self, token: &str) -> Option<Line> {
        if token.len() > TOKEN_MAX_BYTES {
            return None;
        }
        let hash = hash(token);
        self.pick(|line| line.hash.ct_eq(&hash))
    }

    /// The line that a session began with, by its name and the beginning of its hash.
    pub(super) fn by_fingerprint(&self, name: &str, fingerprint: &[u8; 8]) -> Option<Line> {
        self.pick(|line| line.name.as_bytes().ct_eq(name.as_bytes()) & line.hash[..8].ct_eq(fingerprint))
    }

    /// Whether there is a line of this name that allows to act.
    pub(super) fn lets_act(&self, name: &str) -> bool {
        self.read_again();
        locked(&self.lines)
            .iter()
            .any(|line| line.name == name && line.permissions.has(super::Permission::Operate))
    }

    /// The key of this process, for where no other was given.
    pub(super) fn key(&self) -> &SigningKey {
        &self.key
    }

    /// What tells the tokens as they are now from others: whoever was let in by them is looked at anew when it changes.
    pub(crate) fn mark(&self) -> [u8; 32] {
        self.read_again();
        let mut all = Sha256::new();
        for line in locked(&self.lines).iter() {
            all.update(line.hash);
            all.update(line.permissions.to_string().as_bytes());
        }
        all.finalize().into()
    }

    fn pick(&self, fits: impl Fn(&Line) -> Choice) -> Option<Line> {
        self.read_again();
        let lines = locked(&self.lines);
        let mut found = 0_u32;
        for (number, line) in (1..).zip(lines.iter()) {
            found.conditional_assign(&number, fits(line));
        }
        lines.get(usize::try_from(found).ok()?.checked_sub(1)?).cloned()
    }

    fn read_again(&self) {
        if let Some(lines) = self.file.as_ref().and_then(TokenFile::changed) {
            *locked(&self.lines) = lines;
        }
    }
}

impl Line {
    /// The beginning of its hash, which stands in a session.
    pub(super) fn fingerprint(&self) -> [u8; 8] {
        let mut start = [0; 8];
        start.copy_from_slice(&self.hash[..8]);
        start
    }
}

/// The lines of a text, without comments and empty ones.
pub(super) fn read_lines(text: &str) -> impl Iterator<Item = Result<Line, TokensError>> {
    let lines = text.lines().enumerate().flat_map(|(at, line)| {
        let line = line.split('#').next().unwrap_or_default();
        line.split(';').map(move |part| (at + 1, part.trim()))
    });
    lines
        .filter(|(_, line)| !line.is_empty())
        .map(|(at, line)| read_line(line).map_err(|why| TokensError::Line { line: at, why: why.to_string() }))
}

fn read_line(line: &str) -> Result<Line, Box<dyn std::error::Error>> {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or_default();
    check_name(name)?;
    let permissions = Permissions::parse(words.next().ok_or("it has no permissions")?)?;
    let digits = words.next().and_then(|word| word.strip_prefix("sha256:")).ok_or("it has no `sha256:…`")?;
    let hash = read_hash(digits).ok_or("after `sha256:` stand 64 hexadecimal digits")?;
    let until = match words.next() {
        None => None,
        Some(word) => {
            Some(word.strip_prefix("until=").and_then(moment::read).ok_or("`until=` is no moment")?)
        }
    };
    if words.next().is_some() {
        return Err("it has more words than it may".into());
    }
    Ok(Line { name: name.to_owned(), permissions, hash, until })
}

fn check_name(name: &str) -> Result<(), TokensError> {
    let wrong = |c: char| c.is_control() || c.is_whitespace() || matches!(c, ':' | ';' | '#');
    if name.is_empty() || name.len() > ACTOR_MAX_BYTES || name.chars().any(wrong) {
        return Err(TokensError::Name);
    }
    Ok(())
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

fn read_hash(digits: &str) -> Option<[u8; 32]> {
    if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let mut hash = [0; 32];
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(hash)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// How many there are, and nothing of them.
impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tokens({} lines)", locked(&self.lines).len())
    }
}

/// Whose it is, and nothing of the hash.
impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Line({} {})", self.name, self.permissions)
    }
}

/// How often a file of tokens is looked at.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "a token that nobody guesses";

    fn line(name: &str, token: &str) -> String {
        format!("{name} view sha256:{}", hexadecimal(&hash(token)))
    }

    #[test]
    fn a_token_is_its_line_and_no_other() {
        let text = format!(
            "# ours\n{}\n\n{} # second\n",
            line("ada", TOKEN),
            line("bob", "another of them, as long")
        );
        let tokens = Tokens::parse(&text).unwrap();
        assert_eq!(tokens.look_up(TOKEN).unwrap().name, "ada");
        assert_eq!(tokens.look_up("another of them, as long").unwrap().name, "bob");
        for wrong in ["", "a", "a token that nobody guesseS", "ada", &"x".repeat(100_000)] {
            assert!(tokens.look_up(wrong).is_none());
        }
    }

    #[test]
    fn who_has_no_line_that_allows_it_can_act_no_more() {
        let (_, acts) = Tokens::make("ada", Permissions::OPERATE, None).unwrap();
        let tokens = Tokens::parse(&format!("{acts}\n{}", line("bob", TOKEN))).unwrap();
        assert!(tokens.lets_act("ada") && !tokens.lets_act("bob") && !tokens.lets_act("eve"));
    }

    #[test]
    fn a_made_token_is_let_in_by_its_line_until_its_time() {
        let until = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let (token, line) = Tokens::make("ada", Permissions::OPERATE, Some(until)).unwrap();
        assert!(token.starts_with("tnr_") && token.len() == 47, "{token}");
        assert!(!line.contains(&token));
        let found = Tokens::parse(&line).unwrap().look_up(&token).unwrap();
        assert_eq!((found.name.as_str(), found.until), ("ada", Some(until)));
        assert_ne!(Tokens::make("ada", Permissions::OPERATE, None).unwrap().0, token);
    }

    #[test]
    fn lines_may_stand_in_one_variable() {
        let tokens = Tokens::parse(&format!("{}; {};", line("ada", TOKEN), line("bob", "b"))).unwrap();
        assert_eq!(tokens.look_up("b").unwrap().name, "bob");
        let both = Tokens::in_clear("cli", Permissions::ALL, "another of them, as long").unwrap().and(tokens);
        assert!(both.look_up("b").is_some() && both.look_up("another of them, as long").is_some());
    }

    #[test]
    fn wrong_lines_are_refused_by_their_number_and_not_shown() {
        let good = line("ada", TOKEN);
        for wrong in [
            "ada",
            "ada view",
            "ada view CANARY-0123456789abcdef",
            "ada admin sha256:00",
            "ada view sha256:CANARY",
            &format!("{good} until=CANARY"),
            &format!("{good} until=2027-01-31T00:00:00Z CANARY"),
            &good.replace("ada", "a:CANARY"),
            &good.replace("sha256:", "sha256:é"),
        ] {
            let error = Tokens::parse(&format!("{good}\n{wrong}")).unwrap_err().to_string();
            assert!(error.starts_with("line 2 of the tokens"), "{error}");
            assert!(!error.contains("CANARY"), "{error}");
        }
        assert!(matches!(Tokens::parse("# none\n"), Err(TokensError::None)));
        let many = format!("{good}\n").repeat(TOKENS_MAX + 1);
        assert!(matches!(Tokens::parse(&many), Err(TokensError::TooMany)));
    }

    #[test]
    fn a_token_that_someone_thought_of_is_refused() {
        let error = Tokens::in_clear("ada", Permissions::ALL, "CANARY").unwrap_err().to_string();
        assert!(error.contains("6 characters") && !error.contains("CANARY"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_reading_lines_panic(text in "[a-z0-9:=;#,\\sé.-]{0,200}") {
            if let Err(error) = Tokens::parse(&text) {
                proptest::prop_assert!(!error.to_string().is_empty());
            }
        }

        #[test]
        fn a_line_is_read_as_it_was_made(name in "[^\\s:;#\\p{Cc}]{1,30}") {
            if name.len() <= ACTOR_MAX_BYTES {
                let (token, line) = Tokens::make(&name, Permissions::ALL, None).unwrap();
                proptest::prop_assert_eq!(Tokens::parse(&line).unwrap().look_up(&token).unwrap().name, name);
            }
        }
    }

    #[test]
    fn nothing_shows_a_hash() {
        let tokens = Tokens::parse(&line("ada", TOKEN)).unwrap();
        let shown = format!("{tokens:?} {:?}", tokens.look_up(TOKEN));
        assert!(!shown.contains(&hexadecimal(&hash(TOKEN))[..8]), "{shown}");
    }
}
