//! What the group tells its member: the partition given, asked back, or lost.

use std::sync::Arc;

use rdkafka::TopicPartitionList;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::KafkaError;

use super::member::Seat;

/// The callbacks of a member's consumer. They run on its thread, within a poll.
pub(crate) struct Group {
    seat: Arc<Seat>,
    topic: String,
}

impl Group {
    pub(crate) fn new(seat: Arc<Seat>, topic: String) -> Self {
        Self { seat, topic }
    }

    /// Whether the partition that stands for the lease is among these.
    fn has_lease(&self, partitions: &TopicPartitionList) -> bool {
        partitions.find_partition(&self.topic, 0).is_some()
    }
}

impl ClientContext for Group {
    fn log(&self, _: RDKafkaLogLevel, facility: &str, line: &str) {
        tracing::debug!(lease = %self.seat.lease, facility, "{line}");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(lease = %self.seat.lease, %error, "{reason}");
    }
}

impl ConsumerContext for Group {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        let lease = &self.seat.lease;
        match rebalance {
            Rebalance::Revoke(partitions) if self.has_lease(partitions) => {
                // Lost: we were put out, and another may have it by now. Else it is asked back, and nobody has it before
                // this callback has ended: so it ends when the holder has.
                let lost = consumer.assignment_lost();
                let until = self.seat.lock().taken(lost);
                self.seat.notify();
                tracing::debug!(%lease, lost, "the lease's partition is taken away");
                if let Some(until) = until {
                    self.seat.wait_out(until);
                }
            }
            Rebalance::Error(error) => tracing::debug!(%lease, %error, "the lease's group cannot settle"),
            _ => {}
        }
    }

    fn post_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Assign(partitions) = rebalance {
            let ours = self.has_lease(partitions);
            if ours && let Err(error) = consumer.pause(partitions) {
                tracing::debug!(lease = %self.seat.lease, %error, "the lease's partition cannot be paused");
            }
            self.seat.lock().spoken(ours);
            tracing::debug!(lease = %self.seat.lease, ours, "the lease's group has settled");
            self.seat.notify();
        }
    }
}
