"""Linear queries: blocks, matrices, the queries file, SQL.

Other rooms import these modules, and no others:

    block              linear queries asked, measured and answered together
    box_index          many boxes sorted into a tree
    figures            means, quantiles, ratios from released answers
    form               the form of the queries file, and the JSON schemas
    matrix             integer matrices, each with its own fast product
    ordered_columns    cumulative counts, ranges, sums
    partition          partitions of cells into buckets
    queries_file       the queries file, compiled into a workload
    ranges             intervals and boxes of an ordered axis
    related_blocks     whether blocks ask the same, and blocks stacked into one
    sensitivity        the largest change of answers between neighbours
    sql.reading        SQL in place of a queries file
    strategy_matrices  strategy matrices, and estimates recovered from them
    trees              sums over levels of a hierarchy
    workload           the workload Q, its grid, and measurements of it

Inside:

    coefficients     queries from files of coefficients
    conditions       predicates as queries: where, by, random conjunctions
    entry            what one entry of a queries file compiles to
    figure_entries   entries of means, quantiles, ratios; survey weights
    sql.aggregates   what SELECT computes, by groups
    sql.conditions   WHERE and FILTER as predicates
    sql.statements   SQL taken apart, and refused by name
"""
