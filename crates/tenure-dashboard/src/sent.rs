//! The messages that events sent: their ids follow from the events, so they are found without a search.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tenure_core::contract::OutboxAdmin;
use tenure_core::error::StoreError;
use tenure_core::event::{Recorded, StreamName, Version};
use tenure_core::outbox::{LIST_MAX, MessageId, Summary, deterministic_id};

use crate::asked::Asked;
use crate::problem::Problem;
use crate::shown;

/// So many messages of each event are looked for at first, and so many more each time that one of them is there: one that was
/// delivered and deleted does not hide a dead one behind it.
const BLOCK: usize = 4;
/// Messages that an event sent are looked for so far.
const SENT_MAX: usize = 16;

/// The messages that an event sent, by their places among them.
pub(crate) type Sent = BTreeMap<usize, Summary>;

/// The id of the message that an event sent in a place.
pub(crate) fn id_of(stream: &StreamName, version: Version, place: usize) -> MessageId {
    deterministic_id(stream.as_str(), version.0, i32::try_from(place).unwrap_or(i32::MAX))
}

/// The ids of all messages of an event that are looked for.
pub(crate) fn ids_of(event: &Recorded) -> impl Iterator<Item = MessageId> {
    (0..SENT_MAX).map(|place| id_of(&event.stream, event.version, place))
}

/// The messages that each of these events sent, as whoever asks may see them.
pub(crate) async fn by(asked: &Asked, events: &[Recorded]) -> Result<Vec<Sent>, Problem> {
    let outbox = Arc::clone(&asked.desk.stores.outbox);
    let names: Vec<_> = events.iter().map(|event| (event.stream.clone(), event.version)).collect();
    let call = async move { find(outbox.as_ref(), &names).await };
    let mut sent = asked.desk.ask("the messages of events", call).await?;
    shown::discreet_messages(asked, sent.iter_mut().flat_map(|sent| sent.values_mut()));
    Ok(sent)
}

async fn find(outbox: &dyn OutboxAdmin, events: &[(StreamName, Version)]) -> Result<Vec<Sent>, StoreError> {
    let mut sent = vec![Sent::new(); events.len()];
    let mut left: Vec<usize> = (0..events.len()).collect();
    for block in (0..SENT_MAX).step_by(BLOCK) {
        let places = || block..SENT_MAX.min(block + BLOCK);
        let mut asked: HashMap<MessageId, (usize, usize)> = HashMap::new();
        for (at, (stream, version)) in left.iter().filter_map(|at| Some((*at, events.get(*at)?))) {
            asked.extend(places().map(|place| (id_of(stream, *version, place), (at, place))));
        }
        let ids: Vec<MessageId> = asked.keys().copied().collect();
        for chunk in ids.chunks(LIST_MAX as usize) {
            for message in outbox.named(chunk).await? {
                // By its value: another program may write it in upper case.
                let place = message.id.parse().ok().and_then(|id: MessageId| asked.get(&id));
                if let Some((at, place)) = place {
                    sent[*at].insert(*place, message);
                }
            }
        }
        left.retain(|at| places().any(|place| sent[*at].contains_key(&place)));
        if left.is_empty() {
            break;
        }
    }
    Ok(sent)
}
