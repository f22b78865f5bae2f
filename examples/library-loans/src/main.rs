//! Lends a few books, in one process. `tenure demo` does the same with several, and kills them.
//!
//! ```sh
//! cargo run -p library-loans
//! ```
// This is a program for a terminal.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use library_loans::{Book, Desk, Loan, LoanCommand, Shelf, Stage, route};
use tenure::sqlite::{SqliteOptions, SqliteStore};
use tenure::{
    Aggregates, Database, Dispatcher, Events, LeaseSettings, Leases, Processes, Projection, Relay,
    RelaySettings, Stop, Subscription, SubscriptionSettings, local_node, routes,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::temp_dir().join(format!("library-loans-{}.db", std::process::id()));
    let store = SqliteStore::connect(SqliteOptions::new(&file)).await?;
    let checkpoints = store.checkpoints();
    let database = Database::new(store);
    database.schema().migrate().await?;
    let leases = Leases::new(database.leases(), local_node(None)?);

    // The entities, over events whose dispatches go to the outbox of the same file.
    let events = Events::new(database.events()).with_outbox();
    let books = Aggregates::<Book>::new(events.clone())?;
    let desks = Aggregates::<Desk>::new(events.clone())?;
    let loans = Processes::<Loan>::new(events.clone())?;

    // What runs in the background, on one copy of the service at a time.
    let sink = Arc::new(Dispatcher::new().with(&books).with(&desks).with(&loans));
    let relay = Relay::new(database.outbox(), sink, local_node(None)?.name, RelaySettings::default())?
        .exclusive(leases.lease("library/relay", LeaseSettings::default())?);
    let shelf = Shelf::open(&file, checkpoints)?;
    let projection: Arc<dyn Projection> = Arc::new(shelf.clone());
    let subscribe = |name: &str, handling: tenure::Handling| -> Result<Subscription, Box<dyn Error>> {
        let lease = leases.lease(format!("library/{name}"), LeaseSettings::default())?;
        let (events, checkpoints) = (events.clone(), database.checkpoints());
        let settings = SubscriptionSettings::default();
        Ok(Subscription::new(name, events, checkpoints, handling, settings)?.exclusive(lease))
    };
    let routed = subscribe("loans", routes("loans", &loans, route).into())?;
    let projected = subscribe("shelf", projection.into())?;
    let stop = Stop::new();
    let (one, two, three) = (stop.clone(), stop.clone(), stop.clone());
    let background = [
        tokio::spawn(async move { relay.run(&one).await.map_err(|error| error.to_string()) }),
        tokio::spawn(async move { routed.run(&two).await.map_err(|error| error.to_string()) }),
        tokio::spawn(async move { projected.run(&three).await.map_err(|error| error.to_string()) }),
    ];

    // Three readers; two of them want the same book.
    let wanted = [("ada", "north-1"), ("grace", "north-2"), ("mary", "north-1")];
    for (loan, book) in wanted {
        let request =
            LoanCommand::Request { id: loan.into(), book: book.into(), desk: "south".into(), keep_ms: 300 };
        println!("{loan} asks for {book}: {:?}", loans.tell(loan, request).await?);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    println!("out: {:?}", shelf.out()?);
    for (loan, _) in wanted {
        let mut stage = Stage::New;
        while !matches!(stage, Stage::Returned | Stage::Refused) {
            tokio::time::sleep(Duration::from_millis(20)).await;
            stage = loans.state(loan).await?.0.stage;
        }
        println!("{loan}: {stage:?}");
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    println!("out: {:?}", shelf.out()?);
    stop.stop();
    for task in background {
        task.await??;
    }
    std::fs::remove_file(&file)?;
    Ok(())
}
