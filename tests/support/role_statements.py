"""What a role of a PostgreSQL server may do with a schema: every kind of statement on everything that is in it.

All objects come from the catalogues, so that one which a later version adds is tried too.
"""

import psycopg

ALLOWED, REFUSED, WAITED = "allowed", "refused", "55P03"
"""The last: of a lock that somebody holds. Some statements wait before their right is looked at, others after."""
_NOTHING_GIVEN = {"01006", "01007"}
"""Warnings of a GRANT or REVOKE by somebody who may not: it has done nothing."""
MODES = (
    "ACCESS SHARE",
    "ROW SHARE",
    "ROW EXCLUSIVE",
    "SHARE UPDATE EXCLUSIVE",
    "SHARE",
    "SHARE ROW EXCLUSIVE",
    "EXCLUSIVE",
    "ACCESS EXCLUSIVE",
)
READING = ("SELECT * FROM {0}", "COPY {0} TO STDOUT", "LOCK TABLE {0} IN ACCESS SHARE MODE")
"""What a role that may read a table can do with it."""
RELATION = (
    *READING[:2],
    *(f"LOCK TABLE {{0}} IN {mode} MODE" for mode in MODES),
    "SELECT * FROM {0} FOR UPDATE",
    "SELECT * FROM {0} FOR NO KEY UPDATE",
    "SELECT * FROM {0} FOR SHARE",
    "SELECT * FROM {0} FOR KEY SHARE",
    "INSERT INTO {0} DEFAULT VALUES",
    "INSERT INTO {0} SELECT * FROM {0}",
    "INSERT INTO {0} SELECT * FROM {0} ON CONFLICT DO NOTHING",
    "MERGE INTO {0} AS t USING (VALUES (1)) AS s ON false WHEN NOT MATCHED THEN INSERT DEFAULT VALUES",
    "DELETE FROM {0}",
    "WITH gone AS (DELETE FROM {0} RETURNING *) SELECT * FROM gone",
    "TRUNCATE {0}",
    "COPY {0} FROM STDIN",
    "CREATE TRIGGER mine BEFORE INSERT ON {0} EXECUTE FUNCTION pg_catalog.suppress_redundant_updates_trigger()",
    "CREATE RULE mine AS ON INSERT TO {0} DO INSTEAD NOTHING",
    "CREATE POLICY mine ON {0}",
    "CREATE INDEX ON {0} ((true))",
    "CREATE STATISTICS mine ON xmin, xmax FROM {0}",
    "CREATE TABLE public.mine () INHERITS ({0})",
    "CREATE PUBLICATION mine FOR TABLE {0}",
    "CREATE VIEW {0} AS SELECT 1",
    "ALTER TABLE {0} ADD COLUMN mine integer",
    "ALTER TABLE {0} OWNER TO current_user",
    "ALTER TABLE {0} RENAME TO mine",
    "ALTER TABLE {0} SET SCHEMA public",
    "ALTER TABLE {0} DISABLE TRIGGER ALL",
    "ALTER TABLE {0} ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE {0} SET UNLOGGED",
    "ALTER TABLE {0} SET (autovacuum_enabled = off)",
    "ALTER TABLE {0} REPLICA IDENTITY FULL",
    "COMMENT ON TABLE {0} IS 'mine'",
    "GRANT ALL ON {0} TO current_user",
    "REVOKE ALL ON {0} FROM PUBLIC, current_user CASCADE",
    "DROP TABLE {0} CASCADE",
    "REINDEX TABLE {0}",
    "CLUSTER {0}",
)
COLUMN = (
    "UPDATE {0} SET {1} = DEFAULT",
    "UPDATE {0} SET {1} = {1}",
    "INSERT INTO {0} ({1}) SELECT {1} FROM {0}",
    "COPY {0} ({1}) FROM STDIN",
    "ALTER TABLE {0} ALTER COLUMN {1} SET DEFAULT NULL",
    "ALTER TABLE {0} ALTER COLUMN {1} DROP NOT NULL",
    "ALTER TABLE {0} DROP COLUMN {1} CASCADE",
    "GRANT UPDATE ({1}) ON {0} TO current_user",
    "CREATE TABLE public.mine (of {2} REFERENCES {0} ({1}))",
)
READ_COLUMN = ("SELECT {1} FROM {0}", "COPY {0} ({1}) TO STDOUT")
SEQUENCE = ("SELECT nextval('{0}')", "SELECT setval('{0}', 7)", "SELECT * FROM {0}", "ALTER SEQUENCE {0} RESTART")
CALL = "SELECT {0}({1})"
FUNCTION = (
    "ALTER FUNCTION {0}({2}) OWNER TO current_user",
    "ALTER FUNCTION {0}({2}) SECURITY INVOKER",
    "ALTER FUNCTION {0}({2}) RESET ALL",
    "ALTER FUNCTION {0}({2}) SET search_path = public",
    "ALTER FUNCTION {0}({2}) RENAME TO mine",
    "ALTER FUNCTION {0}({2}) SET SCHEMA public",
    "CREATE OR REPLACE FUNCTION {0}({2}) RETURNS {3} LANGUAGE sql AS 'SELECT NULL::{4}'",
    "GRANT EXECUTE ON FUNCTION {0}({2}) TO PUBLIC",
    "DROP FUNCTION {0}({2}) CASCADE",
)
SCHEMA = (
    "CREATE TABLE {0}.mine (x integer)",
    "CREATE FUNCTION {0}.mine() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    "CREATE TYPE {0}.mine AS ENUM ('a')",
    "CREATE SEQUENCE {0}.mine",
    "CREATE OPERATOR {0}.=== (LEFTARG = text, RIGHTARG = text, FUNCTION = pg_catalog.texteq)",
    "ALTER SCHEMA {0} OWNER TO current_user",
    "ALTER SCHEMA {0} RENAME TO mine",
    "GRANT ALL ON SCHEMA {0} TO current_user",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {0} TO current_user",
    "ALTER DEFAULT PRIVILEGES FOR ROLE owner IN SCHEMA {0} GRANT ALL ON TABLES TO PUBLIC",
    "DROP SCHEMA {0} CASCADE",
    "DO $$ BEGIN EXECUTE 'DELETE FROM {0}.entries'; END $$",
    "DO $$ BEGIN DELETE FROM {0}.state; EXCEPTION WHEN division_by_zero THEN NULL; END $$",
    "EXPLAIN ANALYZE DELETE FROM {0}.entries",
    "PREPARE mine AS DELETE FROM {0}.entries; EXECUTE mine",
    "COPY (SELECT * FROM {0}.entries) TO PROGRAM 'cat'",
    "COPY {0}.entries FROM PROGRAM 'cat'",
    "SET ROLE owner",
    "SET SESSION AUTHORIZATION owner",
    "SET session_replication_role = replica",
    "REASSIGN OWNED BY owner TO current_user",
    "DROP OWNED BY owner",
    "GRANT owner TO current_user",
    "ALTER ROLE owner SET search_path = public",
    "CREATE EVENT TRIGGER mine ON ddl_command_start EXECUTE FUNCTION pg_catalog.suppress_redundant_updates_trigger()",
    "ALTER SYSTEM SET fsync = off",
    "ALTER DATABASE postgres SET search_path = public",
)


