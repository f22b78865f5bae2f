-- What outbox_summaries makes a message for people to see of.
o.id, o.message_id, CASE WHEN n.id IS NOT NULL THEN 1 WHEN p.id IS NOT NULL THEN p.queued WHEN o.fresh IS NOT NULL THEN 1 ELSE 0 END AS queued,
o.source, o.source_seq, o.source_index, o.topic, o.type,
DATEDIFF_BIG(MICROSECOND, '1970-01-01', o.created_at) AS created_us,
coalesce(p.due_us, {outbox_due_fragment}) AS due_us,
coalesce(
    p.attempts, d.attempts, (SELECT max(a.number) FROM {outbox_attempts} AS a WHERE a.message = o.id), 0
) AS attempts,
d.halts, d.reason,
DATEDIFF_BIG(MICROSECOND, '1970-01-01', d.died_at) AS died_us,
DATEDIFF_BIG(MICROSECOND, '1970-01-01', d.discarded_at) AS discarded_us,
(
    SELECT TOP (1) DATEDIFF_BIG(MICROSECOND, '1970-01-01', a.at) FROM {outbox_attempts} AS a
    WHERE a.message = o.id ORDER BY a.number DESC
) AS tried_us,
(
    SELECT TOP (1) a.error FROM {outbox_attempts} AS a
    WHERE a.message = o.id AND a.error IS NOT NULL ORDER BY a.number DESC
) AS error
