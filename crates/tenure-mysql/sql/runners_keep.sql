-- Deletes what a process said of runners that it has no more.
-- $1 node, $2 incarnation, $3 those that it has, each as its kind, a slash and its name
DELETE FROM {runners} WHERE node = $1 AND incarnation = $2 AND concat(kind, '/', name) NOT IN ($3)
