"""The tables and functions of a ledger in PostgreSQL, by versions, and what a role of jobs may do with them.

A job reads, and calls three functions that run as the ledger's owner: `take_lock`, `append` and `key_of`. It has no
other right: no table takes a statement of it that writes. `append` admits four kinds of entries (reserve, draw, record,
settle), one after the other, each with the seal that follows from the one before it; draws and settlements only to the
role that has reserved. So a job can add, and nothing else: it cannot change or remove an entry, open a budget, change a
policy, approve a plan, or store a state that later jobs would begin from.

`append` does not price. It looks at no field but entry, number, dataset, run and settles, so entries may gain fields.
What it lets through and the rules refuse (`LedgerState`) stops the ledger until its owner has rejected it: see
`ChainedLedger.reject`.

What a role can set for its own connection (search_path, temporary tables, settings of the parser) reaches none of the
functions: their search_path is fixed, every name of the ledger has its schema, conditions hold only where they are
true, and not where they are NULL.
"""

from __future__ import annotations

_SAFE = "SECURITY DEFINER SET search_path = pg_catalog, pg_temp"

TAKE_LOCK = f"""
CREATE FUNCTION {{0}}.take_lock() RETURNS void LANGUAGE plpgsql {_SAFE} AS $$
BEGIN
    LOCK TABLE {{0}}.ledger IN EXCLUSIVE MODE;
END
$$
"""
"""Wait for the only right to write, until the transaction ends. Readers are not kept waiting."""

KEY_OF = f"""
CREATE FUNCTION {{0}}.key_of(waiting bigint) RETURNS bytea LANGUAGE sql STABLE {_SAFE} AS $$
    SELECT held.key FROM {{0}}.keys AS held JOIN {{0}}.entries AS paid ON paid.number = held.reservation
    WHERE held.reservation = waiting AND coalesce(paid.job, session_user) = session_user
$$
"""
"""The key of a reservation that this role has made; NULL for any other."""

APPEND = f"""
CREATE FUNCTION {{0}}.append(new_number bigint, new_entry text, new_seal text, new_key bytea)
RETURNS void LANGUAGE plpgsql {_SAFE} AS $$
DECLARE
    content json;
    kind text;
    run bigint;
    newest record;
    paid record;
BEGIN
    LOCK TABLE {{0}}.ledger IN EXCLUSIVE MODE;
    SELECT last.number, last.seal, last.entry::json ->> 'entry' AS kind INTO newest
        FROM {{0}}.entries AS last ORDER BY last.number DESC LIMIT 1;
    IF (new_number = newest.number + 1) IS NOT TRUE THEN
        RAISE EXCEPTION 'not the next entry' USING ERRCODE = 'DP001';
    END IF;

    content := new_entry::json;
    IF (json_typeof(content) = 'object') IS NOT TRUE THEN
        RAISE EXCEPTION 'no entry' USING ERRCODE = 'DP002';
    END IF;
    kind := content ->> 'entry';
    IF (kind IN ('reserve', 'draw', 'record', 'settle') AND newest.kind <> 'move') IS NOT TRUE THEN
        RAISE EXCEPTION 'an entry of the owner' USING ERRCODE = '42501';
    END IF;
    IF (octet_length(new_entry) = length(new_entry)
        AND octet_length(new_entry) <= 16777216
        AND position(chr(10) IN new_entry) + position(chr(13) IN new_entry) = 0
        AND (SELECT count(*) = count(DISTINCT field.name) FROM json_object_keys(content) AS field(name))
        AND json_typeof(content -> 'number') = 'number'
        AND content ->> 'number' = new_number::text
        AND json_typeof(content -> 'dataset') = 'string'
        AND new_seal = encode(sha256(convert_to(newest.seal || chr(10) || new_entry, 'UTF8')), 'hex')) IS NOT TRUE
    THEN
        RAISE EXCEPTION 'no entry that follows' USING ERRCODE = 'DP002';
    END IF;

    IF kind = 'reserve' THEN
        IF (octet_length(new_key) = 40
            AND substring(sha256(substring(new_key FOR 32)) FOR 8) = substring(new_key FROM 33)) IS NOT TRUE
        THEN
            RAISE EXCEPTION 'no key' USING ERRCODE = 'DP002';
        END IF;
        INSERT INTO {{0}}.entries (number, entry, seal) VALUES (new_number, new_entry, new_seal);
        INSERT INTO {{0}}.keys (reservation, key) VALUES (new_number, new_key);
        RETURN;
    END IF;

    IF kind = 'settle' THEN
        run := CASE json_typeof(content -> 'settles') WHEN 'number' THEN content ->> 'settles' END::bigint;
    ELSE
        run := CASE json_typeof(content -> 'run') WHEN 'number' THEN content ->> 'run' END::bigint;
    END IF;
    SELECT reserved.job, reserved.entry::json ->> 'dataset' AS dataset INTO paid
        FROM {{0}}.entries AS reserved JOIN {{0}}.keys AS held ON held.reservation = reserved.number
        WHERE reserved.number = run;
    IF (paid.dataset = content ->> 'dataset' AND new_key IS NULL) IS NOT TRUE THEN
        RAISE EXCEPTION 'no run that waits' USING ERRCODE = 'DP002';
    END IF;
    IF (coalesce(paid.job, session_user) = session_user) IS NOT TRUE THEN
        RAISE EXCEPTION 'the run of another role' USING ERRCODE = 'DP003';
    END IF;
    INSERT INTO {{0}}.entries (number, entry, seal) VALUES (new_number, new_entry, new_seal);
    IF kind = 'settle' THEN
        DELETE FROM {{0}}.keys AS held WHERE held.reservation = run;
    END IF;
END
$$
"""
"""Append one entry: with the key of a reservation, which its settlement deletes."""

