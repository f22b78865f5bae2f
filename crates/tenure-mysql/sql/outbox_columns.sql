-- A row as a relay reads it from its lane. One whose message is gone is marked, and so is what was left there by a message that is
-- gone, whose number was given out anew: that one is among what has just come.
p.id, p.lane, CASE WHEN o.id IS NULL OR n.id IS NOT NULL THEN 4 ELSE p.queued END AS queued, p.due_us, p.attempts, p.forgiven,
{outbox_message_columns}
