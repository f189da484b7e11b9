"""Statements and what each asks. Made up, after public descriptions of TPC-H's order lines, of census microdata (ACS
PUMS), and of surveys."""

from dpqr.workload.sql.statements import SqlColumns

COLUMNS = SqlColumns(
    names=(
        *("l_shipdate", "l_receiptdate", "l_quantity", "l_discount", "l_returnflag", "l_linestatus", "l_shipmode"),
        *("AGEP", "SEX", "RAC1P", "ST", "PINCP", "ESR", "HICOV", "WKHP", "MAR"),
        *("region", "education", "income", "hours", "employed", "pay (net)", "trust", "pay-gap"),
    ),
    nulls=frozenset({"PINCP", "ESR", "WKHP", "income", "employed", "trust"}),
)

ASKED = [
    # order lines
    (
        "SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS sum_qty, AVG(l_quantity) AS avg_qty, "
        "AVG(l_discount) AS avg_disc, COUNT(*) AS count_order FROM lineitem "
        "WHERE l_shipdate <= date '1998-12-01' - interval '90' day "
        "GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus",
        [
            {key: column, "where": "l_shipdate <= '1998-09-02'", "by": ["l_returnflag", "l_linestatus"], "name": name}
            for key, column, name in (
                ("sum", "l_quantity", "sum_qty"),
                ("mean", "l_quantity", "avg_qty"),
                ("mean", "l_discount", "avg_disc"),
            )
        ]
        + [
            {
                "where": "l_shipdate <= '1998-09-02'",
                "by": ["l_returnflag", "l_linestatus"],
                "name": "count_order",
            }
        ],
    ),
    (
        "select sum(l_quantity) as shipped from lineitem where l_shipdate >= date '1994-01-01' "
        "and l_shipdate < date '1994-01-01' + interval '1' year "
        "and l_discount between 0.06 - 0.01 and 0.06 + 0.01 and l_quantity < 24",
        [
            {
                "sum": "l_quantity",
                "where": "l_shipdate >= '1994-01-01' and l_shipdate < '1995-01-01' "
                "and l_discount between 0.05 and 0.07 and l_quantity < 24",
                "name": "shipped",
            }
        ],
    ),
    (
        "SELECT l_shipmode, SUM(CASE WHEN l_returnflag = 'R' THEN 1 ELSE 0 END) AS back, "
        "SUM(CASE WHEN l_returnflag <> 'R' THEN 1 ELSE 0 END) AS kept FROM lineitem l "
        "WHERE l.l_shipmode IN ('MAIL', 'SHIP') GROUP BY l.l_shipmode",
        [
            {
                "where": f"l_shipmode in ('MAIL', 'SHIP') and l_returnflag {sign} 'R'",
                "by": ["l_shipmode"],
                "name": name,
            }
            for sign, name in (("=", "back"), ("!=", "kept"))
        ],
    ),
    (
        "SELECT COUNT(*) FROM lineitem WHERE (l_shipmode = 'AIR' AND l_quantity BETWEEN 1 AND 11) "
        "OR (l_shipmode = 'RAIL' AND l_quantity BETWEEN 10 AND 20)",
        [
            {
                "where": "l_shipmode = 'AIR' and l_quantity between 1 and 11 "
                "or l_shipmode = 'RAIL' and l_quantity between 10 and 20"
            }
        ],
    ),
    (
        "SELECT l_linestatus, l_returnflag, COUNT(*) FROM lineitem GROUP BY ROLLUP (l_linestatus, l_returnflag)",
        [{"marginal": by} for by in (["l_linestatus", "l_returnflag"], ["l_linestatus"], [])],
    ),
    (
        "SELECT l_shipmode, COUNT(*) AS n FROM lineitem GROUP BY l_shipmode ORDER BY n DESC LIMIT 3",
        [{"top": "l_shipmode", "k": 3, "name": "n"}],
    ),
    (
        "SELECT l_shipmode, 1.0 * COUNT(*) FILTER (WHERE l_returnflag = 'R') / COUNT(*) AS back "
        "FROM lineitem GROUP BY 1",
        [{"proportion": "l_returnflag = 'R'", "by": ["l_shipmode"], "name": "back"}],
    ),
    (
        "SELECT SUM(l_discount) / SUM(l_quantity) AS rate FROM lineitem "
        "WHERE l_shipdate < TIMESTAMP '1995-03-15 00:00:00'",
        [
            {
                "ratio": {"of": "l_discount", "to": "l_quantity"},
                "where": "l_shipdate < '1995-03-15T00:00:00'",
                "name": "rate",
            }
        ],
    ),
    # census
    ("SELECT ST, COUNT(*) FROM pums GROUP BY ST", [{"marginal": ["ST"]}]),
    (
        "SELECT st, sex, COUNT(*) AS persons FROM pums GROUP BY st, sex",
        [{"marginal": ["ST", "SEX"], "name": "persons"}],
    ),
    (
        "SELECT ST, MEDIAN(PINCP) AS median_income FROM pums WHERE AGEP >= 16 AND PINCP IS NOT NULL GROUP BY ST",
        [{"median": "PINCP", "where": "AGEP >= 16 and PINCP is not null", "by": ["ST"], "name": "median_income"}],
    ),
    (
        "SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY PINCP) AS p90, "
        "PERCENTILE_CONT(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY PINCP) AS quartiles FROM pums",
        [
            {"quantiles": "PINCP", "at": [0.9], "name": "p90"},
            {"quantiles": "PINCP", "at": [0.25, 0.75], "name": "quartiles"},
        ],
    ),
    (
        "SELECT CASE WHEN AGEP < 18 THEN 'under 18' WHEN AGEP < 65 THEN '18 to 64' ELSE '65 and over' END AS grp, "
        "SEX, COUNT(*) AS n FROM pums GROUP BY grp, SEX",
        [
            {"where": "AGEP < 18", "by": ["SEX"], "name": "n under 18"},
            {"where": "AGEP >= 18 and AGEP < 65", "by": ["SEX"], "name": "n 18 to 64"},
            {"where": "AGEP >= 18 and AGEP >= 65", "by": ["SEX"], "name": "n 65 and over"},
        ],
    ),
    (
        "SELECT CASE WHEN PINCP < 15000 THEN 'low' ELSE 'other' END, COUNT(*) FROM pums GROUP BY 1",
        [
            {"where": "PINCP < 15000", "name": "count low"},
            {"where": "PINCP >= 15000 or PINCP is null", "name": "count other"},
        ],
    ),
    (
        "SELECT CASE ESR WHEN 1 THEN 'at work' WHEN 3 THEN 'looking' END AS state, AVG(WKHP) FROM pums "
        "WHERE ESR IS NOT NULL GROUP BY state",
        [
            {"mean": "WKHP", "where": "ESR is not null and ESR = 1", "name": "avg at work"},
            {"mean": "WKHP", "where": "ESR is not null and ESR != 1 and ESR = 3", "name": "avg looking"},
            {"mean": "WKHP", "where": "ESR is not null and ESR != 1 and ESR != 3", "name": "avg NULL"},
        ],
    ),
    (
        "SELECT AVG(CASE WHEN HICOV = 1 THEN 1.0 ELSE 0 END) AS insured FROM pums",
        [{"proportion": "HICOV = 1", "name": "insured"}],
    ),
    (
        "SELECT RAC1P, VAR_POP(AGEP) AS spread FROM pums GROUP BY RAC1P",
        [{"variance": "AGEP", "by": ["RAC1P"], "name": "spread"}],
    ),
    ("SELECT COUNT(WKHP) AS say FROM pums", [{"where": "WKHP is not null", "name": "say"}]),
    (
        "SELECT ST, SUM(PINCP) / COUNT(PINCP) AS mean_income FROM pums GROUP BY ST",
        [{"mean": "PINCP", "by": ["ST"], "name": "mean_income"}],
    ),
    (
        "SELECT SEX, MAR, COUNT(*) FROM pums GROUP BY CUBE (SEX, MAR)",
        [{"marginal": by} for by in (["SEX", "MAR"], ["SEX"], ["MAR"], [])],
    ),
    (
        "SELECT ST, SEX, RAC1P, COUNT(*) AS n FROM pums GROUP BY ST, GROUPING SETS ((SEX, RAC1P), (SEX), ())",
        [
            {"marginal": ["ST", "SEX", "RAC1P"], "name": "n by ST,SEX,RAC1P"},
            {"marginal": ["ST", "SEX"], "name": "n by ST,SEX"},
            {"marginal": ["ST"], "name": "n by ST"},
        ],
    ),
    # surveys
    (
        "SELECT region, COUNT(*), AVG(income) FROM data WHERE AGEP >= 65 GROUP BY region",
        [{"where": "AGEP >= 65", "by": ["region"]}, {"mean": "income", "where": "AGEP >= 65", "by": ["region"]}],
    ),
    ("SELECT COUNT(*) FROM data WHERE NOT employed", [{"where": "employed != true"}]),
    ("SELECT COUNT(*) FROM data WHERE employed IS NOT TRUE", [{"where": "employed != true or employed is null"}]),
    (
        "SELECT COUNT_IF(trust >= 7) AS trusting, COUNT(CASE WHEN hours > 40 THEN 1 END) AS long FROM data "
        "WHERE 18 <= AGEP",
        [
            {"where": "AGEP >= 18 and trust >= 7", "name": "trusting"},
            {"where": "AGEP >= 18 and hours > 40", "name": "long"},
        ],
    ),
    (
        "SELECT AVG(CASE WHEN education IN ('bachelor', 'master') THEN \"pay (net)\" END) AS graduates FROM data",
        [{"mean": "pay (net)", "where": "education in ('bachelor', 'master')", "name": "graduates"}],
    ),
    (
        'SELECT SUM(CASE WHEN NOT ("pay (net)" > 10 AND trust = 1) THEN hours ELSE 0 END) FROM data',
        [{"sum": "hours", "where": 'not ("pay (net)" > 10 and trust = 1)'}],
    ),
    (
        "SELECT QUANTILE(hours, 0.5) FROM data; -- and at once\nSELECT COUNT(*) FROM data; SELECT COUNT(*) FROM data;",
        [{"quantiles": "hours", "at": [0.5]}, {"marginal": []}],
    ),
    (
        "SELECT COUNT(*) FROM data WHERE region NOT IN ('North', 'O''Neill') AND education NOT BETWEEN 'a' AND 'b' "
        "AND income = -5",
        [{"where": "region not in ('North', 'O''Neill') and education not between 'a' and 'b' and income = -5"}],
    ),
    (
        "SELECT education, SUM(income) AS pay FROM public.data GROUP BY education WITH ROLLUP",
        [
            {"sum": "income", "by": ["education"], "name": "pay by education"},
            {"sum": "income", "name": "pay in total"},
        ],
    ),
    # spellings of other databases, and survey weights
    (
        "SELECT IF(AGEP >= 65, 'old', 'young') AS grp, COUNT(*) FROM pums GROUP BY grp",
        [{"where": "AGEP >= 65", "name": "count old"}, {"where": "AGEP < 65", "name": "count young"}],
    ),
    ("SELECT COUNT() FROM pums", [{"marginal": []}]),
    ("SELECT ST AS state, COUNT(*) FROM pums GROUP BY state", [{"marginal": ["ST"]}]),
    ("SELECT SUM(IF(SEX = 2, 1, 0)) / COUNT(*) AS women FROM pums", [{"proportion": "SEX = 2", "name": "women"}]),
    ("SELECT COUNT(ESR) * 1.0 / COUNT(*) FROM pums", [{"proportion": "ESR is not null"}]),
    ("SELECT SUM(AGEP) / COUNT(*) FROM census.public.pums", [{"mean": "AGEP"}]),
    (
        "SELECT SUM(PINCP) FILTER (WHERE SEX = 2) / COUNT(PINCP) FILTER (WHERE SEX = 2) FROM pums",
        [{"mean": "PINCP", "where": "SEX = 2"}],
    ),
    ("SELECT SUM(COALESCE(PINCP, 0)), AVG(PINCP::double) FROM pums", [{"sum": "PINCP"}, {"mean": "PINCP"}]),
    (
        "SELECT region, SUM(LEAST(trust, 40)) AS n FROM data GROUP BY region",
        [{"marginal": ["region"], "weight": {"column": "trust", "maximum": 40}, "name": "n"}],
    ),
    (
        "SELECT SUM(AGEP * LEAST(2.5, trust)) / SUM(LEAST(2.5, trust)) FROM data",
        [{"mean": "AGEP", "weight": {"column": "trust", "maximum": 2.5}}],
    ),
    (
        "SELECT SUM(LEAST(trust, 40) * income) / SUM(LEAST(trust, 40)) FILTER (WHERE income IS NOT NULL) FROM data",
        [{"mean": "income", "weight": {"column": "trust", "maximum": 40}}],
    ),
    (
        "SELECT SUM(CASE WHEN SEX = 2 THEN LEAST(trust, 40) ELSE 0 END) / SUM(LEAST(trust, 40)) AS women FROM data",
        [{"proportion": "SEX = 2", "weight": {"column": "trust", "maximum": 40}, "name": "women"}],
    ),
    (
        "SELECT SUM(LEAST(trust, 40) * hours) / NULLIF(SUM(LEAST(trust, 40) * income), 0) FROM data",
        [{"ratio": {"of": "hours", "to": "income"}, "weight": {"column": "trust", "maximum": 40}}],
    ),
    (
        "SELECT region, SUM(LEAST(trust, 40)) n FROM data GROUP BY region ORDER BY n DESC LIMIT 2",
        [{"top": "region", "k": 2, "weight": {"column": "trust", "maximum": 40}, "name": "n"}],
    ),
    (
        'SELECT d.region, COUNT(*) /* all */ AS "n people" -- of them\r\nFROM data AS d WHERE d.AGEP = 3\r\n'
        "GROUP BY ALL;",
        [{"where": "AGEP = 3", "by": ["region"], "name": "n people"}],
    ),
    # persons' totals: one row a person and cell
    (
        "SELECT ST, COUNT(*) AS people, AVG(LEAST(GREATEST(t.worked, 0), 120)) AS hours "
        "FROM (SELECT ST, pid, SUM(WKHP) AS worked FROM pums GROUP BY ST, pid) AS t GROUP BY ST",
        [
            {"persons": {"by": ["ST"], "of": "pid"}, "name": "people"},
            {
                "persons": {"by": ["ST"], "of": "pid", "mean": {"sum": "WKHP", "within": [0, 120]}},
                "name": "hours",
            },
        ],
    ),
    (
        "SELECT AVG(GREATEST(LEAST(net, 9.5), -2)) FROM (SELECT pid, SUM(PINCP) AS net FROM pums GROUP BY pid)",
        [{"persons": {"of": "pid", "mean": {"sum": "PINCP", "within": [-2, 9.5]}}}],
    ),
]
"""Statements and their JSON twins."""
