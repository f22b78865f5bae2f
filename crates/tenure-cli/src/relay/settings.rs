//! What the command line says about a relay.

use tenure::core::outbox::Limits;
use tenure::{OnDead, RelaySettings, Retention, RetryPolicy};

use crate::args::{OnDeadArg, RelayArgs};

pub(super) fn from_args(args: &RelayArgs) -> RelaySettings {
    let default = RelaySettings::default();
    RelaySettings {
        retry: RetryPolicy { max_attempts: args.max_attempts, first: args.retry_first, cap: args.retry_cap },
        on_dead: match args.on_dead {
            OnDeadArg::Skip => OnDead::Skip,
            OnDeadArg::Halt => OnDead::Halt,
        },
        deadline: args.deadline,
        concurrency: args.concurrency,
        read_ahead: args.read_ahead,
        limits: Limits { payload: args.payload_limit },
        drain: args.drain,
        poll: args.poll,
        poll_without_wakeup: default.poll_without_wakeup.min(args.poll),
        wakeup: !args.no_wakeup,
        ..default
    }
}

pub(super) fn retention(args: &RelayArgs) -> Retention {
    let keep = Some(args.keep);
    Retention {
        dispatched: keep,
        dead: args.keep_dead,
        discarded: keep,
        inbox: Some(args.keep_inbox),
        ..Retention::default()
    }
}