def objects(connection, schema):
    """Relations (with their kind), their columns, and functions of a schema, by the catalogues."""
    relations = connection.execute(
        "SELECT oid, relname, relkind::text FROM pg_class WHERE relnamespace = %s::regnamespace ORDER BY 2", (schema,)
    ).fetchall()
    columns = connection.execute(
        "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a JOIN pg_class c "
        "ON c.oid = a.attrelid WHERE c.relnamespace = %s::regnamespace AND c.relkind IN ('r', 'v', 'm', 'p', 'f') "
        "AND a.attnum > 0 AND NOT a.attisdropped ORDER BY 1, a.attnum",
        (schema,),
    ).fetchall()
    functions = connection.execute(
        "SELECT proname, pg_get_function_identity_arguments(oid), pronargs, pg_get_function_result(oid) FROM pg_proc "
        "WHERE pronamespace = %s::regnamespace ORDER BY 1, 2",
        (schema,),
    ).fetchall()
    return relations, columns, functions


def statements(connection, schema):
    """Everything to try."""
    relations, columns, functions = objects(connection, schema)
    yield from (each.format(schema) for each in SCHEMA)
    for _, name, kind in relations:
        known = SEQUENCE if kind == "S" else ("REINDEX INDEX {0}", "DROP INDEX {0}") if kind in "iI" else RELATION
        yield from (each.format(f"{schema}.{name}") for each in known)
    for table, column, kind in columns:
        yield from (each.format(f"{schema}.{table}", column, kind) for each in (*READ_COLUMN, *COLUMN))
    for name, arguments, count, result in functions:
        types = ", ".join(part.split(" ", 1)[1] for part in arguments.split(", ")) if arguments else ""
        value = "integer" if result == "void" else result
        for each in (CALL, *FUNCTION):
            yield each.format(f"{schema}.{name}", ", ".join(["NULL"] * count), types, result, value)


def tried(connection, statement):
    """The outcome of one statement, of which nothing is kept: allowed, refused, or the state of another error."""
    warned = []
    connection.add_notice_handler(watch := lambda notice: warned.append(notice.sqlstate))
    try:
        with connection.transaction(force_rollback=True), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = 50")
            if statement.startswith("COPY") and "PROGRAM" not in statement:
                with cursor.copy(statement) as copied:
                    if "TO STDOUT" in statement:
                        list(copied)
            else:
                cursor.execute(statement)
    except psycopg.Error as error:
        if error.sqlstate in ("42501", "0LP01"):
            return REFUSED
        return error.sqlstate
    finally:
        connection.remove_notice_handler(watch)
    return REFUSED if _NOTHING_GIVEN & set(warned) else ALLOWED


def rights(server, schema, role):
    """Outcomes by statement."""
    with psycopg.connect(f"postgresql://{role}@/postgres?host={server.folder}", autocommit=True) as connection:
        return {statement: tried(connection, statement) for statement in statements(connection, schema)}


def may_do(found):
    """The statements that were not refused for want of a right.

    A few are refused for what they are, whoever asks: those of a kind that the object has not.
    """
    return {statement: outcome for statement, outcome in found.items() if outcome not in (REFUSED, *NOT_FOR_IT)}


NOT_FOR_IT = ("42P07", "42809", "42830", "25001", "0A000")
"""It is there already; not for this kind of object; no key to refer to; not within a transaction; not supported."""


def of_jobs(schema):
    """What a role of jobs may do, and nothing else: read three tables, and call three functions."""
    tables = {"ledger": ("lock", "version"), "entries": ("number", "entry", "seal", "job"), "state": ("number", "text")}
    read = [each.format(f"{schema}.{table}") for table in tables for each in READING]
    columns = [
        each.format(f"{schema}.{table}", name)
        for table, names in tables.items()
        for name in names
        for each in READ_COLUMN
    ]
    calls = {CALL.format(f"{schema}.{name}", nulls): ALLOWED for name, nulls in (("take_lock", ""), ("key_of", "NULL"))}
    appended = {CALL.format(f"{schema}.append", "NULL, NULL, NULL, NULL"): "DP001"}
    return dict.fromkeys([*read, *columns], ALLOWED) | calls | appended
