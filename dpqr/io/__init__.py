"""Files: documents, private tables, ledgers, transcripts and releases."""
