"""Private tables to sealed counts: files, frames, databases; and codebooks that describe them.

Other rooms import these modules, and no others:

    codebooks.columns        columns as a codebook states them, and what it leaves open
    codebooks.known          the forms of codebooks by name
    codebooks.plain_schemas  Arrow schemas, and sizes as mbi has them
    counting                 the question that every source is asked: count these columns
    engines.address          addresses of tables and ledgers on a server; no passwords in them
    engines.engine           what a database must do to be a source
    engines.known            the engines by name, and their refusals
    engines.spark            tables, lakes and data frames of Spark
    files                    one file of a table, and names with wildcards
    frames                   tables in memory
    label_counts             the labels of a column that nobody has listed, counted
    limits                   the caps under which a table is read, and what a failure may say
    load                     a table becomes a sealed histogram
    parquet                  Parquet tables, their pages capped before they are decoded
    points                   public rows that predictions are asked for
    policy                   how a budget's owner fixes the reading of the table
    source                   where a table lies, as its owner names it
    structure                what may be looked at before anything is paid: columns and types
    tallies                  counts of rows of codes, batch by batch
    wanted                   which columns are read, and their types

Inside:

    cell_values             what the text or number of a cell stands for
    codebooks.csvw          CSVW metadata
    codebooks.ddi           DDI-Codebook 2.5
    codebooks.ddl           CREATE TABLE statements
    codebooks.frictionless  Table Schema and Data Package
    codebooks.smartnoise    SmartNoise metadata
    csv_table               CSV tables as Arrow columns of text
    encoders                columns and rows as codes of the domain
    engines.duckdb          tables of a DuckDB file
    engines.postgres        tables of a PostgreSQL database
    foreign                 workbooks, Stata, SPSS, SAS and Arrow files
    persons                 whose row it is, at most K rows of each, rows of one period
"""
