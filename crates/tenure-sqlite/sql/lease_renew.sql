-- A renewal that was decided about a remembered row (?1 to ?21): takes effect only where the row is still that one, to the
-- last column, and where the lock was had soon after the clocks were read (?43 to ?44, in milliseconds since 1970).
-- Answers with the database's version, as data_version.sql does.
update {leases} set
    term = ?23,
    node = ?24,
    incarnation = ?25,
    claim = ?26,
    renewals = ?27,
    machine = ?28,
    pid = ?29,
    kind = ?30,
    backend = ?31,
    acquired_at = ?32,
    renewed_at = ?33,
    expires_at = ?34,
    released_at = ?35,
    revoked_at = ?36,
    presence = ?37,
    presence_trust_ms = ?38,
    clock_boot = ?39,
    clock_us = ?40,
    origin_epoch = ?41,
    origin_term = ?42
where name = ?1
  and name = ?22
  and term is ?2
  and node is ?3
  and incarnation is ?4
  and claim is ?5
  and renewals is ?6
  and machine is ?7
  and pid is ?8
  and kind is ?9
  and backend is ?10
  and acquired_at is ?11
  and renewed_at is ?12
  and expires_at is ?13
  and released_at is ?14
  and revoked_at is ?15
  and presence is ?16
  and presence_trust_ms is ?17
  and clock_boot is ?18
  and clock_us is ?19
  and origin_epoch is ?20
  and origin_term is ?21
  and (julianday('now') - 2440587.5) * 86400000.0 between ?43 and ?44
returning (select data_version from pragma_data_version)