FUNCTIONS = {"take_lock": "take_lock()", "key_of": "key_of(bigint)", "append": "append(bigint, text, text, bytea)"}
"""Name and signature of each."""
TABLES = ("ledger", "entries", "state", "keys")

MIGRATIONS = (
    (
        "CREATE TABLE {0}.ledger (lock boolean PRIMARY KEY DEFAULT true CHECK (lock), version integer NOT NULL)",
        "CREATE TABLE {0}.entries (number bigint PRIMARY KEY CHECK (number >= 0), entry text NOT NULL, "
        "seal text NOT NULL)",
        "CREATE TABLE {0}.state (number bigint PRIMARY KEY, text text NOT NULL)",
        "CREATE TABLE {0}.keys (reservation bigint PRIMARY KEY, key bytea NOT NULL)",
        "INSERT INTO {0}.ledger (version) VALUES (0)",
    ),
    (
        "ALTER TABLE {0}.entries ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY everybody_reads ON {0}.entries FOR SELECT USING (true)",
        "CREATE POLICY jobs_append ON {0}.entries FOR INSERT WITH CHECK (entry::json ->> 'entry' IN "
        "('reserve', 'draw', 'record', 'settle', 'checkpoint'))",
    ),
    (
        "DROP POLICY jobs_append ON {0}.entries",
        "DROP POLICY everybody_reads ON {0}.entries",
        "ALTER TABLE {0}.entries DISABLE ROW LEVEL SECURITY",
        # Entries from before belong to no role (NULL), and any job may continue their runs, as it could.
        "ALTER TABLE {0}.entries ADD COLUMN job name",
        "ALTER TABLE {0}.entries ALTER COLUMN job SET DEFAULT session_user",
        # Jobs could write this text until now, so the next job begins at the first entry; see `transaction`.
        "DELETE FROM {0}.state",
        "INSERT INTO {0}.state SELECT 0, '' WHERE EXISTS (SELECT FROM {0}.entries)",
        TAKE_LOCK,
        KEY_OF,
        APPEND,
    ),
)
"""The statements that lead from one version to the next, for the quoted name of the schema."""
VERSION = len(MIGRATIONS)

