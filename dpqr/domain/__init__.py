"""The public universe of records: attributes, the domain file, predicates, periods.

Other rooms import these modules, and no others:

    attribute        one finite axis of the domain, and the rule for cells that do not fit it
    columns          bins, labels and spelling of a column, from its document
    domain           the universe X of records, and public facts about its tables
    domain_file      the domain file, decoded and checked
    form             the form of the domain file, key by key
    histogram        counts of records: dense, sparse, and many marginals at once
    open_columns     what queries name of a column, and bins that are cut by it
    periods          calendar periods, the date column, and the tree over periods
    predicate_cells  for which cells a predicate is true
    predicates       the grammar of predicates and its parser
    proposals        a domain file proposed from the queries
    text.decoding    parsed JSON into typed forms; faults name their place
    text.documents   JSON, YAML and TOML read strictly; fixes written back
    text.faults      all faults of a document, each with file, line and path
    text.sources     documents as they were parsed, for the record

Inside:

    hierarchies  levels above a column's cells
"""
