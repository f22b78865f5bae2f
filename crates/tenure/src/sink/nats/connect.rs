//! The connection: made when it is first needed, made again by the client when it breaks, and anew when the client has
//! given up.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::jetstream::{Context, context::ContextBuilder};
use async_nats::{ConnectErrorKind, ConnectOptions, Event, connection};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

use super::target::{Login, Target, Tls};
use crate::sink::tls::{self, System};
use crate::sink::{NatsOptions, SinkError};

/// The longest pause between two attempts to connect again.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// What has become of a connection since it was made.
#[derive(Debug, Clone, Default)]
pub(super) struct Life {
    pub(super) connected: bool,
    /// How often it broke.
    pub(super) breaks: u64,
    /// What the server last complained of, and when: a forbidden subject is told so, and not by an acknowledgement.
    pub(super) complaint: Option<(Instant, String)>,
}

/// A connection.
pub(super) struct Link {
    pub(super) jetstream: Context,
    pub(super) life: watch::Receiver<Life>,
}

/// The one connection of a sink.
pub(super) struct Connector {
    address: String,
    options: ConnectOptions,
    timeout: Duration,
    state: Mutex<State>,
}

enum State {
    New,
    Up(Arc<Link>),
    /// An attempt failed: whoever asked before it ended has its answer, and need not try once more.
    Down {
        ended: Instant,
        reason: String,
    },
}

impl Connector {
    pub(super) fn new(target: &Target, options: &NatsOptions) -> Result<Self, SinkError> {
        let system = if target.tls == Tls::AsServer { System::IfAny } else { System::Needed };
        let trust = tls::client("nats root certificates", &options.root_certificates, system)?;
        let mut connect = ConnectOptions::new()
            .name("tenure")
            .tls_client_config(trust)
            .connection_timeout(options.connect_timeout)
            .reconnect_delay_callback(|attempts| {
                let doubled = 1 << attempts.saturating_sub(1).min(10);
                (Duration::from_millis(5) * doubled).min(PAUSE_MAX)
            });
        connect = match target.tls {
            Tls::AsServer => connect,
            Tls::On => connect.require_tls(true),
            Tls::First => connect.tls_first(),
        };
        connect = match (&options.token, &target.login) {
            (Some(token), _) | (None, Login::Token(token)) => connect.token(token.expose().into()),
            (None, Login::User { name, password }) => {
                connect.user_and_password(name.expose().into(), password.expose().into())
            }
            (None, Login::Nobody) => connect,
        };
        Ok(Self {
            address: target.address.clone(),
            options: connect,
            timeout: options.timeout,
            state: Mutex::new(State::New),
        })
    }

    /// A connection that stands, or why there is none. One that is being made again is waited for.
    pub(super) async fn link(&self) -> Result<Arc<Link>, String> {
        let asked = Instant::now();
        let mut state = self.state.lock().await;
        let link = match &*state {
            State::Up(link) => link.clone(),
            State::Down { ended, reason } if *ended > asked => return Err(reason.clone()),
            State::New | State::Down { .. } => match self.connect().await {
                Ok(link) => {
                    let link = Arc::new(link);
                    *state = State::Up(link.clone());
                    link
                }
                Err(reason) => {
                    *state = State::Down { ended: Instant::now(), reason: reason.clone() };
                    return Err(reason);
                }
            },
        };
        drop(state);
        // What is handed to a connection that is down would be sent whenever it is up again, long after its attempt was given
        // up. So nothing is.
        if link.jetstream.client().connection_state() == connection::State::Connected {
            return Ok(link);
        }
        let mut life = link.life.clone();
        // Nobody tells any more when the client has given up.
        let up = timeout(self.timeout, life.wait_for(|life| life.connected)).await.map(|up| up.is_ok());
        match up {
            Ok(true) => Ok(link),
            Ok(false) => {
                self.forget(&link).await;
                Err("the connection was closed by the server".into())
            }
            Err(_) => Err(format!("no connection within {:?}", self.timeout)),
        }
    }

    /// Makes another connection next time, unless that was done already.
    pub(super) async fn forget(&self, link: &Arc<Link>) {
        let mut state = self.state.lock().await;
        if matches!(&*state, State::Up(now) if Arc::ptr_eq(now, link)) {
            *state = State::New;
        }
    }

    async fn connect(&self) -> Result<Link, String> {
        let (told, life) = watch::channel(Life::default());
        let options = self.options.clone().event_callback(move |event| {
            told.send_modify(|life| match event {
                Event::Connected => life.connected = true,
                Event::Disconnected | Event::Closed => {
                    life.connected = false;
                    life.breaks += 1;
                }
                Event::ServerError(error) => life.complaint = Some((Instant::now(), error.to_string())),
                _ => {}
            });
            std::future::ready(())
        });
        let client = options.connect(self.address.as_str()).await.map_err(|error| match error.kind() {
            ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
                "the server does not let us in; check user, password or token".to_owned()
            }
            ConnectErrorKind::Tls => format!("{error}; check tls= in the URL and the trusted certificates"),
            _ => error.to_string(),
        })?;
        let jetstream = ContextBuilder::new().timeout(self.timeout).ack_timeout(self.timeout).build(client);
        Ok(Link { jetstream, life })
    }
}
