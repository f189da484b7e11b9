"""Statements that are refused: where, and why. Over the columns of `sql_cases`."""

REFUSED = [
    ("SELECT ST, COUNT(*) FROM pums GROUP BY ST ^HAVING COUNT(*) > 100", "HAVING: true counts would decide"),
    ("SELECT COUNT(*)\nFROM lineitem\n  ^JOIN orders ON l_orderkey = o_orderkey", "JOIN: one table is asked"),
    ("SELECT COUNT(*) FROM lineitem, ^orders", "a second table: one table is asked"),
    ("SELECT COUNT(*) FROM pums WHERE ST IN (^SELECT ST FROM states)", "SELECT: a subquery"),
    ("SELECT COUNT(*) FROM pums WHERE ^EXISTS (SELECT 1 FROM states)", "EXISTS: one table is asked"),
    ("^WITH old AS (SELECT AGEP FROM pums) SELECT COUNT(*) FROM old", "WITH: one table is asked"),
    ("SELECT COUNT(*) FROM (SELECT pid FROM (^SELECT * FROM pums) GROUP BY pid)", "SELECT: a subquery"),
    (
        "SELECT AVG(^hours) FROM (SELECT pid, SUM(WKHP) AS hours FROM pums GROUP BY pid)",
        "a person's total lies between two stated numbers",
    ),
    (
        "SELECT ST, ^MEDIAN(hours) FROM (SELECT ST, pid, SUM(WKHP) AS hours FROM pums GROUP BY ST, pid) GROUP BY ST",
        "MEDIAN: is asked of persons in a queries document",
    ),
    (
        "SELECT AVG(LEAST(GREATEST(hours, 0), 99)) FROM "
        "(SELECT pid, SUM(WKHP) AS hours FROM pums GROUP BY pid) WHERE ^hours > 3",
        "WHERE: chooses rows, not persons' totals",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT ^ST, pid FROM pums GROUP BY ST, pid)",
        "the subquery groups by the same columns and by the person's",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT ^SEX FROM pums GROUP BY SEX)",
        "the subquery groups by the same columns and by the person's",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT pid, ^AVG(WKHP) AS hours FROM pums GROUP BY pid)",
        "the subquery takes sums of a column",
    ),
    (
        "SELECT ST, COUNT(*) FROM (SELECT ST, pid FROM pums GROUP BY ST, pid) GROUP BY ^ST WITH ROLLUP",
        "GROUP BY: takes columns",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT pid, ^AGEP FROM pums GROUP BY pid)",
        "'AGEP' is neither grouped nor aggregated",
    ),
    ("SELECT ^ST FROM (SELECT ST, pid FROM pums GROUP BY ST, pid) GROUP BY ST", "SELECT: no aggregate is asked"),
    *(
        (
            f"SELECT AVG(^LEAST(GREATEST(t, {odd}), 99)) FROM (SELECT pid, SUM(WKHP) AS t FROM pums GROUP BY pid)",
            "a person's total lies between two stated numbers",
        )
        for odd in ("'0'", "-hours", "- -1", "-1e400")
    ),
    ("SELECT SUM(PINCP) ^OVER (PARTITION BY ST) FROM pums", "OVER: a window looks at single rows"),
    ("SELECT COUNT(DISTINCT ^ST) FROM pums", "COUNT(DISTINCT ST): how many values occur is no sum"),
    ("SELECT COUNT(DISTINCT ^pid, other) FROM pums", "COUNT(DISTINCT ...): counts persons, by the one column"),
    ("SELECT ^DISTINCT ST FROM pums", "DISTINCT: how many values occur is no sum"),
    ("SELECT COUNT(*) FROM pums ^UNION ALL SELECT COUNT(*) FROM pums", "UNION: write separate statements"),
    ("SELECT ^* FROM pums", "*: single rows are private"),
    ("SELECT ^ST FROM pums", "'ST' is neither grouped nor aggregated"),
    ("SELECT ST, ^SEX, COUNT(*) FROM pums GROUP BY ST", "'SEX' is neither grouped nor aggregated"),
    ("SELECT ^ST FROM pums GROUP BY ST", "SELECT: no aggregate is asked"),
    ("SELECT ^MAX(PINCP) FROM pums", "MAX: a single record decides it; ask PERCENTILE_CONT(0.99)"),
    ("SELECT ^STDDEV(PINCP) FROM pums", "STDDEV: ask VAR_POP, and take the root"),
    ("SELECT SUM(^l_quantity * (1 - l_discount)) FROM lineitem", "*: a product is no query; a survey weight"),
    ("SELECT ^CORR(AGEP, PINCP) FROM pums", "CORR: products of columns are no queries"),
    (
        "SELECT ^PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY PINCP) FROM pums",
        "PERCENTILE_DISC: its answer is the value",
    ),
    ("SELECT PERCENTILE_CONT(^1.5) WITHIN GROUP (ORDER BY PINCP) FROM pums", "quantiles: each fraction is a number"),
    ("SELECT ^SUM(PINCP) / COUNT(*) FROM pums", "/: a quotient is SUM(a) / SUM(b)"),
    ("SELECT ^COUNT(AGEP) FROM pums", "COUNT(AGEP): the domain has no cell for null in 'AGEP'"),
    ("SELECT COUNT(*) FROM pums WHERE ^AGEP IS NULL", "the domain has no cell for null in 'AGEP'"),
    ("SELECT COUNT(*) FROM pums WHERE PINCP = ^NULL", "NULL: a comparison with NULL is never true"),
    ("SELECT COUNT(*) FROM pums WHERE ^AGEP > WKHP", "compares two columns"),
    ("SELECT COUNT(*) FROM data WHERE region ^LIKE 'N%'", "LIKE: patterns are not known of labels"),
    ("SELECT COUNT(*) FROM pums GROUP BY ^FLOOR(AGEP / 10)", "FLOOR: GROUP BY takes columns of the domain and CASE"),
    ("SELECT ST, COUNT(*) FROM pums GROUP BY ST ^LIMIT 5", "LIMIT: true answers would decide what is shown"),
    ("SELECT COUNT(*) FROM data WHERE ^incom > 3", "the domain has no column 'incom'; did you mean 'income'?"),
    (
        "SELECT COUNT(*) FROM pums;\nSELECT COUNT(*) AS n FROM pums WHERE AGEP > ^ORDER BY 1",
        "cannot be read as SQL at 'ORDER BY'",
    ),
    ("SELECT COUNT(*) FROM pums; ^DELETE FROM pums", "only SELECT asks anything"),
    (
        "SELECT COUNT(DISTINCT person ^nr) FROM pums",
        "cannot be read as SQL at 'nr'; correct it there; a name with blanks or signs stands",
    ),
    ("SELECT COUNT(*) FROM pums; SELECT COUNT(*) FROM ^data", "asks 'data', and the first statement 'pums'"),
    ("SELECT COUNT(*) AS n FROM pums; SELECT ^COUNT(*) AS n FROM pums WHERE AGEP > 3", "the name 'n' stands at line 1"),
    (
        "SELECT ^EXTRACT(YEAR FROM l_shipdate) AS y, COUNT(*) FROM lineitem GROUP BY y",
        "EXTRACT: GROUP BY takes columns",
    ),
    ("SELECT ^DATE_TRUNC('year', l_shipdate), COUNT(*) FROM lineitem GROUP BY 1", "DATE_TRUNC: GROUP BY takes columns"),
    ("SELECT COUNT(*) FROM lineitem WHERE ^YEAR(l_shipdate) = 1994", "YEAR: a condition compares a column"),
    ("SELECT COUNT(*) FROM lineitem WHERE l_shipdate < ^CURRENT_DATE", "CURRENT_DATE: is no constant"),
    ("SELECT COUNT(*) FROM lineitem WHERE ^l_quantity % 2 = 0", "%: a condition compares a column"),
    ("SELECT ^100.0 * COUNT(*) FILTER (WHERE SEX = 2) / COUNT(*) FROM pums", "*: answers are not scaled"),
    ("SELECT ^AVG(PINCP) - AVG(WKHP) FROM pums", "-: ask each part by itself"),
    ("SELECT ^SUM(PINCP) FILTER (WHERE SEX = 2) / COUNT(PINCP) FROM pums", "/: a quotient is SUM(a) / SUM(b)"),
    ("SELECT ^SUM(LEAST(WKHP, 40) * AGEP) / SUM(LEAST(WKHP, 20)) FROM pums", "/: a quotient is SUM(a) / SUM(b)"),
    ("SELECT ^SUM(LEAST(WKHP, 40) * PINCP) / SUM(LEAST(WKHP, 40)) FROM pums", "/: a quotient is SUM(a) / SUM(b)"),
    ("SELECT SUM(^WKHP * PINCP) FROM pums", "*: a product is no query; a survey weight is cut to a largest value"),
    ("SELECT SUM(^LEAST(WKHP, AGEP) * PINCP) FROM pums", "LEAST: takes a column and a number"),
    ("SELECT ^SUM(LEAST(WKHP, 4) * CASE WHEN SEX = 2 THEN LEAST(WKHP, 4) END) FROM pums", "SUM: is weighted twice"),
    ("SELECT ^CAST(AVG(PINCP) AS INT) FROM pums", "CAST: answers are noisy decimals"),
    ("SELECT ^COALESCE(SUM(PINCP), 0) FROM pums", "COALESCE: answers are numbers, never NULL"),
    ("SELECT ^COALESCE(ESR, 0), COUNT(*) FROM pums GROUP BY 1", "COALESCE: GROUP BY takes columns"),
    ("SELECT AVG(^NULLIF(PINCP, 0)) FROM pums", "AVG: takes a column of the domain"),
    ("SELECT ^APPROX_COUNT_DISTINCT(ST) FROM pums", "APPROX_DISTINCT: how many values occur"),
    (
        "SELECT CASE WHEN AGEP < 9 THEN 1 END AS agep, COUNT(*) FROM pums GROUP BY ^agep",
        "GROUP BY agep: a column and an",
    ),
    ("SELECT ^x.ST, COUNT(*) FROM pums p GROUP BY x.ST", "x: the table is called 'p'"),
    ("SELECT ^TOP 3 ST, COUNT(*) FROM pums GROUP BY ST", "TOP: write ORDER BY COUNT(*) DESC LIMIT 3"),
    ("SELECT ^`ST`, COUNT(*) FROM pums GROUP BY `ST`", "`: names with blanks or signs stand in double quotes"),
    ("SELECT ^[ST], COUNT(*) FROM pums GROUP BY [ST]", "[: names with blanks or signs stand in double quotes"),
    ('SELECT COUNT(*) FROM data WHERE ^region = "North"', "compares two columns; a text stands in 'single quotes'"),
    ("SELECT COUNT(*) FROM pums WHERE ESR IS ^DISTINCT FROM 1", "DISTINCT FROM: write a <> 'x' OR a IS NULL"),
    ("SELECT COUNT(*) FROM pums WHERE ^1 = 1 AND SEX = 2", "1 = 1: a condition that asks about no column"),
    ("SELECT COUNT(*) FROM pums WHERE ^TRUE", "TRUE: a condition that asks about no column"),
    ("SELECT AVG(^pay-gap) FROM data", "the name pay-gap stands in double quotes"),
    ("SELECT ^PERCENTILE_CONT(0.5) FROM pums", "PERCENTILE_CONT: write PERCENTILE_CONT(0.5) WITHIN GROUP"),
    ("SELECT ^CASE WHEN SEX = 1 THEN 1 END, COUNT(*) FROM pums", "CASE: single rows are private"),
    ("^SELEC ST, COUNT(*) FROM pums", "only SELECT asks anything"),
    ("^INSERT INTO pums VALUES (1)", "only SELECT asks anything"),
    ("SELECT ST, COUNT(*) FROM pums GROUP BY ST ^QUALIFY RANK() OVER () < 3", "QUALIFY: a window looks at single rows"),
    ("SELECT ST, COUNT(*) FROM pums AS p(^ESR, ST) GROUP BY ST", "FROM: gives columns other names"),
    ("SELECT COUNT(*) FROM pums ^PIVOT (SUM(AGEP) FOR SEX IN (1))", "PIVOT: no queries document can ask this"),
    *(
        (f"SELECT ST, COUNT(*) FROM pums GROUP BY ST ORDER BY 2 DESC ^LIMIT {odd}", "LIMIT: true answers would decide")
        for odd in ("5 PERCENT", "5%", "5 BY SEX", "1.5", "1e0", "-1")
    ),
    (
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY ^AGEP, WKHP) FROM pums",
        "PERCENTILE_CONT: takes ORDER BY one column",
    ),
    ("SELECT SUM(^LEAST(WKHP, . 0.5)) FROM pums", "cannot be read as SQL at '0.0.5'"),
    ("SELECT CASE WHEN SEX = 1 THEN ^'NULL' END AS k, COUNT(*) FROM pums GROUP BY k", "'NULL': is what the branch"),
    (
        "SELECT ST, COUNT(*) FROM (SELECT ^ST AS SEX, SEX AS ST, pid FROM pums GROUP BY ST, SEX, pid) GROUP BY ST, SEX",
        "the subquery's columns keep their names",
    ),
    (
        "SELECT AVG(LEAST(GREATEST(t, 0), 9)) FROM "
        "(SELECT pid, SUM(WKHP) AS t, ^SUM(AGEP) AS t FROM pums GROUP BY pid)",
        "the subquery takes sums of a column, each with its own name",
    ),
    ("SELECT ST, COUNT(*) FROM pums GROUP BY ST ^FETCH FIRST 3 ROWS ONLY", "FETCH: true counts would decide"),
]
"""Statements, a ^ before the word at fault, and how the refusal begins."""