GRANTS = (
    "GRANT USAGE ON SCHEMA {0} TO {1}",
    "GRANT SELECT ON {0}.ledger, {0}.entries, {0}.state TO {1}",
    "GRANT EXECUTE ON FUNCTION {0}.take_lock(), {0}.key_of(bigint), {0}.append(bigint, text, text, bytea) TO {1}",
)
"""For the quoted names of a schema and a role."""
REVOKES = (
    "REVOKE ALL ON ALL TABLES IN SCHEMA {0} FROM {1} CASCADE",
    "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {0} FROM {1} CASCADE",
    "REVOKE ALL ON SCHEMA {0} FROM {1} CASCADE",
)
"""The same for whoever has any right there: older versions granted more, and new functions are everybody's."""
GRANTEES = """
SELECT DISTINCT given.grantee = 0, pg_catalog.pg_get_userbyid(given.grantee) FROM (
    SELECT space.nspowner, (pg_catalog.aclexplode(space.nspacl)).grantee
        FROM pg_catalog.pg_namespace AS space WHERE space.nspname = %(schema)s::text
    UNION SELECT part.relowner, (pg_catalog.aclexplode(part.relacl)).grantee
        FROM pg_catalog.pg_class AS part WHERE part.relnamespace = pg_catalog.to_regnamespace(%(schema)s::text)
    UNION SELECT part.relowner, (pg_catalog.aclexplode(field.attacl)).grantee
        FROM pg_catalog.pg_class AS part JOIN pg_catalog.pg_attribute AS field ON field.attrelid = part.oid
        WHERE part.relnamespace = pg_catalog.to_regnamespace(%(schema)s::text)
    UNION SELECT part.proowner, (pg_catalog.aclexplode(
            coalesce(part.proacl, pg_catalog.acldefault('f', part.proowner)))).grantee
        FROM pg_catalog.pg_proc AS part WHERE part.pronamespace = pg_catalog.to_regnamespace(%(schema)s::text)
) AS given(owner, grantee) WHERE given.grantee <> given.owner
"""
"""Who has been given rights in a schema: whether it is PUBLIC, and the role's name."""

STANDING = """
SELECT pg_catalog.pg_get_userbyid(space.nspowner),
    current_user = pg_catalog.pg_get_userbyid(space.nspowner),
    pg_catalog.has_schema_privilege(space.oid, 'USAGE'),
    EXISTS (SELECT FROM pg_catalog.pg_class AS part
        WHERE part.relnamespace = space.oid AND part.relname = 'ledger'),
    NOT EXISTS (SELECT FROM pg_catalog.pg_class AS part
        WHERE part.relnamespace = space.oid AND part.relname = ANY (%(tables)s::text[])
        AND (part.relowner <> space.nspowner OR part.relkind <> 'r' OR part.relhasrules
            OR part.relrowsecurity AND part.relname <> 'entries'))
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_proc AS part
        WHERE part.pronamespace = space.oid AND part.proname = ANY (%(functions)s::text[])
        AND (part.proowner <> space.nspowner OR NOT part.prosecdef)),
    EXISTS (SELECT FROM pg_catalog.pg_class AS part
        WHERE part.relnamespace = space.oid AND part.relname = 'entries' AND part.relrowsecurity)
FROM pg_catalog.pg_namespace AS space WHERE space.nspname = %(schema)s::text
"""
"""Who owns a schema; whether it is this role; whether this role may use it, and it holds a ledger; whether all of that
belongs to the owner and is plain tables and functions of the owner's right; whether `entries` has policies (version 2).

Nothing of the schema is run by it. A view, a rule, a policy or a function of somebody else's would run with the rights
of whoever looks at it.
"""

HOLDERS = """
SELECT held.pid, pg_catalog.pg_get_userbyid(busy.usesysid) FROM pg_catalog.pg_locks AS held
    LEFT JOIN pg_catalog.pg_stat_activity AS busy ON busy.pid = held.pid
    WHERE held.granted AND held.mode = 'ExclusiveLock' AND held.locktype = 'relation'
    AND held.database = (SELECT here.oid FROM pg_catalog.pg_database AS here
        WHERE here.datname = pg_catalog.current_database())
    AND held.relation = (SELECT part.oid FROM pg_catalog.pg_class AS part
        WHERE part.relname = 'ledger' AND part.relnamespace = pg_catalog.to_regnamespace(%(schema)s::text))
"""
"""Process and role of whoever holds the lock; no process: a prepared transaction."""
