//! One node of the demo: a relay that tells books, desks and loans, and the routes from their events to loans.

use std::fs::OpenOptions as FileOptions;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use library_loans::{Book, Desk, Loan, route};
use tenure::{
    Aggregates, Classifier, Dispatcher, Events, LeaseSettings, Leases, OpenOptions, Processes, Relay,
    RelaySettings, Reply, Stop, Subscription, SubscriptionSettings, local_node, routes,
};
use tokio::io::AsyncReadExt;

use super::{RELAY, ROUTES};
use crate::args::{DemoNodeArgs, Global};
use crate::output::Failure;
use crate::signals::Signals;
use crate::store;

pub(crate) async fn node(global: &Global, args: &DemoNodeArgs) -> Result<ExitCode, Failure> {
    let database = tenure::open(store::database_url(global)?, OpenOptions::default()).await?;
    let local = local_node(Some(&args.name))?;
    let leases = Leases::new(database.leases(), local.clone());
    let kind = Classifier::new(|_| Some("outbox".to_owned()));
    let relays = Leases::with_classifier(database.leases(), local.clone(), kind);
    let events = Events::new(database.events()).with_outbox();
    // One line for each message that came again and did nothing. A line in one write: it is there also if we are killed.
    let journal = FileOptions::new().create(true).append(true).open(&args.journal)?;
    let journal = Arc::new(journal);
    let seen_twice = Arc::new(move |id: String, reply: &Reply| {
        if matches!(reply, Reply::Accepted { duplicate: true, .. }) {
            let _ = (&*journal).write_all(format!("{id}\n").as_bytes());
        }
    });
    let observer = {
        let seen_twice = seen_twice.clone();
        move |caller: &tenure::entity::Caller, reply: &Reply| {
            if let Some(id) = caller.message_id {
                seen_twice(id.to_string(), reply);
            }
        }
    };
    let books = Aggregates::<Book>::new(events.clone())?.observed_by(observer.clone());
    let desks = Aggregates::<Desk>::new(events.clone())?.observed_by(observer.clone());
    let loans = Processes::<Loan>::new(events.clone())?.observed_by(observer);
    let sink = Dispatcher::new().with(&books).with(&desks).with(&loans);
    let relay = Relay::new(database.outbox(), Arc::new(sink), local.name.clone(), RelaySettings::default())?
        .exclusive(relays.lease(RELAY, LeaseSettings::default())?);
    let route = routes("loans", &loans, route);
    let subscription =
        Subscription::new("loans", events, database.checkpoints(), route, SubscriptionSettings::default())
            .map_err(|error| Failure::Failed(error.to_string()))?
            .exclusive(leases.lease(ROUTES, LeaseSettings::default())?);
    let stop = Stop::new();
    let (relaying, routing) = (stop.clone(), stop.clone());
    let mut relaying = tokio::spawn(async move { relay.run(&relaying).await });
    let mut routing = tokio::spawn(async move { subscription.run(&routing).await });
    let (runners, reporting) = (database.runners(), stop.clone());
    let reporting =
        tokio::spawn(async move { tenure::runners().report_to(runners, local, &reporting).await });
    let mut signals = Signals::catch()?;
    tokio::select! {
        _ = signals.ending() => {}
        () = orphaned() => {}
        ended = &mut relaying => return Err(Failure::Failed(format!("the relay ended: {ended:?}"))),
        ended = &mut routing => return Err(Failure::Failed(format!("the routes ended: {ended:?}"))),
    }
    stop.stop();
    let _ = tokio::join!(relaying, routing, reporting);
    Ok(ExitCode::SUCCESS)
}

/// Whoever started this node holds the other end of its standard input.
async fn orphaned() {
    let (mut stdin, mut byte) = (tokio::io::stdin(), [0]);
    while matches!(stdin.read(&mut byte).await, Ok(1..)) {}
}
