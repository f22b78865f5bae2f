//! Asking a store that may be slow or dead.
//!
//! A question is a task of its own: it runs to its end also when nobody waits for the answer any longer (a database call is
//! never dropped half-way), and holds one of a few permits for as long. So a store that hangs holds a few questions and no
//! more, whatever comes in.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::error::StoreError;
use tokio::sync::Semaphore;

use crate::limits::Limits;
use crate::mutation::{Rule, Switches};
use crate::problem::Trouble;

/// How long a question waits for its turn.
const TURN: Duration = Duration::from_millis(100);

/// Asks a store within bounds.
#[derive(Debug)]
pub(crate) struct Asks {
    turns: Arc<Semaphore>,
    questions: usize,
    patience: Duration,
    rules: Switches,
}

impl Asks {
    pub(crate) fn new(limits: &Limits, rules: Switches) -> Self {
        let turns = Arc::new(Semaphore::new(limits.questions));
        Self { turns, questions: limits.questions, patience: limits.patience, rules }
    }

    /// Asks, and waits no longer than patience lasts. `what` is in the words of the one who asked.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        what: &'static str,
        call: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, Trouble> {
        let slow = || Trouble::Slow { what, waited: self.patience };
        let turn = match self.rules.off(Rule::AskBounded) {
            true => None,
            false => Some(self.turn().await?),
        };
        if self.rules.off(Rule::AskNotDropped) {
            let answer = tokio::time::timeout(self.patience, call).await.map_err(|_| slow())?;
            return Ok(answer?);
        }
        let task = tokio::spawn(async move {
            let answer = call.await;
            drop(turn);
            answer
        });
        match tokio::time::timeout(self.patience, task).await {
            Err(_) => Err(slow()),
            Ok(Ok(answer)) => Ok(answer?),
            // The call panicked, or the runtime ends.
            Ok(Err(_)) => Err(Trouble::Away { text: format!("the question broke off ({what})") }),
        }
    }

    /// How many questions are under way.
    pub(crate) fn waiting(&self) -> usize {
        self.questions - self.turns.available_permits()
    }

    async fn turn(&self) -> Result<tokio::sync::OwnedSemaphorePermit, Trouble> {
        let wait = tokio::time::timeout(TURN, Arc::clone(&self.turns).acquire_owned()).await;
        let crowded = Trouble::Crowded { questions: self.questions };
        wait.map_err(|_| crowded.clone())?.map_err(|_| crowded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(questions: usize) -> Asks {
        let limits = Limits { questions, patience: Duration::from_millis(100), ..Limits::default() };
        Asks::new(&limits, Switches::default())
    }

    #[tokio::test(start_paused = true)]
    async fn a_hanging_store_holds_a_few_questions_and_no_more() {
        let asks = asks(2);
        let (open, gate) = tokio::sync::watch::channel(false);
        let done = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        for _ in 0..2 {
            let (mut gate, done) = (gate.clone(), Arc::clone(&done));
            let answer = asks.ask("it", async move {
                let _ = gate.wait_for(|open| *open).await;
                done.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                Ok(())
            });
            assert!(matches!(answer.await, Err(Trouble::Slow { what: "it", .. })));
        }
        assert_eq!(asks.waiting(), 2);
        assert_eq!(asks.ask("it", async { Ok(()) }).await, Err(Trouble::Crowded { questions: 2 }));
        open.send(true).unwrap();
        assert_eq!(asks.ask("it", async { Ok(7) }).await, Ok(7));
        assert_eq!(asks.waiting(), 0);
        assert_eq!(done.load(std::sync::atomic::Ordering::SeqCst), 2, "no question was dropped");
    }

    #[tokio::test]
    async fn a_question_that_breaks_gives_its_turn_back() {
        let asks = asks(1);
        for _ in 0..3 {
            let answer = asks.ask("it", async { if true { panic!("broken") } else { Ok(()) } }).await;
            assert!(matches!(answer, Err(Trouble::Away { .. })), "{answer:?}");
        }
        assert_eq!(asks.waiting(), 0);
    }
}
