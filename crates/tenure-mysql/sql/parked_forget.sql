-- What was put aside after a place, for it is read again. Only rows of the subscription are touched, as outbox_delete.
-- $1 subscription, $2 the place
DELETE p
FROM JSON_TABLE(
    JSON_ARRAY($1), '$[*]' COLUMNS (
        name varchar(200) CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */ PATH '$'
    )
) AS asked
STRAIGHT_JOIN {parked} AS p FORCE INDEX (PRIMARY) ON p.subscription = asked.name
WHERE p.position > $2
